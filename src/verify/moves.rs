//! Checks of the list of moves: everything that has to move moves once, from where it stands, in order.
//!
//! May import: snapshot, `plan::types`, `plan::request`

use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use crate::plan::types::Move;
use crate::snapshot::model::{NodeIdx, PodIdx};

/// All checks of this file.
pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    findings.extend(moved_once(facts));
    for &node in &facts.freed {
        findings.extend(left_behind(facts, node));
    }
    for moved in &facts.plan.moves {
        findings.extend(stands_there(facts, moved).or_else(|| has_to_move(facts, moved)));
    }
    findings.extend(grouped_by_node(facts));
}

fn about(check: Check, pod: PodIdx, text: impl Into<String>) -> Finding {
    Finding::new(check, Subject::Pod(pod), text)
}

fn moved_once(facts: &Facts<'_>) -> Vec<Finding> {
    let more = facts.moves_of.iter().filter(|(_, moves)| moves.len() > 1);
    more.map(|(&pod, moves)| about(Check::MovedTwice, pod, format!("moves {} times", moves.len()))).collect()
}

/// Pods of a freed node that would still hold cards there. Terminating ones go by themselves.
fn left_behind(facts: &Facts<'_>, node: NodeIdx) -> Vec<Finding> {
    let stays = |pod: &&PodIdx| !facts.snapshot.pod(**pod).terminating && !facts.moves_of.contains_key(*pod);
    let text = |pod| {
        format!("holds {} of the resource on freed node {}", facts.cards(pod), facts.snapshot.node_name(node))
    };
    facts.holders(node).iter().filter(stays).map(|&pod| about(Check::LeftBehind, pod, text(pod))).collect()
}

fn stands_there(facts: &Facts<'_>, moved: &Move) -> Option<Finding> {
    let pod = facts.snapshot.pod(moved.pod);
    if pod.node != Some(moved.from) || pod.phase.is_finished() {
        let text = format!("does not stand on {}", facts.snapshot.node_name(moved.from));
        return Some(about(Check::WrongSource, moved.pod, text));
    }
    pod.terminating.then(|| about(Check::MovedTerminating, moved.pod, "is terminating already"))
}

/// Evicted pods hold cards on a freed node and go elsewhere. What a cascade takes along is checked with the cascades.
fn has_to_move(facts: &Facts<'_>, moved: &Move) -> Option<Finding> {
    if moved.cascade {
        return None;
    }
    if !facts.freed.contains(&moved.from) {
        return Some(about(Check::NeedlessMove, moved.pod, "is evicted from a node that is kept"));
    }
    if facts.cards(moved.pod) == 0 {
        return Some(about(Check::NeedlessMove, moved.pod, "is evicted and holds none of the resource"));
    }
    (moved.to == moved.from).then(|| about(Check::MovedToItself, moved.pod, "moves to the node it leaves"))
}

/// Evictions go node by node in the order of the freed nodes; what a cascade takes along stands in the same part of
/// the list as the eviction that causes it, so only evictions have a place of their own.
fn grouped_by_node(facts: &Facts<'_>) -> Option<Finding> {
    let place = |node: NodeIdx| facts.plan.freed.iter().position(|&freed| freed == node);
    let evicted: Vec<&Move> =
        facts.plan.moves.iter().filter(|m| !m.cascade && facts.freed.contains(&m.from)).collect();
    let wrong = evicted.windows(2).find(|pair| place(pair[0].from) > place(pair[1].from))?;
    let (first, second) = (wrong[0].from, wrong[1].from);
    let names = [first, second].map(|node| facts.snapshot.node_name(node));
    Some(about(
        Check::WrongOrder,
        wrong[1].pod,
        format!("moves after a pod of {}, not before, {} comes first", names[0], names[1]),
    ))
}
