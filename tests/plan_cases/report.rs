//! `report [by=LABEL]`: the numbers of the fragmentation report, and whatever counts differently.

use kubectl_repack::fragmentation::document::{NodeCount, Summary};
use kubectl_repack::fragmentation::{FragmentationReport, ReportOptions};

use crate::Outcome;
use crate::plan::counted;
use crate::text::Command;
use crate::world::{CARDS, World};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let label = args.field("by");
    args.done()?;
    let snapshot = world.snapshot()?;
    let resources = [CARDS.to_owned()];
    let options = ReportOptions { resources: &resources, group_by: label.as_deref(), movability: None };
    let report = FragmentationReport::new(&snapshot, &options);
    let one = &report.resources[0];
    let mut text = line("", &one.summary);
    text.extend(one.pools.iter().map(|pool| line(&format!("{}: ", pool.name), &pool.summary)));
    text.extend(one.note.map(|note| format!("note: {note}\n")));
    let special = &one.special;
    for (what, nodes) in [
        ("not ready", &special.not_ready),
        ("cordoned", &special.cordoned),
        ("leaving", &special.leaving),
        ("emptying", &special.emptying),
        ("not providing", &special.not_providing),
    ] {
        let names: Vec<&str> = nodes.iter().map(|node: &NodeCount<'_>| node.name).collect();
        if !names.is_empty() {
            text.push_str(&format!("{what}: {}\n", names.join(" ")));
        }
    }
    Ok(text)
}

fn line(name: &str, summary: &Summary) -> String {
    let job =
        summary.largest_job.map_or_else(|| "none".to_owned(), |job| format!("{}x{}", job.pods, job.cards));
    format!(
        "{name}{}  occupied {}  optimum {}{}  rate {}%  free {}  largest job {job}\n",
        counted(summary.nodes, "node"),
        summary.occupied_nodes,
        summary.optimal_occupied_nodes,
        if summary.optimum_exact { "" } else { "+" },
        summary.frag_percent,
        summary.cards.free,
    )
}
