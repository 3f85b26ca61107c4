//! One run for people: what was asked, what was planned, what was done.
//!
//! May import: cli, api

use std::fmt::Write as _;

use super::list::{age, mode, name, reason};
use crate::api::{Plan, Relocation, RepackRun, RepackRunStatus, RunResult, one_decimal};
use crate::cli::args::groups::Format;
use crate::cli::error::CliError;
use crate::cli::options::{Glyphs, View};
use crate::cli::output::{Table, printable};

/// Rows of a table before the rest is counted.
const MOST_ROWS: usize = 40;

/// The whole text.
pub fn run(run: &RepackRun, view: &View, now: jiff::Timestamp) -> Result<String, CliError> {
    let mut text = String::new();
    let phase = run.status.as_ref().map_or("Pending, not taken up yet".to_owned(), |status| {
        let reason = reason(run).map_or_else(String::new, |reason| format!(" ({reason})"));
        format!("{:?}{reason}", status.phase)
    });
    let created = age(run.metadata.creation_timestamp.as_deref(), now);
    let created = if created.is_empty() { created } else { format!(", created {created} ago") };
    let _ = writeln!(text, "{}: {} {phase}{created}", printable(name(run)), mode(run));
    if run.metadata.deletion_timestamp.is_some() {
        text.push_str("being deleted: a controller takes its gates and leases away first\n");
    }
    let Some(status) = &run.status else {
        text.push_str("no controller has written a status; one that runs takes a run up within seconds\n");
        return Ok(text);
    };
    let _ = writeln!(text, "{}", printable(&status.message));
    if let Some(plan) = &status.plan {
        text.push_str(&totals(plan));
    }
    if let Some(result) = &status.result {
        text.push_str(&achieved(result));
    }
    if view.summary {
        return Ok(text);
    }
    if let Some(plan) = status.plan.as_ref().filter(|plan| !plan.moves.is_empty()) {
        let _ = write!(text, "\n{}", moves(plan, view)?);
    }
    if let Some(relocations) = status.relocations.as_ref().filter(|all| !all.is_empty()) {
        let _ = write!(text, "\n{}", placements(relocations, view)?);
    }
    if view.format == Format::Wide {
        let _ = write!(text, "\n{}", conditions(status, view, now));
    }
    Ok(text)
}

fn totals(plan: &Plan) -> String {
    let summary = &plan.summary;
    let rate = |rate: &crate::api::ExactRate| one_decimal(rate.excess, rate.providing);
    let mut text = format!(
        "fragmentation {}% -> {}%, freed {}{}, scope {} and {}\n",
        rate(&summary.frag_before_exact),
        rate(&summary.frag_after_exact),
        summary.freed_node_count,
        summary.freeable_upper_bound.map_or_else(String::new, |bound| format!(" of at most {bound}")),
        counted(summary.resolved_scope.pod_group_count, "PodGroup"),
        counted(summary.resolved_scope.node_count, "node"),
    );
    if summary.moved_card_count > 0 {
        let cost = &summary.disruption;
        let _ = writeln!(
            text,
            "disruption: {}, {} below {} minimum, {} damaged, {} in {} moved; plan {}",
            counted(cost.affected_pod_groups, "PodGroup"),
            cost.gang_breaches,
            if cost.affected_pod_groups == 1 { "its" } else { "their" },
            counted(cost.damaged_cards, "card"),
            counted(cost.moved_cards, "card"),
            counted(cost.moved_pods, "pod"),
            printable(&plan.id),
        );
    }
    if !plan.freed_nodes.is_empty() {
        let _ = writeln!(text, "frees {}", printable(&plan.freed_nodes.join(", ")));
    }
    for held in &summary.unmovable {
        let (pods, cards) = (counted(held.pod_count, "pod"), counted(held.card_count, "card"));
        let _ = writeln!(text, "kept: {} holds {cards} in {pods}", printable(&held.reason));
    }
    text
}

fn achieved(result: &RunResult) -> String {
    let verified = if result.metrics_verified { "" } else { " (not verified)" };
    let mut text = format!(
        "result{verified}: fragmentation {}%, freed {}, {} moved\n",
        result.frag_after_percent,
        counted(result.freed_node_count, "node"),
        counted(result.moved_card_count, "card"),
    );
    for taken in &result.taken_nodes {
        let group = format!("{}/{}", taken.namespace, taken.pod_group_name);
        let _ =
            writeln!(text, "{} was freed and then taken by {}", printable(&taken.node), printable(&group));
    }
    text
}

fn moves(plan: &Plan, view: &View) -> Result<String, CliError> {
    let mut table = Table::new(["from", "to", "cards", "pod", "podgroup", "owner"]);
    for group in &plan.moves {
        let owner = group.owner.as_ref().map(|owner| format!("{}/{}", owner.kind, owner.name));
        for pod in &group.pods {
            table.row([
                pod.from_node.clone(),
                pod.to_node.clone(),
                pod.cards.to_string(),
                format!("{}/{}", group.namespace, pod.name),
                group.pod_group_name.clone(),
                owner.clone().unwrap_or_default(),
            ]);
        }
    }
    shown(table, view)
}

fn placements(relocations: &[Relocation], view: &View) -> Result<String, CliError> {
    let mut table =
        Table::new(["pod", "eviction", "placement", "planned", "selected", "actual", "replacement"]);
    for r in relocations {
        table.row([
            format!("{}/{}", r.namespace, r.victim_pod_name),
            format!("{:?}", r.eviction.phase),
            format!("{:?}", r.placement.phase),
            r.planned_node_name.clone(),
            r.placement.selected_node_name.clone().unwrap_or_default(),
            r.placement.actual_node_name.clone().unwrap_or_default(),
            r.placement.replacement_pod_name.clone().unwrap_or_default(),
        ]);
    }
    shown(table, view)
}

fn shown(mut table: Table, view: &View) -> Result<String, CliError> {
    if let Some(column) = &view.sort_by {
        table.sort_by(column)?;
    }
    let all = table.render(view.headers);
    if view.format == Format::Wide {
        return Ok(all);
    }
    let most = MOST_ROWS + usize::from(view.headers);
    let rows = all.lines().count();
    if rows <= most {
        return Ok(all);
    }
    let dots = if view.glyphs == Glyphs::Ascii { "..." } else { "…" };
    let first: String = all.lines().take(most).flat_map(|line| [line, "\n"]).collect();
    Ok(format!("{first}{dots} and {} more (-o wide)\n", rows - most))
}

fn conditions(status: &RepackRunStatus, view: &View, now: jiff::Timestamp) -> String {
    let mut table = Table::new(["condition", "status", "reason", "age", "message"]);
    for condition in &status.conditions {
        table.row([
            format!("{:?}", condition.kind),
            format!("{:?}", condition.status),
            condition.reason.as_str().to_owned(),
            age(condition.last_transition_time.as_deref(), now),
            condition.message.clone(),
        ]);
    }
    table.render(view.headers)
}

fn counted(n: i64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
