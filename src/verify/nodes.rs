//! Checks of the freed nodes and of the receivers.
//!
//! May import: snapshot, `plan::types`, `plan::request`

use std::collections::BTreeSet;

use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use super::scope;
use crate::plan::types::Move;
use crate::snapshot::model::NodeIdx;

/// All checks of this file.
pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    findings.extend(something_is_freed(facts));
    findings.extend(freed_once(facts));
    for &node in &facts.freed {
        let fault = offers_and_holds(facts, node)
            .or_else(|| in_scope(facts, node))
            .or_else(|| may_be_emptied(facts, node));
        findings.extend(fault);
    }
    for moved in &facts.plan.moves {
        findings.extend(receives(facts, moved));
    }
}

fn about(check: Check, node: NodeIdx, text: impl Into<String>) -> Finding {
    Finding::new(check, Subject::Node(node), text)
}

fn something_is_freed(facts: &Facts<'_>) -> Option<Finding> {
    let moves = facts.plan.moves.len();
    (facts.freed.is_empty() && moves > 0).then(|| {
        Finding::new(Check::NothingFreed, Subject::Plan, format!("{moves} pods move and no node is freed"))
    })
}

fn freed_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let again = facts.plan.freed.iter().filter(|node| !seen.insert(**node));
    again.map(|&node| about(Check::FreedTwice, node, "is listed twice")).collect()
}

fn offers_and_holds(facts: &Facts<'_>, node: NodeIdx) -> Option<Finding> {
    if facts.provides(node) <= 0 {
        return Some(about(Check::FreedProvidesNothing, node, "offers none of the resource"));
    }
    if facts.holders(node).is_empty() {
        return Some(about(Check::FreedIdle, node, "holds none of the resource already"));
    }
    facts
        .all_terminating(node)
        .then(|| about(Check::FreedEmptying, node, "is emptied by terminating pods alone"))
}

fn in_scope(facts: &Facts<'_>, node: NodeIdx) -> Option<Finding> {
    (!scope::node_in_scope(facts, node))
        .then(|| about(Check::FreedOutOfScope, node, "is out of the scope of nodes"))
}

/// Not ready: never; cordoned only where the scope's include selects it; never a node that goes away by itself.
fn may_be_emptied(facts: &Facts<'_>, node: NodeIdx) -> Option<Finding> {
    if !facts.is_ready(node) {
        return Some(about(Check::FreedNotReady, node, "is not ready"));
    }
    if facts.leaving(node) {
        return Some(about(Check::FreedLeaving, node, "goes away by itself"));
    }
    (facts.snapshot.node(node).unschedulable && !scope::node_is_included(facts, node))
        .then(|| about(Check::FreedCordoned, node, "is cordoned, and scope.nodes.include does not select it"))
}

/// Receivers are occupied nodes that stay occupied. A pod without cards needs no node that holds some, and may come
/// back to its own node even if that is emptied of the resource.
fn receives(facts: &Facts<'_>, moved: &Move) -> Option<Finding> {
    let node = moved.to;
    let coming = facts.snapshot.requests(facts.snapshot.spec(moved.spec).requests);
    let cardless = facts.cards(moved.pod) == 0 && coming.get(facts.plan.resource) == 0;
    if facts.freed.contains(&node) && !(cardless && moved.to == moved.from) {
        return Some(about(Check::ReceiverFreed, node, "receives a pod and is freed"));
    }
    if !facts.is_ready(node) {
        return Some(about(Check::ReceiverNotReady, node, "receives a pod and is not ready"));
    }
    // What comes back to its own node does not fill it.
    if facts.leaving(node) || (moved.to != moved.from && facts.may_leave(node)) {
        return Some(about(Check::ReceiverLeaving, node, "receives a pod and may go away"));
    }
    if facts.snapshot.node(node).unschedulable {
        return Some(about(Check::ReceiverCordoned, node, "receives a pod and is cordoned"));
    }
    if cardless {
        return None;
    }
    if facts.provides(node) <= 0 {
        return Some(about(Check::ReceiverProvidesNothing, node, "receives cards and offers none"));
    }
    if facts.holders(node).is_empty() {
        return Some(about(Check::ReceiverIdle, node, "receives cards and is idle: nothing is gained"));
    }
    facts
        .all_terminating(node)
        .then(|| about(Check::ReceiverEmptying, node, "receives cards and is being emptied by itself"))
}
