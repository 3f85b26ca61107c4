//! Takers: waiting gangs that fit only once the victims of a plan have left.
//!
//! Nobody keeps them from room that the plan means for its replacements: they are tried as soon as victims leave. So
//! a plan chooses no receiver that is not enough for both, and says which ones they could use. [`beside`] puts this
//! around any algorithm: it asks for a plan, keeps the room of the takers that stand in its way, and asks again.
//!
//! What a taker could use of a receiver is looked at with all victims gone and no replacement there, each taker by
//! itself: more than it will ever have, so nothing is overlooked.
//!
//! May import: snapshot, filter, plan

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::pending::{Turn, left_over};
use super::problem::{Problem, Role};
use super::types::{Plan, Reserved};
use crate::filter::{Incoming, Prepared, State};
use crate::snapshot::model::{NodeIdx, PodIdx, SpecIdx};

/// A waiting gang that fits once the victims have left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taker {
    /// Its pods that have no room now, in the order in which they are tried.
    pub pods: Vec<PodIdx>,
    /// Receivers of the plan that it could use, by name.
    pub receivers: Vec<NodeIdx>,
}

/// What a receiver keeps for a taker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// The receiver.
    pub node: NodeIdx,
    /// Cards kept free; `None` = it receives nothing, since cards are not what there is too little of.
    pub cards: Option<i64>,
    /// The first pod of the gang.
    pub taker: PodIdx,
}

/// What came of an algorithm beside the takers.
#[derive(Debug)]
pub struct Beside<R> {
    /// Its plan.
    pub plan: Plan,
    /// What else it says.
    pub rest: R,
    /// Gangs that fit once the victims of the plan have left.
    pub takers: Vec<Taker>,
    /// What receivers had to keep for gangs that stood in the way of other plans, by name.
    pub withheld: Vec<Withheld>,
}

/// Runs an algorithm until no taker stands in the way of its plan. It gets the task and the cluster at the start;
/// `problem` is left with the receivers that it may use.
pub fn beside<'s, R>(
    problem: &mut Problem<'s>,
    state: State<'s>,
    reserved: &[Reserved],
    mut algorithm: impl FnMut(&Problem<'s>, State<'s>) -> (Plan, R),
) -> Beside<R> {
    let waiting = left_over(problem.snapshot, reserved);
    if waiting.is_empty() {
        let (plan, rest) = algorithm(problem, state);
        return Beside { plan, rest, takers: Vec::new(), withheld: Vec::new() };
    }
    let mut withheld: BTreeMap<NodeIdx, Withheld> = BTreeMap::new();
    loop {
        let (plan, rest) = algorithm(problem, state.clone());
        let mut after = state.clone();
        for m in &plan.moves {
            after.remove(m.pod);
        }
        let receivers = receivers(&plan);
        let (mut takers, mut blocked) = (Vec::new(), false);
        let mut hopeless: FxHashSet<SpecIdx> = FxHashSet::default();
        for gang in waiting.iter().filter(|_| !plan.is_empty()) {
            if !fits(&mut after, problem.nodes.len(), gang, &mut hopeless) {
                continue;
            }
            let usable = |&node: &NodeIdx| gang.pods.iter().any(|&pod| accepts(&after, pod, node));
            let usable: Vec<NodeIdx> = receivers.iter().copied().filter(usable).collect();
            for &node in &usable {
                if let Err(cards) = takes(problem, &mut after, gang, node, &plan) {
                    keep_free(problem, &mut withheld, node, cards, gang.pods[0]);
                    blocked = true;
                }
            }
            takers.push(Taker { pods: gang.pods.clone(), receivers: usable });
        }
        if !blocked {
            return Beside { plan, rest, takers, withheld: withheld.into_values().collect() };
        }
    }
}

