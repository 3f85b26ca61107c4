//! `kubectl repack report`: the report of fragmentation in every output format.
//!
//! Text is read from the document that `-o json` prints, so nothing is shown that a script can not get. `table`
//! lays out totals, `drawing` makes the card picture, `notes` says what counts differently from what one expects.
//!
//! May import: cli, api, snapshot, fragmentation, plan

mod drawing;
mod notes;
mod table;
#[cfg(test)]
mod tests;

use super::args::cluster::ClusterArgs;
use super::args::groups::Format;
use super::args::report::ReportArgs;
use super::error::CliError;
use super::options::{self, View};
use super::output::picture::{Drawing, Letters};
use super::output::{Out, json, yaml};
use super::source;
use crate::api::nearest;
use crate::fragmentation::document::Unmovable;
use crate::fragmentation::{FragmentationReport, Movability, ReportOptions};
use crate::plan::movability::Facts;
use crate::plan::request::{self, Request};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{PodIdx, ResourceIdx};

/// Prints the report.
pub fn run(args: &ReportArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<(), CliError> {
    let snapshot = source::load(&args.source, cluster, out)?;
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let movability = options::movability(&args.movability);
    let ask = |resource| ask(&snapshot, resource, &movability);
    let options = ReportOptions {
        resources: &args.resource,
        group_by: args.group_by.as_deref(),
        movability: Some(&ask),
    };
    let report = FragmentationReport::new(&snapshot, &options);
    advise(&snapshot, &report, out);
    let written = match view.format {
        Format::Json => json(&report),
        Format::Yaml => yaml(&report),
        Format::Name => Ok(report.resources.iter().flat_map(|r| [r.resource.as_str(), "\n"]).collect()),
        Format::Table | Format::Wide => Ok(text(&report, &view)?),
    };
    out.data(&written.map_err(|fault| CliError::failure("cannot write the report").because(fault))?);
    Ok(())
}

/// Which pods may move in a plan for this resource without further scope.
fn ask(snapshot: &Snapshot, resource: ResourceIdx, options: &request::Movability) -> Movability {
    let mut request = Request::for_resource(snapshot.resource_name(resource));
    request.movability = options.clone();
    // Only a scope can fail to resolve, and there is none.
    let Ok(facts) = Facts::of(snapshot, resource, &request) else { return Movability::default() };
    let pods = (0..snapshot.pods.len()).map(PodIdx::new);
    let code =
        |pod| facts.movability.reason(pod).filter(|r| !r.code.holds_nothing()).map(|r| r.code.as_str());
    let held = facts.movability.summary(snapshot, resource, &request);
    let unmovable = held.into_iter().map(|held| Unmovable {
        reason: held.code.as_str(),
        pods: held.pods,
        cards: held.cards,
        remedy: held.remedy,
    });
    Movability { refused: pods.map(code).collect(), unmovable: unmovable.collect() }
}

/// The report for people.
fn text(report: &FragmentationReport<'_>, view: &View) -> Result<String, CliError> {
    let wide = view.format == Format::Wide;
    let mut parts = Vec::new();
    let asked_for = view.summary || view.sort_by.is_some() || report.group_by.is_some();
    if asked_for || report.resources.len() > 1 {
        let mut table = table::totals(report, wide);
        if let Some(column) = &view.sort_by {
            table.sort_by(column)?;
        }
        parts.push(table.render(view.headers && !table.is_empty()));
    }
    if !view.summary {
        for resource in &report.resources {
            // Without nodes there is nothing to draw but the line of totals.
            let summary = resource.nodes.is_empty();
            let drawing = Drawing { glyphs: view.glyphs, wide, summary, headers: view.headers };
            let mut part = drawing::picture(resource).draw(drawing, &mut Letters::default());
            let notes = notes::lines(resource, wide);
            if wide && !notes.is_empty() {
                part.push('\n');
            }
            part.extend(notes);
            parts.push(part);
        }
    }
    parts.retain(|part| !part.is_empty());
    Ok(parts.join("\n"))
}

/// What to try next where the report has little to say.
fn advise(snapshot: &Snapshot, report: &FragmentationReport<'_>, out: &mut Out) {
    let unused = &report.unused_resources;
    if report.resources.is_empty() {
        if unused.is_empty() {
            out.status("No node provides an extended resource, and no pod requests one.");
        } else {
            out.status(format!("No pod requests an extended resource. Nodes provide {}.", unused.join(", ")));
            out.hint(format!("kubectl repack report -r {}", unused[0]));
        }
    } else if !unused.is_empty() {
        out.status(format!("Provided, but requested by no pod: {}.", unused.join(", ")));
    }
    let known: Vec<&str> =
        snapshot.extended_resources().into_iter().map(|r| snapshot.resource_name(r)).collect();
    for resource in report.resources.iter().filter(|r| snapshot.resource_named(&r.resource).is_none()) {
        match nearest(&resource.resource, known.iter().copied()) {
            Some(near) => out.hint(format!("{} is not in the input, but {near} is", resource.resource)),
            None => out.hint(format!("the extended resources of the input: {}", known.join(", "))),
        }
    }
}
