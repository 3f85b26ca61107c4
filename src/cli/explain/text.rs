//! The explanation for people.
//!
//! May import: cli, snapshot, plan

use std::fmt::Write as _;

use super::document::{Explanation, MAY_NOT_MOVE, PodAnswer, RefusalAnswer};
use super::proof;
use crate::cli::args::groups::Format;
use crate::cli::options::View;
use crate::cli::output::picture::{Drawing, Letters};
use crate::cli::output::printable_lines;
use crate::cli::planning;
use crate::plan::explain::Explainer;
use crate::plan::kept::Kept;
use crate::snapshot::Snapshot;

/// How many receivers a line names.
const NAMED: usize = 5;

/// The whole text.
pub fn explain(snapshot: &Snapshot, explainer: &Explainer<'_>, found: &Explanation, view: &View) -> String {
    let mut text = String::new();
    let wide = view.format == Format::Wide;
    if let Some(node) = &found.node {
        let outcome = if node.freed {
            "would be freed".to_owned()
        } else {
            format!("stays ({}): {}", node.reason, node.message)
        };
        let _ = writeln!(text, "node {} {outcome}", node.name);
        if let Some(certificate) = &node.certificate {
            text.push_str(&proof::lines(certificate, if wide { usize::MAX } else { NAMED }));
        }
        if !view.summary && node.reason != Kept::NotProviding.code() {
            let drawing = Drawing { glyphs: view.glyphs, wide: true, summary: false, headers: view.headers };
            let picture = planning::picture(snapshot, explainer.planned(), snapshot.node_named(&node.name));
            let _ = write!(text, "\n{}", picture.draw(drawing, &mut Letters::default()));
        }
    }
    if let Some(group) = &found.pod_group {
        let plural = if group.pod_count == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "podgroup {}: {} pod{plural}, minimum {}, {} would move",
            group.name, group.pod_count, group.min_member, group.moving
        );
    }
    for pod in &found.pods {
        if !text.is_empty() {
            text.push('\n');
        }
        about(&mut text, pod, wide);
    }
    let shown = if wide { found.rooms.len() } else { found.rooms.len().min(NAMED) };
    for (at, room) in found.rooms[..shown].iter().enumerate() {
        let blank = if at == 0 { "\n" } else { "" };
        let (kind, plural) =
            (if room.terminating { "the replacement of" } else { "waiting pod" }, plural(room.cards));
        let pod = format!("{}/{}", room.namespace, room.name);
        let _ = writeln!(text, "{blank}{} keeps {} card{plural} for {kind} {pod}", room.node, room.cards);
    }
    if shown < found.rooms.len() {
        let _ = writeln!(text, "and {} more (-o wide)", found.rooms.len() - shown);
    }
    printable_lines(&text)
}

fn about(text: &mut String, pod: &PodAnswer, wide: bool) {
    let plural = plural(pod.cards);
    let place = if pod.node.is_empty() { String::new() } else { format!(" on {}", pod.node) };
    let answer = match pod.message.strip_prefix(MAY_NOT_MOVE) {
        Some(why) => format!("may not move ({}): {why}", pod.reason),
        None => pod.message.clone(),
    };
    let _ = writeln!(text, "pod {}/{}{place}, {} card{plural}: {answer}", pod.namespace, pod.name, pod.cards);
    if !pod.remedy.is_empty() {
        let _ = writeln!(text, "  what would help: {}", pod.remedy);
    }
    if pod.reason != "Moves" && !pod.receivers.is_empty() {
        let _ = writeln!(text, "  accepted by {}", some(&pod.receivers, wide));
    }
    refusals(text, &pod.refusals, wide);
}

/// A line per class of nodes that refuse a pod; wide with their names.
pub(in crate::cli) fn refusals(text: &mut String, refusals: &[RefusalAnswer], wide: bool) {
    for refusal in refusals {
        let _ = match &*refusal.nodes {
            [only] => writeln!(text, "  refused by {only}: {}: {}", refusal.plugin, refusal.message),
            nodes => writeln!(
                text,
                "  refused by {} nodes: {}: {} (closest {})",
                nodes.len(),
                refusal.plugin,
                refusal.message,
                refusal.closest
            ),
        };
        if wide && refusal.nodes.len() > 1 {
            let _ = writeln!(text, "    {}", refusal.nodes.join(", "));
        }
    }
}

const fn plural(n: i64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn some(names: &[String], wide: bool) -> String {
    if wide || names.len() <= NAMED {
        return names.join(", ");
    }
    format!("{} and {} more", names[..NAMED].join(", "), names.len() - NAMED)
}
