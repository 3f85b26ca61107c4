//! Drain, the baseline: the documented greedy.
//!
//! Rounds. Every node that can be emptied within the budgets and whose pods all find a receiver is scored on the plan
//! so far plus itself; the lowest weighted, min-max normalised sum wins; its moves are committed; repeat until no
//! candidate is left. Ties: name (the benefit is one whole node for every candidate).
//!
//! Cost: a round looks at the distinct vectors of added disruption, not at nodes, and tries to place the pods of a
//! handful of nodes: one per extreme of each dimension (which the normalisation needs) and the winner. A node that
//! fails for lack of room is never tried again, since room only shrinks; one that fails on affinity or spread is
//! tried again once something has moved.
//!
//! May import: snapshot, filter, plan

pub mod candidates;
pub mod exact;
pub mod realize;
pub mod receivers;
mod settle;
mod trial;
mod turns;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::filter::{Checkpoint, State};
use crate::plan::disruption::{Disruption, Load};
use crate::plan::kept::Kept;
use crate::plan::problem::{Problem, Role};
use crate::plan::types::{Dimensions, Move, Plan, Reserved};
use crate::snapshot::model::{GroupIdx, NodeIdx, OwnerIdx, PodIdx};

use candidates::{Candidates, extremes, score};
use receivers::{Receivers, emptying_cost};

/// What Drain came to.
#[derive(Debug)]
pub struct Outcome {
    /// The plan, possibly empty.
    pub plan: Plan,
    /// Why each candidate that stayed was not emptied, by node; `None` for freed nodes and non-candidates.
    pub rejected: Vec<Option<Kept>>,
}

/// A candidate's moves, tried and found to work.
#[derive(Clone, Debug)]
struct Placement {
    moves: Vec<Move>,
    /// Where the replacements of terminating pods of the node go.
    reserved: Vec<Reserved>,
}

/// Candidates with a pod of the group, by group: all in one piece.
#[derive(Debug, Default)]
struct NodesOfGroup {
    /// Where the nodes of each group begin, and where the last ones end.
    start: Vec<usize>,
    nodes: Vec<NodeIdx>,
}

impl NodesOfGroup {
    fn new(groups: usize, shares: &[Vec<(GroupIdx, Load)>]) -> Self {
        let pairs = || {
            let nodes = shares.iter().enumerate();
            nodes.flat_map(|(at, shares)| shares.iter().map(move |&(group, _)| (group.at(), at)))
        };
        let mut start = vec![0; groups + 2];
        for (group, _) in pairs() {
            start[group + 2] += 1;
        }
        for at in 2..start.len() {
            start[at] += start[at - 1];
        }
        let mut nodes = vec![NodeIdx::UNSET; start[groups + 1]];
        for (group, at) in pairs() {
            nodes[start[group + 1]] = NodeIdx::new(at);
            start[group + 1] += 1;
        }
        Self { start, nodes }
    }

    fn of(&self, group: GroupIdx) -> &[NodeIdx] {
        &self.nodes[self.start[group.at()]..self.start[group.at() + 1]]
    }
}

struct Drain<'p, 's> {
    problem: &'p Problem<'s>,
    state: State<'s>,
    /// The state before anything moves.
    origin: Checkpoint,
    costs: Disruption,
    candidates: Candidates,
    receivers: Receivers,
    /// What emptying a node moves, by node and group; empty for nodes that are no candidates.
    shares: Vec<Vec<(GroupIdx, Load)>>,
    nodes_of_group: NodesOfGroup,
    /// Sum moved so far, by cap.
    moved: Vec<i64>,
    /// Pods evicted so far, by owner.
    evictions: FxHashMap<OwnerIdx, i64>,
    /// Index into `plan.moves`, by pod.
    move_of: FxHashMap<PodIdx, usize>,
    plan: Plan,
    rejected: Vec<Option<Kept>>,
    /// Moves of the plan that later ones may turn a rule against.
    unsettled: Vec<PodIdx>,
    /// Nodes by class.
    of_class: Vec<Vec<NodeIdx>>,
    /// Candidates that failed in this round for a reason that later moves may lift.
    postponed: Vec<NodeIdx>,
    /// Nodes that shall be emptied, so that they receive nothing, by node.
    wished: Vec<bool>,
    /// Receivers to try first.
    places: FxHashMap<PodIdx, NodeIdx>,
}

/// Runs Drain on a task. `state` is the live cluster, with room taken for pending pods.
pub fn drain<'s>(problem: &Problem<'s>, state: State<'s>) -> Outcome {
    let mut drain = Drain::new(problem, state);
    drain.go_on();
    drain.settle()
}

