//! The plan for people: outcome, picture, moves, what stays and why.
//!
//! May import: cli, api, snapshot, plan

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::api::{RepackRunStatus, one_decimal};
use crate::cli::args::groups::Format;
use crate::cli::error::CliError;
use crate::cli::options::{Glyphs, View};
use crate::cli::output::Table;
use crate::cli::output::picture::{Drawing, Letters};
use crate::cli::planning;
use crate::plan::outcome::Conclusion;
use crate::plan::{Move, Planned};
use crate::snapshot::Snapshot;

/// How many moves a table shows before it counts the rest.
const MOST_MOVES: usize = 40;

/// The whole text.
pub fn plan(
    snapshot: &Snapshot,
    planned: &Planned,
    status: &RepackRunStatus,
    view: &View,
) -> Result<String, CliError> {
    let wide = view.format == Format::Wide;
    let mut text = format!("DryRun: {}\n", status.message);
    if planned.report.conclusion != Conclusion::Recommended {
        text.push_str(&main_obstacle(planned));
    }
    text.push_str(&totals(planned, status));
    if view.summary {
        return Ok(text);
    }
    let drawing = Drawing { glyphs: view.glyphs, wide, summary: false, headers: view.headers };
    let _ = write!(
        text,
        "\n{}",
        planning::picture(snapshot, planned, None).draw(drawing, &mut Letters::default())
    );
    if !planned.plan.is_empty() {
        let _ = write!(text, "\n{}", moves(snapshot, planned, view, wide)?);
    }
    let kept = kept(planned);
    if !kept.is_empty() {
        let _ = writeln!(text, "\nkept: {kept}");
    }
    Ok(text)
}

/// The one reason that holds most cards, and what lifts it.
fn main_obstacle(planned: &Planned) -> String {
    let Some(first) = planned.report.unmovable.first() else { return String::new() };
    let mut text =
        format!("{} holds {} in {}", first.code, counted(first.cards, "card"), counted(first.pods, "pod"));
    if !first.remedy.is_empty() {
        let _ = write!(text, "; what would help: {}", first.remedy);
    }
    text.push('\n');
    text
}

/// Rate, bound, disruption and id in two lines.
fn totals(planned: &Planned, status: &RepackRunStatus) -> String {
    let report = &planned.report;
    let freed = i64::try_from(planned.plan.freed.len()).unwrap_or(i64::MAX);
    let (before, after) = report.excess(freed);
    let rate = |excess| one_decimal(excess, report.before.providing);
    let mut text = format!(
        "fragmentation {}% -> {}%, freed {freed} of at most {}, scope {} and {}\n",
        rate(before),
        rate(after),
        report.upper_bound,
        counted(report.groups_in_scope, "PodGroup"),
        counted(report.nodes_in_scope, "node"),
    );
    let cost = planned.plan.disruption;
    if !planned.plan.is_empty() {
        let their = if cost.affected_groups == 1 { "its" } else { "their" };
        let id = status.plan.as_ref().map(|plan| plan.id.as_str()).unwrap_or_default();
        let _ = writeln!(
            text,
            "disruption: {}, {} below {their} minimum, {} damaged, {} in {} moved; plan {id}",
            counted(cost.affected_groups, "PodGroup"),
            cost.breached_groups,
            counted(cost.damaged_cards, "card"),
            counted(cost.moved_cards, "card"),
            counted(cost.moved_pods, "pod"),
        );
    }
    text
}

fn moves(snapshot: &Snapshot, planned: &Planned, view: &View, wide: bool) -> Result<String, CliError> {
    let (all, waves) = (&planned.plan.moves, &planned.report.waves);
    let mut headers = vec!["from", "to", "cards", "pod", "podgroup"];
    let several_waves = waves.iter().any(|&wave| wave > 0);
    if several_waves {
        headers.push("wave");
    }
    let remarkable = all.iter().any(|m| m.cascade || m.gated);
    if remarkable {
        headers.push("note");
    }
    let mut table = Table::with_headers(headers);
    let shown = if wide { all.len() } else { all.len().min(MOST_MOVES) };
    for (m, wave) in all[..shown].iter().zip(waves) {
        let group = snapshot.pod(m.pod).group.map(|g| snapshot.text(snapshot.groups[g.at()].name).to_owned());
        let mut row = vec![
            snapshot.node_name(m.from).to_owned(),
            snapshot.node_name(m.to).to_owned(),
            snapshot.charged(m.pod, planned.plan.resource).to_string(),
            snapshot.pod_key(m.pod),
            group.unwrap_or_default(),
        ];
        if several_waves {
            row.push((wave + 1).to_string());
        }
        if remarkable {
            row.push(note(m).to_owned());
        }
        table.row(row);
    }
    if let Some(column) = &view.sort_by {
        table.sort_by(column)?;
    }
    let mut text = table.render(view.headers);
    if shown < all.len() {
        let dots = if view.glyphs == Glyphs::Ascii { "..." } else { "…" };
        let _ = writeln!(text, "{dots} and {} more (-o wide)", all.len() - shown);
    }
    Ok(text)
}

const fn note(m: &Move) -> &'static str {
    match (m.cascade, m.gated) {
        (true, _) => "recreated along",
        (false, true) => "waits until its predecessor is gone",
        (false, false) => "",
    }
}

/// Counts of nodes that stay, per reason.
fn kept(planned: &Planned) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &planned.report.kept {
        *counts.entry(node.why.code()).or_default() += 1;
    }
    let parts: Vec<String> = counts.iter().map(|(code, n)| format!("{code}({n})")).collect();
    parts.join(", ")
}

fn counted(n: i64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
