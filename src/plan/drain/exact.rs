//! One set of nodes, emptied in whatever order and to whatever receivers the rules allow: for small sets.
//!
//! Depth first over the order of the nodes and the receivers of their pods. Rules that look beyond one node's room
//! decide at the turn of each pod and once more when everything has moved; on the way only node classes and amounts
//! do, since a mate that comes later may satisfy them.
//!
//! May import: snapshot, filter, plan

use super::Drain;
use crate::filter::{Checkpoint, Prepared, SchedulerRules, State};
use crate::plan::disruption::Disruption;
use crate::plan::problem::Problem;
use crate::plan::types::{Move, Plan};
use crate::snapshot::model::{NodeIdx, PodIdx};

/// Looks at places; when they are used up, nothing is known.
#[derive(Debug)]
pub struct Tries(pub u64);

impl Tries {
    const fn spend(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

/// Empties sets of nodes, one after the other, each from the same state.
pub struct Exact<'p, 's> {
    drain: Drain<'p, 's>,
    receivers: Vec<NodeIdx>,
}

impl<'p, 's> Exact<'p, 's> {
    /// `state` is the live cluster, with room taken for pending pods.
    pub fn new(problem: &'p Problem<'s>, state: State<'s>) -> Self {
        let drain = Drain::new(problem, state);
        let receives = |&n: &NodeIdx| drain.receivers.free(n).is_some();
        let receivers = (0..problem.nodes.len()).map(NodeIdx::new).filter(receives).collect();
        Self { drain, receivers }
    }

    /// A plan that empties exactly `nodes`, if one is found. None is where pods on them are terminating.
    pub fn empty(&mut self, nodes: &[NodeIdx], tries: &mut Tries) -> Option<Plan> {
        let problem = self.drain.problem;
        if nodes.iter().any(|&node| !problem.node(node).leaving.is_empty()) {
            return None;
        }
        let start = self.drain.state.checkpoint();
        let receivers = self.receivers.iter().copied().filter(|n| !nodes.contains(n)).collect();
        let mut left = nodes.to_vec();
        let mut puzzle = Puzzle { drain: &mut self.drain, receivers, all: nodes, tries };
        let found = puzzle.next_node(&mut left);
        self.drain.state.rollback(start);
        self.drain.move_of.clear();
        let mut plan = std::mem::replace(&mut self.drain.plan, Plan::empty(problem.resource));
        let mut account = Disruption::new(problem.snapshot, problem.resource);
        plan.moves.iter().for_each(|m| account.add(m.pod));
        plan.disruption = account.totals();
        found.then_some(plan)
    }
}

struct Puzzle<'d, 'p, 's, 't> {
    drain: &'d mut Drain<'p, 's>,
    receivers: Vec<NodeIdx>,
    /// The whole set: a cascade pod whose node is among them does not stay home.
    all: &'t [NodeIdx],
    tries: &'t mut Tries,
}

impl Puzzle<'_, '_, '_, '_> {
    fn next_node(&mut self, left: &mut Vec<NodeIdx>) -> bool {
        if left.is_empty() {
            return self.drain.holds_as_planned();
        }
        let order_matters = self.all.iter().any(|&node| {
            self.drain
                .problem
                .node(node)
                .victims
                .iter()
                .any(|&pod| self.drain.problem.unit_of(pod).is_some() || !self.drain.is_plain(pod))
        });
        let choices = if order_matters { left.len() } else { 1 };
        for at in 0..choices {
            let node = left.remove(at);
            let pods = self.drain.to_place(node);
            let start = self.drain.state.checkpoint();
            for &pod in &pods {
                self.drain.lift(pod);
            }
            let mut moves = Vec::with_capacity(pods.len());
            if self.next_pod(node, &pods, &mut moves, start, left) {
                return true;
            }
            self.drain.state.rollback(start);
            left.insert(at, node);
            if self.tries.0 == 0 {
                return false;
            }
        }
        false
    }

    fn next_pod(
        &mut self,
        node: NodeIdx,
        pods: &[PodIdx],
        moves: &mut Vec<Move>,
        start: Checkpoint,
        left: &mut Vec<NodeIdx>,
    ) -> bool {
        let Some(&pod) = pods.get(moves.len()) else { return self.turn(node, moves, start, left) };
        let problem = self.drain.problem;
        let incoming = problem.replacement[pod.at()];
        let Some(from) = problem.snapshot.pod(pod).node else { return false };
        let cascade = if let Some(&at) = self.drain.move_of.get(&pod) {
            self.drain.plan.moves[at].cascade
        } else {
            let takes =
                |m: &Move| !m.cascade && problem.unit_of(m.pod).is_some_and(|unit| unit.contains(&pod));
            from != node || moves.iter().any(takes)
        };
        let cards =
            |spec| problem.snapshot.requests(problem.snapshot.spec(spec).requests).get(problem.resource);
        let home = cascade
            && problem.node(from).takes_back
            && (cards(incoming.spec) == 0 || !self.all.contains(&from));
        if !home && cards(incoming.spec) == 0 {
            // Pods without cards go nowhere but home.
            return false;
        }
        let placed = || self.drain.plan.moves.iter().chain(moves.iter());
        let lifted = || placed().map(|m| m.pod).chain(pods[moves.len()..].iter().copied());
        let free = |n: NodeIdx| -> i64 {
            let taken: i64 = placed().filter(|m| m.to == n).map(|m| cards(m.spec)).sum();
            let left = lifted().filter(|&p| problem.snapshot.pod(p).node == Some(n));
            problem.node(n).free + left.map(|p| problem.cards(p)).sum::<i64>() - taken
        };
        // Whoever may come back does so where that works.
        let mut places: Vec<(bool, bool, i64, NodeIdx)> = Vec::new();
        {
            let prepared = Prepared::new(&self.drain.state, incoming);
            let plain = prepared.is_plain();
            let homes = home.then_some(from);
            for n in homes.into_iter().chain(self.receivers.iter().copied().filter(|&n| !home || n != from)) {
                if !self.tries.spend() {
                    return false;
                }
                if n != from && free(n) < cards(incoming.spec) {
                    // Room that is kept for others.
                    continue;
                }
                let fits = prepared.fits(n);
                if fits || !plain && prepared.has_room(n) {
                    let rules = self.drain.state.rules_of(incoming.spec);
                    let rules = rules.unwrap_or(SchedulerRules::Kube);
                    let left = self.drain.state.left(rules, n, problem.resource);
                    places.push((!(home && n == from), !fits, left, n));
                }
            }
        }
        places.sort_unstable();
        for (.., to) in places {
            let here = self.drain.state.checkpoint();
            self.drain.state.place(incoming, to);
            moves.push(Move { pod, from, to, spec: incoming.spec, cascade, gated: false });
            if self.next_pod(node, pods, moves, start, left) {
                return true;
            }
            moves.pop();
            self.drain.state.rollback(here);
            if self.tries.0 == 0 {
                return false;
            }
        }
        false
    }

    /// All pods of the node have a place: goes through their turns and on to the next node. Restores the state of the
    /// caller when it fails.
    fn turn(&mut self, node: NodeIdx, moves: &[Move], start: Checkpoint, left: &mut Vec<NodeIdx>) -> bool {
        let plan = self.drain.plan.clone();
        let move_of = self.drain.move_of.clone();
        self.drain.state.rollback(start);
        let mut moves = moves.to_vec();
        if self.drain.take_turns(&mut moves).is_ok() {
            for &m in &moves {
                if let Some(&at) = self.drain.move_of.get(&m.pod) {
                    self.drain.plan.moves[at].to = m.to;
                } else {
                    self.drain.move_of.insert(m.pod, self.drain.plan.moves.len());
                    self.drain.plan.moves.push(m);
                }
            }
            self.drain.plan.freed.push(node);
            if self.next_node(left) {
                return true;
            }
        }
        self.drain.plan = plan;
        self.drain.move_of = move_of;
        self.drain.state.rollback(start);
        for m in &moves {
            self.drain.lift(m.pod);
        }
        for m in &moves {
            self.drain.state.place(self.drain.problem.replacement[m.pod.at()], m.to);
        }
        false
    }
}