impl<'p, 's> Drain<'p, 's> {
    fn new(problem: &'p Problem<'s>, state: State<'s>) -> Self {
        let mut drain = Self {
            problem,
            origin: state.checkpoint(),
            state,
            costs: Disruption::new(problem.snapshot, problem.resource),
            candidates: Candidates::new(problem.nodes.len()),
            receivers: Receivers::new(problem.nodes.len()),
            shares: vec![Vec::new(); problem.nodes.len()],
            nodes_of_group: NodesOfGroup::default(),
            moved: vec![0; problem.caps.len()],
            evictions: FxHashMap::default(),
            move_of: FxHashMap::default(),
            plan: Plan::empty(problem.resource),
            rejected: vec![None; problem.nodes.len()],
            unsettled: Vec::new(),
            of_class: vec![Vec::new(); problem.snapshot.node_classes.len()],
            postponed: Vec::new(),
            wished: vec![false; problem.nodes.len()],
            places: FxHashMap::default(),
        };
        drain.rate_all();
        drain
    }

    /// Rates every node for the first time: all at once, since sorting is cheaper than filling trees one by one.
    fn rate_all(&mut self) {
        let nodes = self.problem.nodes.len();
        let (mut candidates, mut receivers) = (Vec::with_capacity(nodes), Vec::with_capacity(nodes));
        for (at, facts) in self.problem.nodes.iter().enumerate() {
            let node = NodeIdx::new(at);
            self.of_class[self.problem.snapshot.node(node).class.at()].push(node);
            match facts.role {
                Role::Out => {}
                Role::Stays => receivers.push((node, facts.free, None)),
                Role::Candidate | Role::OnlyCandidate => {
                    let shares = self.shares_of(node);
                    let added = self.costs.delta(&shares);
                    self.shares[at] = shares;
                    candidates.push((node, added));
                    if facts.role == Role::Candidate {
                        receivers.push((node, facts.free, Some(emptying_cost(added))));
                    }
                }
            }
        }
        self.candidates = Candidates::of(nodes, candidates);
        self.receivers = Receivers::of(nodes, receivers);
        self.nodes_of_group = NodesOfGroup::new(self.problem.snapshot.groups.len(), &self.shares);
    }

    /// Rounds until no candidate is left.
    fn go_on(&mut self) {
        while self.problem.max_freed.is_none_or(|most| self.plan.freed.len() < most) {
            let Some((node, placement)) = self.choose() else { break };
            self.commit(node, placement);
        }
        self.plan.disruption = self.costs.totals();
    }

    /// Pods that emptying the node would disturb and that the plan does not disturb yet, with their whole units.
    fn disturbed(&self, node: NodeIdx) -> Vec<PodIdx> {
        let victims = &self.problem.node(node).victims;
        let (mut pods, mut shared) = (Vec::with_capacity(victims.len()), false);
        for &victim in victims {
            if self.move_of.contains_key(&victim) {
                continue;
            }
            match self.problem.unit_of(victim) {
                None => pods.push(victim),
                Some(unit) => {
                    shared = true;
                    pods.extend(unit.iter().filter(|p| !self.move_of.contains_key(p)));
                }
            }
        }
        // Two victims of one unit bring the same pods.
        if shared && pods.len() > 1 {
            let mut seen = FxHashSet::default();
            pods.retain(|&p| seen.insert(p));
        }
        pods
    }

    fn shares_of(&self, node: NodeIdx) -> Vec<(GroupIdx, Load)> {
        self.costs.loads_of(self.disturbed(node))
    }

    /// Works out anew what emptying the node adds, and tells candidates and receivers.
    fn rate(&mut self, node: NodeIdx) {
        let shares = self.shares_of(node);
        let added = self.costs.delta(&shares);
        self.shares[node.at()] = shares;
        self.candidates.set(node, added);
        if self.problem.node(node).role == Role::Candidate && !self.wished[node.at()] {
            let free = self.receivers.free(node).unwrap_or(self.problem.node(node).free);
            self.receivers.set_drainable(node, free, emptying_cost(added));
        }
    }

    /// Works out anew what a node adds that is still a candidate, or no longer one but may be a receiver.
    fn rate_again(&mut self, node: NodeIdx) {
        if self.candidates.contains(node) {
            self.rate(node);
        } else if let Some(free) = self.receivers.drainable_free(node) {
            let added = self.costs.delta(&self.shares_of(node));
            self.receivers.set_drainable(node, free, emptying_cost(added));
        }
    }

