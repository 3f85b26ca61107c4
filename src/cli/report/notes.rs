//! What counts differently from what one might expect, a line each, so that nothing is hidden silently.
//!
//! May import: cli, fragmentation

use crate::cli::output::printable;
use crate::fragmentation::document::{NodeCount, ResourceReport};

/// More names than this are cut, unless everything was asked for.
const MOST_NAMES: usize = 5;

/// The lines; each ends with a line feed.
pub fn lines(report: &ResourceReport<'_>, wide: bool) -> Vec<String> {
    let special = &report.special;
    let mut lines = Vec::new();
    lines.extend(report.note.map(|note| format!("note: {note}")));
    for (what, nodes) in [
        ("not ready, neither emptied nor receiving", &special.not_ready),
        ("cordoned, not receiving", &special.cordoned),
        ("leaving the cluster, neither emptied nor receiving", &special.leaving),
        ("emptying, all their pods are terminating", &special.emptying),
    ] {
        if !nodes.is_empty() {
            let (used, free) = nodes.iter().fold((0, 0), |(used, free), n| (used + n.used, free + n.free));
            let sums = format!("{} in use, {free} free", counted(used, "card"));
            lines.push(format!("{what}: {}, {sums}: {}", nodes_of(nodes), node_names(nodes, wide)));
        }
    }
    if report.summary.cards.free_on_closed_nodes > 0 {
        let cards = report.summary.cards;
        lines.push(format!(
            "of the {} free, {} on nodes that take no new pods",
            counted(cards.free, "card"),
            is_or_are(cards.free_on_closed_nodes)
        ));
    }
    if report.waiting.pods > 0 {
        let pods = i64::try_from(report.waiting.pods).unwrap_or(i64::MAX);
        lines.push(format!(
            "waiting for a node: {} with {}",
            counted(pods, "pod"),
            counted(report.waiting.cards, "card")
        ));
    }
    for held in &report.unmovable {
        let pods = counted(i64::try_from(held.pods).unwrap_or(i64::MAX), "pod");
        let remedy = held.remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
        lines.push(format!(
            "can not move: {} in {pods}: {}{remedy}",
            counted(held.cards, "card"),
            held.reason
        ));
    }
    let outside = &special.not_providing;
    if !outside.is_empty() {
        let cards = counted(outside.iter().map(|node| node.used).sum(), "card");
        lines.push(format!(
            "not counted: {cards} on {} without the resource: {}",
            nodes_of(outside),
            node_names(outside, wide)
        ));
    }
    let lost = &special.lost_pods;
    if !lost.is_empty() {
        let cards = counted(lost.iter().map(|pod| pod.cards).sum(), "card");
        let names: Vec<String> = lost.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
        let pods = counted(i64::try_from(lost.len()).unwrap_or(i64::MAX), "pod");
        lines.push(format!("not counted: {pods} with {cards} on unknown nodes: {}", listed(names, wide)));
    }
    lines.into_iter().map(|line| format!("{}\n", printable(&line))).collect()
}

fn nodes_of(nodes: &[NodeCount<'_>]) -> String {
    counted(i64::try_from(nodes.len()).unwrap_or(i64::MAX), "node")
}

fn node_names(nodes: &[NodeCount<'_>], wide: bool) -> String {
    listed(nodes.iter().map(|node| node.name.to_owned()).collect(), wide)
}

fn listed(mut names: Vec<String>, wide: bool) -> String {
    let more = if wide { 0 } else { names.len().saturating_sub(MOST_NAMES) };
    names.truncate(names.len() - more);
    let cut = if more > 0 { format!(" and {more} more (-o wide)") } else { String::new() };
    format!("{}{cut}", names.join(", "))
}

fn counted(n: i64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn is_or_are(n: i64) -> String {
    if n == 1 { "1 is".to_owned() } else { format!("{n} are") }
}
