//! `kubectl repack fit`: does a job fit now, after which repack, or never.
//!
//! May import: cli, api, engine, snapshot, plan

mod ask;
mod document;
mod text;

use super::args::cluster::ClusterArgs;
use super::args::fit::FitArgs;
use super::args::groups::Format;
use super::error::CliError;
use super::exit::Exit;
use super::options::{PlanOptions, View};
use super::output::{Out, json, yaml};
use super::{planning, source};
use crate::engine::Answer;
use crate::snapshot::Snapshot;
use crate::snapshot::build::wanted::Part;

/// Prints the answer; the exit code says whether it fits, now or after a repack.
pub fn run(args: &FitArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    if args.filename.as_deref().is_some_and(source::is_stdin)
        && args.source.snapshot.iter().any(|path| source::is_stdin(path))
    {
        return Err(CliError::usage("standard input can be read only once"));
    }
    let mut options = PlanOptions::of(&args.plan);
    options.now = source::now(options.now, &args.source);
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let (mut parts, mut resource) = (Vec::new(), String::new());
    let snapshot = source::load_with(&args.source, cluster, out, |builder, out| {
        (parts, resource) = ask::ask(args, options.resource(), builder, out)?;
        Ok(())
    })?;
    warn(&snapshot, &parts, out);
    let answer = planning::fit(&snapshot, &options, &resource, out)?;
    let exit = match answer {
        Answer::Now(_) | Answer::After { .. } => Exit::Done,
        Answer::Never { .. } | Answer::NotFound { .. } => Exit::NotAchieved,
    };
    let document = document::document(&snapshot, &parts, args.filename.is_none(), &resource, &answer);
    let text = match view.format {
        Format::Json => json(&document),
        Format::Yaml => yaml(&document),
        Format::Name => Ok(text::nodes(&document)),
        Format::Table | Format::Wide => Ok(text::text(&snapshot, &document, &answer, &view)?),
    };
    out.data(&text.map_err(|fault| CliError::failure("cannot write the answer").because(fault))?);
    Ok(exit)
}

/// Says which of the pods are there already: they keep their room beside those that are asked about.
fn warn(snapshot: &Snapshot, parts: &[Part], out: &mut Out) {
    for (at, part) in parts.iter().enumerate() {
        let (kind, name) = (part.kind.name(), format!("{}/{}", part.namespace, part.name));
        let same = |other: &Part| {
            (other.kind, &other.namespace, &other.name) == (part.kind, &part.namespace, &part.name)
        };
        if parts[..at].iter().any(same) {
            continue;
        }
        let owned = snapshot.owners.iter().filter(|owner| {
            owner.known == Some(part.kind)
                && snapshot.text(owner.name) == part.name
                && snapshot.namespace_name(owner.namespace) == part.namespace
        });
        let live = owned.flat_map(|owner| &owner.pods).filter(|&&pod| !snapshot.pod(pod).phase.is_finished());
        let count = live.count();
        if count > 0 {
            let pods = if count == 1 { "pod" } else { "pods" };
            out.warning(format!(
                "the cluster holds {count} {pods} of {kind} {name} already, and they stay beside those that are asked about."
            ));
        }
    }
}