    /// The winner of a round and its moves.
    fn choose(&mut self) -> Option<(NodeIdx, Placement)> {
        let mut tried: FxHashMap<NodeIdx, Placement> = FxHashMap::default();
        let winner = loop {
            let vectors: Vec<Dimensions> = self.candidates.vectors().collect();
            if vectors.is_empty() {
                break None;
            }
            let (low, high) = extremes(&vectors);
            if !self.extremes_hold(&vectors, &low, &high, &mut tried) {
                continue;
            }
            let weights = &self.problem.weights;
            let scores: Vec<i64> = vectors.iter().map(|&v| score(v, &low, &high, weights)).collect();
            let best = scores.iter().min().copied();
            let mut tied: Vec<_> = vectors
                .iter()
                .zip(&scores)
                .filter(|(_, s)| Some(**s) == best)
                .flat_map(|(&v, _)| self.candidates.bucket(v))
                .collect();
            tied.sort_unstable();
            let count = vectors.len();
            let mut found = None;
            for node in tied {
                if self.works(node, &mut tried) {
                    found = Some(node);
                    break;
                }
                // A bucket that is gone may change the extremes, and with them every score.
                if self.candidates.vectors().count() != count {
                    break;
                }
            }
            if let Some(node) = found {
                break tried.remove(&node).map(|placement| (node, placement));
            }
        };
        for node in std::mem::take(&mut self.postponed) {
            if winner.as_ref().is_none_or(|(n, _)| *n != node) {
                self.rate(node);
            }
        }
        winner
    }

    /// True when each extreme of each dimension belongs to a candidate whose pods find receivers. Candidates that
    /// fail on the way are dropped; false when a whole bucket went.
    fn extremes_hold(
        &mut self,
        vectors: &[Dimensions],
        low: &[i64; 5],
        high: &[i64; 5],
        tried: &mut FxHashMap<NodeIdx, Placement>,
    ) -> bool {
        let mut holds: FxHashSet<Dimensions> = FxHashSet::default();
        for at in 0..5 {
            if low[at] == high[at] {
                continue;
            }
            for extreme in [low[at], high[at]] {
                let here = || vectors.iter().copied().filter(move |v| v.array()[at] == extreme);
                if here().any(|v| holds.contains(&v)) {
                    continue;
                }
                let mut witness = None;
                'buckets: for vector in here() {
                    let bucket: Vec<_> = self.candidates.bucket(vector).collect();
                    for node in bucket {
                        if self.works(node, tried) {
                            witness = Some(vector);
                            break 'buckets;
                        }
                    }
                }
                match witness {
                    Some(vector) => {
                        holds.insert(vector);
                    }
                    None => return false,
                }
            }
        }
        true
    }

    /// True when all pods of the candidate find receivers within the budgets. If not, it is dropped.
    fn works(&mut self, node: NodeIdx, tried: &mut FxHashMap<NodeIdx, Placement>) -> bool {
        if tried.contains_key(&node) {
            return true;
        }
        match self.attempt(node) {
            Ok(placement) => {
                tried.insert(node, placement);
                true
            }
            Err(rejection) => {
                self.candidates.remove(node);
                if rejection.may_pass_later {
                    self.postponed.push(node);
                } else if let Some(free) = self.receivers.drainable_free(node) {
                    // Room and budgets only shrink: what fails on them now is certain to stay occupied.
                    self.receivers.set_stays(node, free);
                }
                self.rejected[node.at()] = Some(rejection.reason);
                false
            }
        }
    }

    /// Makes the moves of a node part of the plan.
    fn commit(&mut self, node: NodeIdx, placement: Placement) {
        let shares = std::mem::take(&mut self.shares[node.at()]);
        for &(group, load) in &shares {
            self.costs.add_load(group, load);
        }
        self.candidates.remove(node);
        self.receivers.remove(node);
        self.rejected[node.at()] = None;
        let mut received = Vec::new();
        for m in &placement.moves {
            if self.may_turn(m.pod) && !self.move_of.contains_key(&m.pod) {
                self.unsettled.push(m.pod);
            }
            if m.to != m.from {
                received.push((m.to, self.problem.need(m)));
                if m.from != node && !self.move_of.contains_key(&m.pod) {
                    self.receivers.add_free(m.from, self.problem.cards(m.pod));
                }
            }
            self.apply(m);
            self.charge_caps(m.pod);
        }
        for r in placement.reserved {
            self.state.place(self.problem.replacement[r.pod.at()], r.node);
            received.push((r.node, self.problem.need_of(r.pod)));
            self.plan.reserved.push(r);
        }
        for m in placement.moves {
            if let Some(&at) = self.move_of.get(&m.pod) {
                self.plan.moves[at].to = m.to;
            } else {
                if let (Some(owner), false) = (self.problem.snapshot.pod(m.pod).owner, m.cascade) {
                    *self.evictions.entry(owner).or_default() += 1;
                }
                self.move_of.insert(m.pod, self.plan.moves.len());
                self.plan.moves.push(m);
            }
        }
        self.plan.freed.push(node);
        for (receiver, cards) in received {
            let free = self.receivers.free(receiver).unwrap_or(0) - cards;
            self.candidates.remove(receiver);
            self.receivers.set_stays(receiver, free);
        }
        let mut again: Vec<NodeIdx> =
            shares.iter().flat_map(|&(group, _)| self.nodes_of_group.of(group)).copied().collect();
        again.sort_unstable();
        again.dedup();
        for other in again {
            self.rate_again(other);
        }
    }
}
