//! `kubectl repack dryrun`: the plan, without moving anything.
//!
//! Every text starts with `DryRun`. Where nothing is moved, the second line says what stands in the way first and which
//! flag lifts it.
//!
//! May import: cli, api, snapshot, plan

mod frontier;
pub(super) mod text;
mod waiting;

use super::args::dryrun::DryRunArgs;
use super::args::groups::Format;
use super::error::CliError;
use super::options::{PlanOptions, View};
use super::output::{Out, json, yaml};
use super::{input, planning, source};
use crate::plan::status::dry_run_status;

/// Prints the plan.
pub fn run(args: &DryRunArgs, out: &mut Out) -> Result<(), CliError> {
    if args.filename.as_deref().is_some_and(source::is_stdin)
        && args.source.snapshot.iter().any(|p| source::is_stdin(p))
    {
        return Err(CliError::usage("standard input can be read only once"));
    }
    let file = args.filename.as_deref().map(input::read_run).transpose()?;
    let options = PlanOptions::dry_run(args, file);
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let snapshot = source::load(&args.source, out)?;
    if args.frontier {
        let found = planning::frontier(&snapshot, &options, out)?;
        out.data(&frontier::text(&snapshot, &found, &view)?);
        return Ok(());
    }
    let pass = planning::plan(&snapshot, &options, out)?;
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
    Ok(())
}