/// Nodes that get a pod of the plan, by name.
fn receivers(plan: &Plan) -> Vec<NodeIdx> {
    let moves = plan.moves.iter().filter(|m| m.to != m.from).map(|m| m.to);
    let replacements = plan.reserved.iter().filter(|r| r.replaces).map(|r| r.node);
    let mut nodes: Vec<NodeIdx> = moves.chain(replacements).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn accepts(state: &State<'_>, pod: PodIdx, node: NodeIdx) -> bool {
    Prepared::new(state, Incoming::pending(state.snapshot(), pod)).fits(node)
}

/// True when enough of the gang finds room. The state is as before afterwards. `hopeless` are specs that no node takes
/// even with nobody of the waiting pods there.
fn fits(state: &mut State<'_>, nodes: usize, gang: &Turn, hopeless: &mut FxHashSet<SpecIdx>) -> bool {
    let snapshot = state.snapshot();
    let start = state.checkpoint();
    let mut full: FxHashSet<SpecIdx> = FxHashSet::default();
    let mut placed = 0;
    for &pod in &gang.pods {
        let (spec, incoming) = (snapshot.pod(pod).spec, Incoming::pending(snapshot, pod));
        if full.contains(&spec) || hopeless.contains(&spec) || state.rules_of(spec).is_none() {
            continue;
        }
        let (node, plain) = {
            let prepared = Prepared::new(state, incoming);
            ((0..nodes).map(NodeIdx::new).find(|&node| prepared.fits(node)), prepared.is_plain())
        };
        if let Some(node) = node {
            state.place(incoming, node);
            placed += 1;
        } else if plain {
            full.insert(spec);
            if placed == 0 {
                hopeless.insert(spec);
            }
        }
    }
    state.rollback(start);
    placed >= gang.needed
}

/// Puts as much of the gang on the node as it holds, then what the plan means for it. `Err` when not all of that
/// fits, with the cards that the gang took.
fn takes(
    problem: &Problem<'_>,
    state: &mut State<'_>,
    gang: &Turn,
    node: NodeIdx,
    plan: &Plan,
) -> Result<(), i64> {
    let snapshot = problem.snapshot;
    let moves = plan.moves.iter().filter(|m| m.to == node && m.to != m.from).map(|m| m.pod);
    let replacements = plan.reserved.iter().filter(|r| r.replaces && r.node == node).map(|r| r.pod);
    let coming: Vec<Incoming> = moves.chain(replacements).map(|pod| problem.replacement[pod.at()]).collect();
    let start = state.checkpoint();
    let alone = who_fits(state, node, &coming);
    let mut cards = 0;
    for &pod in &gang.pods {
        if accepts(state, pod, node) {
            state.place(Incoming::pending(snapshot, pod), node);
            cards += snapshot.requests(snapshot.spec_of(pod).requests).get(problem.resource);
        }
    }
    let beside = who_fits(state, node, &coming);
    state.rollback(start);
    if alone == beside { Ok(()) } else { Err(cards) }
}

/// Which of these pods pass on the node, one after the other. The state is as before afterwards.
fn who_fits(state: &mut State<'_>, node: NodeIdx, coming: &[Incoming]) -> Vec<bool> {
    let start = state.checkpoint();
    let mut fits = Vec::with_capacity(coming.len());
    for &incoming in coming {
        fits.push(Prepared::new(state, incoming).fits(node));
        state.place(incoming, node);
    }
    state.rollback(start);
    fits
}

/// Keeps `cards` of the node free for a taker; a node where that is not enough receives nothing.
fn keep_free(
    problem: &mut Problem<'_>,
    withheld: &mut BTreeMap<NodeIdx, Withheld>,
    node: NodeIdx,
    cards: i64,
    taker: PodIdx,
) {
    let before = withheld.get(&node).map_or(Some(0), |w| w.cards);
    let facts = &mut problem.nodes[node.at()];
    let kept = before.filter(|&before| cards > before).map(|before| {
        facts.free -= cards - before;
        cards
    });
    if kept.is_none() {
        facts.role = match facts.role {
            Role::Candidate | Role::OnlyCandidate => Role::OnlyCandidate,
            Role::Stays | Role::Out => Role::Out,
        };
    }
    withheld.insert(node, Withheld { node, cards: kept, taker });
}
