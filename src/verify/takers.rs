//! Waiting groups that fit only once the victims have left: a receiver that they could use is enough for them and for
//! what the plan means for it.
//!
//! May import: snapshot, filter, `plan::types`, `plan::request`

use std::collections::BTreeMap;

use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use super::waiting::{Hopeless, goes_with, how_many, incoming, listed, needed, turns};
use crate::filter::{Incoming, Prepared, State};
use crate::snapshot::model::{NodeIdx, PodIdx};

/// All checks of this file. `state` is the live cluster, with the rooms taken that do not depend on the freed nodes, and
/// again afterwards.
pub(super) fn check(facts: &Facts<'_>, state: &mut State<'_>, findings: &mut Vec<Finding>) {
    if facts.plan.moves.is_empty() {
        return;
    }
    let start = state.checkpoint();
    for moved in &facts.plan.moves {
        state.remove(moved.pod);
    }
    let (listed, coming) = (listed(facts), coming(facts));
    let mut hopeless = Hopeless::new();
    for turn in turns(facts) {
        let pods: Vec<PodIdx> = turn.iter().copied().filter(|pod| !listed.contains_key(pod)).collect();
        let Some(&first) = pods.first() else { continue };
        let least = if pods.len() < turn.len() { 1 } else { needed(facts, first).max(1) };
        if how_many(facts, state, &pods, least, &mut hopeless) < least {
            continue;
        }
        for (&node, coming) in &coming {
            if !is_enough(facts, state, &pods, node, coming) {
                let node = facts.snapshot.node_name(node);
                let text = format!("fits once the victims have left, and {node} is not enough for both");
                findings.push(Finding::new(Check::TakerInTheWay, Subject::Pod(first), text));
            }
        }
    }
    state.rollback(start);
}

/// What the plan means for each receiver.
fn coming(facts: &Facts<'_>) -> BTreeMap<NodeIdx, Vec<Incoming>> {
    let mut all: BTreeMap<NodeIdx, Vec<Incoming>> = BTreeMap::new();
    for moved in facts.plan.moves.iter().filter(|m| m.to != m.from) {
        all.entry(moved.to).or_default().push(Incoming::replacement(facts.snapshot, moved.pod));
    }
    // The other rooms are taken from the start.
    for room in facts.plan.reserved.iter().filter(|room| goes_with(facts, room).is_some()) {
        all.entry(room.node).or_default().push(incoming(facts, room));
    }
    all
}

/// As many of the group as the node holds, and then everything that the plan means for it.
fn is_enough(
    facts: &Facts<'_>,
    state: &mut State<'_>,
    pods: &[PodIdx],
    node: NodeIdx,
    coming: &[Incoming],
) -> bool {
    let start = state.checkpoint();
    let alone = fit_in_turn(state, node, coming);
    for &pod in pods {
        let incoming = Incoming::pending(facts.snapshot, pod);
        if state.rules_of(incoming.spec).is_some() && Prepared::new(state, incoming).fits(node) {
            state.place(incoming, node);
        }
    }
    let beside = fit_in_turn(state, node, coming);
    state.rollback(start);
    alone <= beside
}

/// How many of these pass on the node one after the other.
fn fit_in_turn(state: &mut State<'_>, node: NodeIdx, coming: &[Incoming]) -> usize {
    let start = state.checkpoint();
    let mut count = 0;
    for &incoming in coming {
        count += usize::from(Prepared::new(state, incoming).fits(node));
        state.place(incoming, node);
    }
    state.rollback(start);
    count
}
