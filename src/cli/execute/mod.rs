//! `kubectl repack execute`: the controller's plan, one question, a run that carries out that plan and no other; with
//! `--local` this process is the controller for as long as the run takes. `kubectl repack cancel` stops one.
//!
//! May import: cli, api, live, plan, controller

mod cancel;
mod changes;

pub use cancel::cancel;

use std::io::{BufRead, IsTerminal};
use std::time::Duration;

use super::args::cluster::ClusterArgs;
use super::args::controller::{ExecutionArgs, ProcessArgs};
use super::args::dryrun::DryRunArgs;
use super::args::execute::ExecuteArgs;
use super::controller::led_by;
use super::dryrun::{in_cluster, on_this_machine};
use super::error::CliError;
use super::exit::Exit;
use super::in_process::{new_name, see_through};
use super::options::View;
use super::output::Out;
use super::status::{connected, end_of, failed, one, to_its_end};
use crate::api::{Mode, ObjectMeta, Phase, Reason, RepackRun, RepackRunStatus};
use crate::live::checks::{leader, living_leader};
use crate::live::{block_on, runs};

/// Seconds for which the plans that were only shown stay in the cluster.
const SHOWN_FOR: i64 = 3_600;

/// Plans, asks, executes.
pub fn run(args: &ExecuteArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let mut shown: Option<RepackRun> = None;
    somebody_leads(args, cluster)?;
    loop {
        let planned = if args.local.local {
            on_this_machine(&dry_run(args), cluster, out)?
        } else {
            match in_cluster(&dry_run(args), cluster, out)? {
                Ok(planned) => planned,
                Err(exit) => return Ok(exit),
            }
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
        let ended = if args.local.local {
            execute_here(&planned, args, cluster, out)?
        } else {
            execute(&planned, args, cluster, out)?
        };
        let ended = match ended {
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

/// There has to be exactly one that carries the run out: a controller, or with `--local` this process.
fn somebody_leads(args: &ExecuteArgs, cluster: &ClusterArgs) -> Result<(), CliError> {
    let namespace = &args.lease_namespace;
    let (installed, leader) = block_on(async {
        let connected = connected(cluster).await?;
        let leader = if args.local.local {
            living_leader(&connected, namespace).await?
        } else {
            leader(&connected, namespace).await?
        };
        Ok((runs::are_served(&connected).await?, leader))
    })
    .map_err(|fault| CliError::failure("cannot find out whether a controller lives").because(fault))?;
    if !installed {
        return Err(CliError::failure("RepackRuns are not installed in this cluster")
            .hint("kubectl apply -k manifests installs them and the controller"));
    }
    match leader {
        Some(leader) if args.local.local => {
            let sentence = format!("a controller lives in this cluster: {} leads", leader.identity);
            Err(CliError::failure(sentence).hint("without --local it carries the run out"))
        }
        None if !args.local.local => {
            let sentence =
                format!("no controller lives in namespace {namespace}: nobody would carry the run out");
            Err(CliError::failure(sentence)
                .hint("kubectl apply -k manifests installs one, --local carries the run out in this process"))
        }
        _ => Ok(()),
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

/// The run that carries out the plan that was shown.
fn wanted(planned: &RepackRun, args: &ExecuteArgs) -> RepackRun {
    let mut spec = planned.spec.clone();
    spec.mode = Mode::Execute;
    spec.ttl_seconds_after_finished = args.run.ttl;
    let id = planned.status.as_ref().and_then(|status| status.plan.as_ref()).map(|plan| plan.id.clone());
    spec.execution.get_or_insert_default().expected_plan_id = id;
    RepackRun::new(spec)
}

fn limit(args: &ExecuteArgs) -> Option<Duration> {
    args.timeout.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs)
}

/// Creates the run and carries it out.
fn execute_here(
    planned: &RepackRun,
    args: &ExecuteArgs,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Result<RepackRun, Exit>, CliError> {
    let mut run = wanted(planned, args);
    run.metadata.name = Some(new_name("execute"));
    let local = &args.local;
    let process = ProcessArgs {
        lease_namespace: args.lease_namespace.clone(),
        lease_duration: local.lease_duration,
        // Only the webhooks listen, and the API server is elsewhere.
        listen: None,
    };
    let execution = ExecutionArgs {
        execute_cooldown: local.execute_cooldown,
        webhook_port: local.webhook_port,
        webhook_url: local.webhook_url.clone(),
        webhook_certificate_lifetime: 86_400,
        no_webhooks: local.webhook_url.is_none(),
    };
    let settings = led_by(&process, &execution, &args.plan.movability);
    match see_through(&run, settings, limit(args), cluster, out)? {
        Ok(Some(run)) => Ok(Ok(run)),
        Ok(None) => Err(CliError::failure("the run was deleted before it finished")),
        Err(exit) => Ok(Err(exit)),
    }
}

/// Creates the run and follows it to its end.
fn execute(
    planned: &RepackRun,
    args: &ExecuteArgs,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Result<RepackRun, Exit>, CliError> {
    let mut run = wanted(planned, args);
    run.metadata = ObjectMeta { generate_name: Some("execute-".to_owned()), ..ObjectMeta::default() };
    let mut named = String::new();
    let ended = block_on(async {
        let connected = connected(cluster).await?;
        let created = runs::create(&connected, &run).await?;
        named = created.metadata.name.unwrap_or_default();
        out.status(format!("repackrun.repack.volcano.sh/{named} created"));
        to_its_end(&connected, &named, limit(args), out).await.map(|(answer, _)| answer)
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
