//! Pods that wait: those that the scheduler could bind now get their room before anything moves.
//!
//! Highest priority first, then oldest, then name; the members of a gang together or not at all. A pod that could
//! be bound takes, of all nodes that pass, one that stays occupied anyway with the least left, so that it costs the
//! plan least; the scheduler may choose another, which the executor then sees. A Volcano pod with a nomination waits
//! for its node, so it takes its room there even before it fits (kube's nominations are part of the Filters).
//!
//! May import: snapshot, filter, plan

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::filter::{Incoming, Prepared, SchedulerRules, State};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, NodeIdx, Phase, PodIdx, ResourceIdx, SpecIdx};

use super::kept::Kept;
use super::problem::{NodeFacts, Problem, Role};
use super::request::Request;
pub use super::types::Reserved;
use super::types::{Move, Plan};

/// Takes the room of waiting pods out of `state` and `nodes`. A node that will hold a waiting pod of the resource
/// is no longer a candidate.
pub fn reserve(
    snapshot: &Snapshot,
    resource: ResourceIdx,
    nodes: &mut [NodeFacts],
    state: &mut State<'_>,
) -> Vec<Reserved> {
    let mut reserved = Vec::new();
    let mut hopeless: FxHashSet<SpecIdx> = FxHashSet::default();
    for turn in turns(snapshot) {
        let start = (state.checkpoint(), reserved.len());
        let mut missing = 0;
        let mut full: FxHashSet<SpecIdx> = FxHashSet::default();
        for &pod in &turn.pods {
            let spec = snapshot.pod(pod).spec;
            let asked = hopeless.contains(&spec) || full.contains(&spec);
            let node = if asked { None } else { room_for(snapshot, resource, nodes, state, pod) };
            let Some(node) = node else {
                // Room only shrinks here, so what did not fit does not fit later, unless rules on other pods decide
                // or the gang gives its room back.
                if Prepared::new(state, Incoming::pending(snapshot, pod)).is_plain() {
                    full.insert(spec);
                }
                missing += 1;
                continue;
            };
            state.place(Incoming::pending(snapshot, pod), node);
            take(snapshot, resource, nodes, pod, node);
            reserved.push(Reserved { pod, node, replaces: false });
        }
        let coming = i64::try_from(turn.pods.len() - missing).unwrap_or(i64::MAX);
        let took_room = reserved.len() > start.1;
        if coming < turn.needed {
            state.rollback(start.0);
            for r in reserved.drain(start.1..).rev() {
                give_back(snapshot, resource, nodes, r.pod, r.node);
            }
        }
        if !took_room || reserved.len() > start.1 {
            hopeless.extend(full);
        }
    }
    for r in &reserved {
        if snapshot.requests(snapshot.spec_of(r.pod).requests).get(resource) > 0 {
            nodes[r.node.at()].keep(Kept::PendingPod { pod: r.pod });
        }
    }
    reserved
}

/// Pods that come together, and how many of them have to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The pods, in the order in which they are tried.
    pub pods: Vec<PodIdx>,
    /// So many of them have to find room; fewer get none.
    pub needed: i64,
}

/// Waiting pods that got no room: whole gangs, and members of gangs that are complete without them.
pub fn left_over(snapshot: &Snapshot, reserved: &[Reserved]) -> Vec<Turn> {
    let placed: FxHashSet<PodIdx> = reserved.iter().filter(|r| !r.replaces).map(|r| r.pod).collect();
    let rest = |turn: Turn| {
        let pods: Vec<PodIdx> = turn.pods.iter().copied().filter(|pod| !placed.contains(pod)).collect();
        let complete = pods.len() < turn.pods.len();
        (!pods.is_empty()).then_some(Turn { pods, needed: if complete { 1 } else { turn.needed.max(1) } })
    };
    turns(snapshot).into_iter().filter_map(rest).collect()
}

fn turns(snapshot: &Snapshot) -> Vec<Turn> {
    let mut waiting: Vec<PodIdx> =
        (0..snapshot.pods.len()).map(PodIdx::new).filter(|&p| waits(snapshot, p)).collect();
    waiting.sort_by_key(|&p| {
        let pod = snapshot.pod(p);
        let age = if pod.created == 0 { u32::MAX } else { pod.created };
        (Reverse(snapshot.spec_of(p).priority), age, p)
    });
    let mut seen: FxHashSet<GroupIdx> = FxHashSet::default();
    let mut turns = Vec::new();
    for &pod in &waiting {
        match snapshot.pod(pod).group {
            None => turns.push(Turn { pods: vec![pod], needed: 1 }),
            Some(group) if seen.insert(group) => {
                let pods =
                    waiting.iter().copied().filter(|&p| snapshot.pod(p).group == Some(group)).collect();
                let facts = &snapshot.groups[group.at()];
                let ready = facts.pods.iter().filter(|&&p| {
                    let pod = snapshot.pod(p);
                    pod.phase == Phase::Succeeded || (pod.stands() && !pod.terminating)
                });
                let ready = i64::try_from(ready.count()).unwrap_or(i64::MAX);
                turns.push(Turn { pods, needed: (facts.min_member - ready).max(0) });
            }
            Some(_) => {}
        }
    }
    turns
}

