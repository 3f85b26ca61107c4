//! The plan for people: outcome, picture, moves, what stays and why.
//!
//! May import: cli, api, snapshot, plan

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::waiting;
use crate::api::{RepackRunStatus, one_decimal};
use crate::cli::args::groups::Format;
use crate::cli::error::CliError;
use crate::cli::options::{Glyphs, View};
use crate::cli::output::picture::{Drawing, Letters};
use crate::cli::output::{Table, printable, printable_lines};
use crate::cli::planning;
use crate::plan::benefit::Benefit;
use crate::plan::kept::Kept;
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
    let mut text = format!("DryRun: {}\n", printable(&status.message));
    text.push_str(&printable_lines(&main_obstacle(snapshot, planned)));
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
    text.push_str(&waiting::rooms(snapshot, &planned.plan, view));
    text.push_str(&waiting::takers(status));
    text.push_str(&printable_lines(&waiting::withheld(snapshot, &planned.report)));
    let kept = kept(planned);
    if !kept.is_empty() {
        let _ = writeln!(text, "\nkept: {kept}");
    }
    Ok(text)
}

/// What stands in the way first, and what lifts it: the threshold where the best plan misses only that, else what keeps
/// most nodes. Of pods that may not move, the reason that holds most cards.
fn main_obstacle(snapshot: &Snapshot, planned: &Planned) -> String {
    let report = &planned.report;
    let Conclusion::Insufficient { best } = report.conclusion else { return String::new() };
    if best > 0 {
        let percent = best * 100 / report.before.providing.max(1);
        let asked = report.min_improvement_percent;
        return format!(
            "the threshold of {asked} % is missed; what would help: --min-improvement {percent}\n"
        );
    }
    // What was left out on purpose is in nobody's way, unless everything was.
    let counts = kept_counts(planned);
    let asked = |why: &Kept| *why != Kept::OutOfScope || counts.len() == 1;
    let most = counts.iter().filter(|(_, (_, why))| asked(why)).max_by_key(|(_, (nodes, _))| *nodes);
    // Where nodes could be freed, that none is worth it stands before what keeps the others.
    let most = counts.iter().find(|(_, (_, why))| matches!(why, Kept::NotWorthIt { .. })).or(most);
    let Some((&code, (nodes, why))) = most else { return String::new() };
    let enough;
    let help = match why {
        Kept::NotWorthIt { step, .. } => {
            enough = format!("--min-benefit {}", step.most_asked().unwrap_or(0).max(0));
            &enough
        }
        Kept::UnmovablePod { .. } => {
            let Some(first) = report.unmovable.first() else { return String::new() };
            let (cards, pods) = (counted(first.cards, "card"), counted(first.pods, "pod"));
            return helped(&format!("{} holds {cards} in {pods}", first.code), &first.remedy);
        }
        Kept::GroupBudget { .. } => "a larger --max-podgroups",
        Kept::ResourceBudget { .. } => "a larger --max-cards",
        Kept::OutOfScope => "other --include-nodes, --include-node or --exclude-nodes",
        Kept::Cordoned => "--include-node",
        _ => "",
    };
    let obstacle = format!("{code} keeps {}", counted(*nodes, "node"));
    match report.kept.iter().find(|kept| kept.why.code() == code).filter(|_| help.is_empty()) {
        Some(one) => {
            let name = snapshot.node_name(one.node);
            format!("{obstacle}; for one of them see: kubectl repack explain node {name}\n")
        }
        None => helped(&obstacle, help),
    }
}

fn helped(obstacle: &str, help: &str) -> String {
    if help.is_empty() { format!("{obstacle}\n") } else { format!("{obstacle}; what would help: {help}\n") }
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
    if let Some(benefit) = &report.benefit {
        let _ = writeln!(text, "{}", stopped(benefit));
    }
    text
}

/// Why a least benefit lets the plan free so many nodes and no more.
pub(super) fn stopped(benefit: &Benefit) -> String {
    let Benefit { least, freed, cards, damaged, .. } = *benefit;
    let why = benefit.clause();
    if freed == 0 {
        return format!("min benefit {least}: {why}");
    }
    let (nodes, cards) = (counted(count(freed), "node"), counted(cards, "card"));
    let verb = if freed == 1 { "brings" } else { "bring" };
    format!("min benefit {least}: {nodes} {verb} {cards} for {damaged} damaged; {why}")
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn moves(snapshot: &Snapshot, planned: &Planned, view: &View, wide: bool) -> Result<String, CliError> {
    let (all, waves) = (&planned.plan.moves, &planned.plan.waves);
    let mut headers = vec!["from", "to", "cards", "pod", "podgroup"];
    let several_waves = planned.plan.wave_count() > 1;
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

/// Counts of nodes that stay, per reason, and one of each.
fn kept_counts(planned: &Planned) -> BTreeMap<&'static str, (i64, &Kept)> {
    let mut counts: BTreeMap<&str, (i64, &Kept)> = BTreeMap::new();
    for node in &planned.report.kept {
        counts.entry(node.why.code()).or_insert((0, &node.why)).0 += 1;
    }
    counts
}

fn kept(planned: &Planned) -> String {
    let parts: Vec<String> =
        kept_counts(planned).iter().map(|(code, (nodes, _))| format!("{code}({nodes})")).collect();
    parts.join(", ")
}

fn counted(n: i64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
