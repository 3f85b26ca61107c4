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

use rustc_hash::{FxHashMap, FxHashSet};

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

/// Runs an algorithm until no taker stands in the way of its plan. It gets the task and the cluster at the start;
/// `problem` is left with the receivers that it may use.
pub fn beside<'s, R>(
    problem: &mut Problem<'s>,
    state: State<'s>,
    reserved: &[Reserved],
    mut algorithm: impl FnMut(&Problem<'s>, State<'s>) -> (Plan, R),
) -> ((Plan, R), Vec<Taker>) {
    let waiting = left_over(problem.snapshot, reserved);
    if waiting.is_empty() {
        return (algorithm(problem, state), Vec::new());
    }
    let mut kept_free: FxHashMap<NodeIdx, i64> = FxHashMap::default();
    loop {
        let outcome = algorithm(problem, state.clone());
        if outcome.0.is_empty() {
            return (outcome, Vec::new());
        }
        let mut after = state.clone();
        for m in &outcome.0.moves {
            after.remove(m.pod);
        }
        let receivers = receivers(&outcome.0);
        let (mut takers, mut blocked) = (Vec::new(), false);
        let mut hopeless: FxHashSet<SpecIdx> = FxHashSet::default();
        for gang in &waiting {
            if !fits(&mut after, problem.nodes.len(), gang, &mut hopeless) {
                continue;
            }
            let usable = |&node: &NodeIdx| gang.pods.iter().any(|&pod| accepts(&after, pod, node));
            let usable: Vec<NodeIdx> = receivers.iter().copied().filter(usable).collect();
            for &node in &usable {
                if let Err(cards) = takes(problem, &mut after, gang, node, &outcome.0) {
                    keep_free(problem, &mut kept_free, node, cards);
                    blocked = true;
                }
            }
            takers.push(Taker { pods: gang.pods.clone(), receivers: usable });
        }
        if !blocked {
            return (outcome, takers);
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

/// Keeps `cards` of the node free for takers; a node where that is not the matter receives nothing.
fn keep_free(problem: &mut Problem<'_>, kept: &mut FxHashMap<NodeIdx, i64>, node: NodeIdx, cards: i64) {
    let before = kept.get(&node).copied().unwrap_or(0);
    let facts = &mut problem.nodes[node.at()];
    if cards > before {
        facts.free -= cards - before;
        kept.insert(node, cards);
    } else {
        facts.role = match facts.role {
            Role::Candidate | Role::OnlyCandidate => Role::OnlyCandidate,
            Role::Stays | Role::Out => Role::Out,
        };
    }
}
