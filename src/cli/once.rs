//! `kubectl-repack run --once`: one run as a batch job, from its creation to its clean-up.
//!
//! May import: cli, api, live, controller

use std::time::Duration;

use super::args::cluster::ClusterArgs;
use super::args::groups::SourceArgs;
use super::args::once::{ModeName, OnceArgs};
use super::controller::led_by;
use super::error::CliError;
use super::exit::Exit;
use super::in_process::{new_name, see_through};
use super::options::{PlanOptions, View};
use super::output::{Out, log};
use super::status::{end_of, one};
use super::{input, planning, source};
use crate::api::{Mode, ObjectMeta, RepackRun};

/// Carries the run out.
pub fn run(args: &OnceArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    log::start(out.verbosity(), std::env::var("RUST_LOG").ok().as_deref());
    if args.plan.now.is_some() {
        return Err(CliError::usage("--now has no effect on a run of the cluster"));
    }
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let file = args.filename.as_deref().map(input::read_run).transpose()?;
    let run = wanted(args, file, cluster, out)?;
    let settings = led_by(&args.process, &args.execution, &args.plan.movability);
    let limit = args.timeout.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
    let ended = match see_through(&run, settings, limit, cluster, out)? {
        Ok(Some(ended)) => ended,
        Ok(None) => return Err(CliError::failure("the run was deleted before it finished")),
        Err(exit) => return Ok(exit),
    };
    out.data(&one(&ended, &view, jiff::Timestamp::now())?);
    Ok(end_of(&ended).unwrap_or(Exit::NotAchieved))
}

/// The run that is asked for.
fn wanted(
    args: &OnceArgs,
    file: Option<RepackRun>,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<RepackRun, CliError> {
    let of_file = file.as_ref().map(|file| file.spec.mode);
    let mode = match args.mode {
        Some(ModeName::DryRun) => Mode::DryRun,
        Some(ModeName::Execute) => Mode::Execute,
        None => of_file.unwrap_or(Mode::DryRun),
    };
    let options = PlanOptions::of_run(&args.plan, &args.run, file);
    let mut run = if let Some(resource) = options.resource() {
        options.request_for(resource)?.0
    } else {
        let snapshot = source::load(&SourceArgs::default(), cluster, out)?;
        planning::asked(&snapshot, &options)?.0
    };
    let ObjectMeta { name, labels, annotations, .. } = run.metadata;
    let name = args.name.clone().or(name).unwrap_or_else(|| new_name("once"));
    run.metadata = ObjectMeta { name: Some(name), labels, annotations, ..ObjectMeta::default() };
    run.spec.mode = mode;
    run.status = None;
    Ok(run)
}
