//! `kubectl repack execute`: the controller's plan, one question, a run that carries out that plan and no other.
//! `kubectl repack cancel` stops one.
//!
//! May import: cli, api, live, plan

mod changes;

use std::io::{BufRead, IsTerminal};
use std::time::Duration;

use super::args::cluster::ClusterArgs;
use super::args::dryrun::DryRunArgs;
use super::args::execute::{CancelArgs, ExecuteArgs};
use super::dryrun::in_cluster;
use super::error::CliError;
use super::exit::Exit;
use super::options::View;
use super::output::Out;
use super::status::{connected, end_of, failed, one, to_its_end, unknown};
use crate::api::{Mode, ObjectMeta, Phase, Reason, RepackRun, RepackRunStatus};
use crate::live::{block_on, runs};

/// Seconds for which the plans that were only shown stay in the cluster.
const SHOWN_FOR: i64 = 3_600;

/// Plans, asks, executes.
pub fn run(args: &ExecuteArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let mut shown: Option<RepackRun> = None;
    loop {
        let planned = match in_cluster(&dry_run(args), cluster, out)? {
            Ok(planned) => planned,
            Err(exit) => return Ok(exit),
        };
        if planned.status.as_ref().is_none_or(|status| status.phase != Phase::Succeeded) {
            return Ok(Exit::NotAchieved);
        }
        let plan = planned.status.as_ref().and_then(|status| status.plan.clone()).unwrap_or_default();
        if plan.summary.freed_node_count == 0 {
            out.status("Nothing to execute.");
            return Ok(Exit::Done);
        }
        if let Some(expected) = args.expect.as_ref().filter(|id| **id != plan.id) {
            return refuse(expected, &planned, cluster, out);
        }
        if let Some(before) = &shown {
            out.say(&changes::text(before, &planned));
        }
        let pods = plan.summary.disruption.moved_pods;
        if !args.yes && !agreed(pods, cluster, out)? {
            out.status("Nothing was moved.");
            return Ok(Exit::Declined);
        }
        let ended = match execute(&planned, args, cluster, out)? {
            Ok(run) => run,
            Err(exit) => return Ok(exit),
        };
        if reason(ended.status.as_ref()) == Some(Reason::PlanChanged) && !args.yes {
            out.warning("The plan has changed since it was shown; nothing was moved.");
            shown = Some(planned);
            continue;
        }
        let text = one(&ended, &view, jiff::Timestamp::now())?;
        out.data(&text);
        return Ok(end_of(&ended).unwrap_or(Exit::Done));
    }
}

/// The dry run that shows the plan.
fn dry_run(args: &ExecuteArgs) -> DryRunArgs {
    let mut run = args.run.clone();
    run.ttl = Some(SHOWN_FOR);
    DryRunArgs {
        filename: args.filename.clone(),
        plan: args.plan.clone(),
        run,
        view: args.view.clone(),
        ..DryRunArgs::default()
    }
}

/// Asks once, by the number of pods: nobody types that by accident.
fn agreed(pods: i64, cluster: &ClusterArgs, out: &mut Out) -> Result<bool, CliError> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(CliError::usage("there is nobody to ask: standard input is no terminal")
            .hint("--yes executes without a question"));
    }
    out.finish().map_err(CliError::from)?;
    let server = block_on(async { Ok(connected(cluster).await?.server.clone()) });
    let server = server.map_err(|fault| failed(fault, "the cluster"))?;
    let context = cluster.context.clone().map(|name| format!(", context {name}")).unwrap_or_default();
    out.say(&format!(
        "{pods} pods will be evicted in the cluster at {server}{context}. Type {pods} to go on: "
    ));
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|fault| CliError::failure("cannot ask").because(fault))?;
    Ok(answer.trim() == pods.to_string())
}

/// Creates the run and follows it to its end.
fn execute(
    planned: &RepackRun,
    args: &ExecuteArgs,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Result<RepackRun, Exit>, CliError> {
    let mut spec = planned.spec.clone();
    spec.mode = Mode::Execute;
    spec.ttl_seconds_after_finished = args.run.ttl;
    let id = planned.status.as_ref().and_then(|status| status.plan.as_ref()).map(|plan| plan.id.clone());
    spec.execution.get_or_insert_default().expected_plan_id = id;
    let mut run = RepackRun::new(spec);
    run.metadata = ObjectMeta { generate_name: Some("execute-".to_owned()), ..ObjectMeta::default() };
    let limit = args.timeout.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
    let mut named = String::new();
    let ended = block_on(async {
        let connected = connected(cluster).await?;
        let created = runs::create(&connected, &run).await?;
        named = created.metadata.name.unwrap_or_default();
        out.status(format!("repackrun.repack.volcano.sh/{named} created"));
        to_its_end(&connected, &named, limit, out).await.map(|(answer, _)| answer)
    });
    match ended.map_err(|fault| failed(fault, "the run"))? {
        Ok(Some(run)) => Ok(Ok(run)),
        Ok(None) => Err(CliError::failure(format!("run {named} was deleted before it finished"))),
        Err(exit) => {
            out.status(format!(
                "The run goes on; kubectl repack status {named} -w follows it, kubectl repack cancel {named} stops it."
            ));
            Ok(Err(exit))
        }
    }
}

/// The plan is not the one that was approved: says what differs, as far as that plan is still in the cluster.
fn refuse(
    expected: &str,
    planned: &RepackRun,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Exit, CliError> {
    let all = block_on(async { runs::all(&connected(cluster).await?).await });
    let all = all.map_err(|fault| failed(fault, "the runs"))?;
    let of = |run: &&RepackRun| {
        let plan = run.status.as_ref().and_then(|status| status.plan.as_ref());
        plan.is_some_and(|plan| plan.id == expected)
    };
    let id = planned.status.as_ref().and_then(|status| status.plan.as_ref()).map(|plan| plan.id.as_str());
    out.warning(format!("the plan is now {}, not {expected}; nothing was moved.", id.unwrap_or_default()));
    match all.iter().find(of) {
        Some(before) => out.say(&changes::text(before, planned)),
        None => out.say("The plan that was expected is in no run of this cluster any more.\n"),
    }
    Ok(Exit::NotAchieved)
}

fn reason(status: Option<&RepackRunStatus>) -> Option<Reason> {
    status?.conditions.last().map(|condition| condition.reason)
}

/// Stops a run.
pub fn cancel(args: &CancelArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    let name = &args.name;
    let found = block_on(async {
        let connected = connected(cluster).await?;
        let found = runs::find(&connected, name).await?;
        let open = found.as_ref().is_some_and(|run| end_of(run).is_none());
        if open {
            runs::cancel(&connected, name).await?;
        }
        let others = if found.is_none() { runs::all(&connected).await? } else { Vec::new() };
        Ok((found, open, others))
    });
    let (found, open, others) = found.map_err(|fault| failed(fault, name))?;
    if found.is_none() {
        return Err(unknown(name, &others));
    }
    if open {
        out.status(format!("repackrun.repack.volcano.sh/{name} is asked to stop"));
        out.status(format!("kubectl repack status {name} -w shows how it ends."));
    } else {
        out.status(format!("Run {name} has ended already."));
    }
    Ok(Exit::Done)
}
