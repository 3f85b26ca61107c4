//! Who gets room before anything moves, and who would take receivers: as text.
//!
//! May import: cli, api, snapshot, plan

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::api::RepackRunStatus;
use crate::cli::args::groups::Format;
use crate::cli::options::{Glyphs, View};
use crate::cli::output::Table;
use crate::plan::Plan;
use crate::plan::outcome::Report;
use crate::plan::status::{rooms_of_cards, waiting_name};
use crate::snapshot::Snapshot;

/// How many rooms and how many receivers are named before the rest is counted.
const MOST_ROOMS: usize = 10;
const MOST_RECEIVERS: usize = 5;

/// A table of rooms; nothing where nobody comes.
pub fn rooms(snapshot: &Snapshot, plan: &Plan, view: &View) -> String {
    let mut table = Table::new(["room on", "cards", "pod", "note"]);
    let all: Vec<_> = rooms_of_cards(snapshot, plan).collect();
    let shown = if view.format == Format::Wide { all.len() } else { all.len().min(MOST_ROOMS) };
    for (room, cards) in &all[..shown] {
        let note = if room.replaces { "replaces it once it is gone" } else { "waits" };
        let (node, pod) = (snapshot.node_name(room.node), snapshot.pod_key(room.pod));
        table.row([node.to_owned(), cards.to_string(), pod, note.to_owned()]);
    }
    if table.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}", table.render(view.headers));
    if shown < all.len() {
        let dots = if view.glyphs == Glyphs::Ascii { "..." } else { "\u{2026}" };
        let _ = writeln!(text, "{dots} and {} more (-o wide)", all.len() - shown);
    }
    text
}

/// One line per gang that fits only once the victims have left.
pub fn takers(status: &RepackRunStatus) -> String {
    let mut text = String::new();
    for taker in status.plan.iter().flat_map(|plan| &plan.takers) {
        let (what, name) = match taker.pod_group_name.as_str() {
            "" => ("pod", &taker.pod_name),
            _ => ("PodGroup", &taker.pod_group_name),
        };
        let could = match taker.receivers.split_at_checked(MOST_RECEIVERS) {
            Some((named, rest)) if !rest.is_empty() => {
                format!(", could use {} and {} more", named.join(", "), rest.len())
            }
            _ if taker.receivers.is_empty() => String::new(),
            _ => format!(", could use {}", taker.receivers.join(", ")),
        };
        let blank = if text.is_empty() { "\n" } else { "" };
        let _ = writeln!(
            text,
            "{blank}waiting {what} {}/{name} fits once victims have left{could}",
            taker.namespace
        );
    }
    text
}

/// One line per gang that receivers keep room for, because a plan that used it would be in the gang's way.
pub fn withheld(snapshot: &Snapshot, report: &Report) -> String {
    let mut nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for kept in &report.withheld {
        nodes.entry(waiting_name(snapshot, kept.taker)).or_default().push(snapshot.node_name(kept.node));
    }
    let mut text = String::new();
    for (name, nodes) in nodes {
        let blank = if text.is_empty() { "\n" } else { "" };
        let (named, rest) = nodes.split_at(nodes.len().min(MOST_RECEIVERS));
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let _ = writeln!(text, "{blank}room is kept for waiting {name} on {}{more}", named.join(", "));
    }
    text
}