/// Sentences about nominated pods whose room a move of higher priority may take: kube-scheduler lets it (rulebook 1.15).
pub fn passed_over(problem: &Problem<'_>, plan: &Plan) -> Vec<String> {
    let snapshot = problem.snapshot;
    let with_room = |pod: PodIdx| plan.reserved.iter().any(|room| !room.replaces && room.pod == pod);
    let mut sentences = Vec::new();
    for pod in (0..snapshot.pods.len()).map(PodIdx::new) {
        let Some(node) = snapshot.pod(pod).nominated else { continue };
        if !waits(snapshot, pod) || with_room(pod) {
            continue;
        }
        let above =
            |m: &&Move| m.to == node && snapshot.spec(m.spec).priority > snapshot.spec_of(pod).priority;
        if let Some(m) = plan.moves.iter().find(above) {
            sentences.push(format!(
                "pod {} is nominated to {} and may lose its room there to the replacement of {}, whose priority is higher",
                snapshot.pod_key(pod),
                snapshot.node_name(node),
                snapshot.pod_key(m.pod),
            ));
        }
    }
    sentences
}

/// Sentences about waiting pods whose scheduler follows nobody knows whose rules: no room is kept for them.
pub fn without_rules(snapshot: &Snapshot, resource: ResourceIdx, request: &Request) -> Vec<String> {
    let declared = request.movability.declared_rules();
    let mut pods: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in (0..snapshot.pods.len()).map(PodIdx::new).filter(|&pod| waits(snapshot, pod)) {
        let spec = snapshot.spec_of(pod);
        let scheduler = snapshot.text(spec.scheduler);
        if snapshot.requests(spec.requests).get(resource) > 0 && declared.rules_of(scheduler).is_none() {
            *pods.entry(scheduler).or_default() += 1;
        }
    }
    let sentence = |(scheduler, count): (&str, usize)| {
        let plural = if count == 1 { "" } else { "s" };
        format!(
            "no room is kept for {count} waiting pod{plural} of scheduler {scheduler}, whose rules are unknown; \
             --scheduler-rules {scheduler}=kube declares them"
        )
    };
    pods.into_iter().map(sentence).collect()
}

/// Not bound, not gated, not leaving: its scheduler tries it.
fn waits(snapshot: &Snapshot, pod: PodIdx) -> bool {
    let p = snapshot.pod(pod);
    p.node.is_none()
        && !p.lost
        && p.phase == Phase::Pending
        && !p.terminating
        && snapshot.spec_of(pod).gates.is_empty()
        && snapshot.candidates.binary_search(&pod).is_err()
}

fn room_for(
    snapshot: &Snapshot,
    resource: ResourceIdx,
    nodes: &[NodeFacts],
    state: &State<'_>,
    pod: PodIdx,
) -> Option<NodeIdx> {
    let spec = snapshot.pod(pod).spec;
    let rules = state.rules_of(spec)?;
    let prepared = Prepared::new(state, Incoming::pending(snapshot, pod));
    if let Some(node) = snapshot.pod(pod).nominated
        && (rules == SchedulerRules::Volcano || prepared.fits(node))
    {
        return Some(node);
    }
    cheapest(snapshot.requests(snapshot.spec(spec).requests).get(resource), nodes, &prepared)
}

/// Of all nodes that pass, the one that costs a plan least: it stays occupied anyway, and least is left over.
pub(super) fn cheapest(need: i64, nodes: &[NodeFacts], prepared: &Prepared<'_>) -> Option<NodeIdx> {
    let order = |node: NodeIdx| {
        let facts = &nodes[node.at()];
        let kind = match facts.role {
            Role::Stays => 0,
            Role::Out if facts.used > 0 => 1,
            Role::Candidate | Role::OnlyCandidate => 2,
            Role::Out => 3,
        };
        (kind, facts.free - need, node)
    };
    (0..nodes.len()).map(NodeIdx::new).filter(|&node| prepared.fits(node)).min_by_key(|&node| order(node))
}

fn take(snapshot: &Snapshot, resource: ResourceIdx, nodes: &mut [NodeFacts], pod: PodIdx, node: NodeIdx) {
    nodes[node.at()].free -= snapshot.requests(snapshot.spec_of(pod).requests).get(resource);
}

fn give_back(
    snapshot: &Snapshot,
    resource: ResourceIdx,
    nodes: &mut [NodeFacts],
    pod: PodIdx,
    node: NodeIdx,
) {
    nodes[node.at()].free += snapshot.requests(snapshot.spec_of(pod).requests).get(resource);
}
