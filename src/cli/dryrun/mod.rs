//! `kubectl repack dryrun`: the plan, without moving anything.
//!
//! Every text starts with `DryRun`. Where nothing is moved, the second line says what stands in the way first and which
//! flag lifts it.
//!
//! May import: cli, api, live, snapshot, plan

mod frontier;
mod server;
pub(super) mod text;
mod waiting;

use super::args::cluster::ClusterArgs;
use super::args::dryrun::DryRunArgs;
use super::args::groups::Format;
use super::error::CliError;
use super::exit::Exit;
use super::options::{PlanOptions, View};
use super::output::{Out, json, yaml};
use super::planning::Pass;
use super::{input, planning, source, status};
use crate::api::{Mode, RepackRun, RepackRunStatus};
use crate::plan::status::dry_run_status;
use crate::snapshot::Snapshot;

/// Prints the plan.
pub fn run(args: &DryRunArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    if args.filename.as_deref().is_some_and(source::is_stdin)
        && args.source.snapshot.iter().any(|p| source::is_stdin(p))
    {
        return Err(CliError::usage("standard input can be read only once"));
    }
    let file = args.filename.as_deref().map(input::read_run).transpose()?;
    let executes = file.as_ref().is_some_and(|file| file.spec.mode == Mode::Execute);
    let mut options = PlanOptions::dry_run(args, file);
    options.now = source::now(options.now, &args.source);
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let as_object = args.source.snapshot.is_empty() && !args.local && !args.frontier;
    let as_object = as_object && {
        let there = server::is_there(cluster)?;
        if !there {
            out.status("RepackRuns are not installed in this cluster: planned on this machine.");
        }
        there
    };
    if as_object {
        server::only_here(args, &options)?;
    }
    let snapshot = source::load(&args.source, cluster, out)?;
    if args.frontier {
        let found = planning::frontier(&snapshot, &options, out)?;
        out.data(&frontier::text(&snapshot, &found, &view)?);
        return Ok(Exit::Done);
    }
    let mut pass = planning::plan(&snapshot, &options, out)?;
    if as_object {
        if executes {
            // Its name is for the run that executes.
            pass.run.metadata.name = None;
        }
        return kept_in_cluster(&snapshot, pass, args, cluster, &view, out);
    }
    let mut status = dry_run_status(&snapshot, &pass.planned);
    if let Some(now) = options.now {
        let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        for condition in &mut status.conditions {
            condition.last_transition_time = Some(time.clone());
        }
        status.start_time = Some(time.clone());
        status.completion_time = Some(time);
    }
    let text = match view.format {
        Format::Json | Format::Yaml => {
            let mut run = pass.run;
            run.status = Some(status);
            let written = if view.format == Format::Json { json(&run) } else { yaml(&run) };
            written.map_err(|fault| CliError::failure("cannot write the plan").because(fault))?
        }
        Format::Name => {
            let nodes = status.plan.map(|plan| plan.freed_nodes).unwrap_or_default();
            nodes.iter().map(|node| format!("node/{node}\n")).collect()
        }
        Format::Table | Format::Wide => text::plan(&snapshot, &pass.planned, &status, &view)?,
    };
    out.data(&text);
    Ok(Exit::Done)
}

/// Plans in the cluster whatever it has, and shows it; the run as it ended, or how the wait for it did.
///
/// # Errors
/// The cluster has no RepackRuns, or as for [`run`].
pub(super) fn in_cluster(
    args: &DryRunArgs,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Result<RepackRun, Exit>, CliError> {
    let file = args.filename.as_deref().map(input::read_run).transpose()?;
    let mut options = PlanOptions::dry_run(args, file);
    options.now = source::now(options.now, &args.source);
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    if !server::is_there(cluster)? {
        return Err(CliError::failure("RepackRuns are not installed in this cluster")
            .hint("kubectl apply -k manifests installs them and the controller"));
    }
    server::only_here(args, &options)?;
    let snapshot = source::load(&args.source, cluster, out)?;
    let mut pass = planning::plan(&snapshot, &options, out)?;
    pass.run.metadata.name = None;
    shown(&snapshot, pass, args, cluster, &view, out)
}

/// Plans on this machine what a run of the cluster would, and shows it; the run with its status.
///
/// # Errors
/// As for [`run`].
pub(super) fn on_this_machine(
    args: &DryRunArgs,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<RepackRun, CliError> {
    let file = args.filename.as_deref().map(input::read_run).transpose()?;
    let mut options = PlanOptions::dry_run(args, file);
    options.now = source::now(options.now, &args.source);
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let snapshot = source::load(&args.source, cluster, out)?;
    let pass = planning::plan(&snapshot, &options, out)?;
    let status = dry_run_status(&snapshot, &pass.planned);
    out.data(&text::plan(&snapshot, &pass.planned, &status, &view)?);
    let mut run = pass.run;
    run.metadata.name = None;
    run.status = Some(status);
    Ok(run)
}

/// Creates the run in the cluster and shows what came of it: with the picture, where the cluster's plan is the one that
/// this machine finds.
fn kept_in_cluster(
    snapshot: &Snapshot,
    pass: Pass,
    args: &DryRunArgs,
    cluster: &ClusterArgs,
    view: &View,
    out: &mut Out,
) -> Result<Exit, CliError> {
    let ended = shown(snapshot, pass, args, cluster, view, out)?;
    Ok(ended.map_or_else(|exit| exit, |run| status::end_of(&run).unwrap_or(Exit::Done)))
}

fn shown(
    snapshot: &Snapshot,
    pass: Pass,
    args: &DryRunArgs,
    cluster: &ClusterArgs,
    view: &View,
    out: &mut Out,
) -> Result<Result<RepackRun, Exit>, CliError> {
    let run = match server::evaluate(pass.run, args, cluster, out)? {
        Ok(run) => run,
        Err(exit) => return Ok(Err(exit)),
    };
    let here = dry_run_status(snapshot, &pass.planned);
    let id = |status: &RepackRunStatus| status.plan.as_ref().map(|plan| plan.id.clone());
    let same = run.status.as_ref().and_then(id).filter(|there| Some(there) == id(&here).as_ref());
    let text = match (&run.status, view.format) {
        (Some(status), Format::Table | Format::Wide) if same.is_some() => {
            text::plan(snapshot, &pass.planned, status, view)?
        }
        _ => status::one(&run, view, jiff::Timestamp::now())?,
    };
    out.data(&text);
    Ok(Ok(run))
}
