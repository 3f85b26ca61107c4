//! One candidate tried: a receiver for every pod that emptying the node would disturb.
//!
//! May import: snapshot, filter, plan

use crate::filter::{Checkpoint, Incoming, Prepared, State};
use crate::plan::kept::Kept;
use crate::plan::problem::Problem;
use crate::plan::types::{Move, Reserved};
use crate::snapshot::model::{NodeIdx, OwnerIdx, PodIdx};

use super::{Drain, Placement};

/// Where the rules on nodes leave no more than this, each is looked at by itself.
const FEW_NODES: usize = 64;

/// Why a candidate was dropped.
#[derive(Clone, Debug)]
pub(super) struct Rejection {
    pub reason: Kept,
    /// Failed on a rule that later moves may satisfy, not on room or budget, which only shrink.
    pub may_pass_later: bool,
}

impl Drain<'_, '_> {
    /// Tries to place everything that emptying `node` disturbs. The state is as before afterwards.
    pub(super) fn attempt(&mut self, node: NodeIdx) -> Result<Placement, Rejection> {
        self.within_budgets(node).map_err(|reason| Rejection { reason, may_pass_later: false })?;
        let start = self.state.checkpoint();
        let result = self.place_all(node).and_then(|placed| {
            let moves = self.check_rules(start, placed.moves)?;
            Ok(Placement { moves, ..placed })
        });
        self.state.rollback(start);
        result
    }

    fn within_budgets(&self, node: NodeIdx) -> Result<(), Kept> {
        let problem = self.problem;
        let added = self.costs.delta(&self.shares[node.at()]);
        if let Some(most) = problem.max_groups {
            let groups = self.costs.totals().affected_groups + added.affected_groups;
            if groups > most {
                return Err(Kept::GroupBudget { would_be: groups, limit: most });
            }
        }
        if !problem.caps.is_empty() {
            let pods = self.disturbed(node);
            for (cap, moved) in problem.caps.iter().zip(&self.moved) {
                let more: i64 = pods.iter().map(|&p| problem.snapshot.charged(p, cap.resource)).sum();
                if moved + more > cap.most {
                    let resource = cap.resource;
                    return Err(Kept::ResourceBudget { resource, would_be: moved + more, limit: cap.most });
                }
            }
        }
        self.within_retries(node)
    }

    /// Evictions count as failures with some controllers, which end their workload after a number of them.
    fn within_retries(&self, node: NodeIdx) -> Result<(), Kept> {
        let mut more: Vec<(OwnerIdx, i64)> = Vec::new();
        let mut taken_along: Vec<PodIdx> = Vec::new();
        for &pod in &self.problem.node(node).victims {
            let Some(owner) = self.problem.snapshot.pod(pod).owner else { continue };
            let Some(limit) = self.problem.evictions_tolerated(owner) else { continue };
            if self.move_of.contains_key(&pod) || taken_along.contains(&pod) {
                continue;
            }
            taken_along.extend(self.problem.unit_of(pod).unwrap_or_default());
            if more.iter().all(|&(o, _)| o != owner) {
                more.push((owner, self.evictions.get(&owner).copied().unwrap_or(0)));
            }
            for (_, count) in more.iter_mut().filter(|(o, _)| *o == owner) {
                *count += 1;
                if *count > limit {
                    return Err(Kept::RetryBudget { pod, would_be: *count, limit });
                }
            }
        }
        Ok(())
    }

    pub(super) fn charge_caps(&mut self, pod: PodIdx) {
        if self.move_of.contains_key(&pod) {
            return;
        }
        for (cap, moved) in self.problem.caps.iter().zip(&mut self.moved) {
            *moved += self.problem.snapshot.charged(pod, cap.resource);
        }
    }

    /// Pods to find a place for, hardest first: those disturbed anew, cascade pods that were to come back to this
    /// node, and terminating ones whose replacement would.
    pub(super) fn to_place(&self, node: NodeIdx) -> Vec<PodIdx> {
        let mut pods = self.disturbed(node);
        pods.extend(
            self.problem
                .node(node)
                .victims
                .iter()
                .filter(|v| self.move_of.get(v).is_some_and(|&at| self.plan.moves[at].to == node)),
        );
        pods.extend_from_slice(&self.problem.node(node).leaving);
        if pods.len() > self.problem.node(node).victims.len() {
            self.problem.sort_victims(&mut pods);
        }
        pods
    }

    /// A place for everything that emptying `node` disturbs. All of it is off the cluster while places are looked for.
    fn place_all(&mut self, node: NodeIdx) -> Result<Placement, Rejection> {
        let pods = self.to_place(node);
        for &pod in &pods {
            self.lift(pod);
        }
        let lifted = self.state.checkpoint();
        let homes = self.homes_left(node, &pods);
        self.place_each(node, &pods, &[]).or_else(|rejection| {
            if homes.is_empty() {
                return Err(rejection);
            }
            // Room that pods recreated along leave on nodes that stay may be what the others need.
            self.state.rollback(lifted);
            let (own, along): (Vec<PodIdx>, Vec<PodIdx>) =
                pods.iter().partition(|&&pod| self.problem.snapshot.pod(pod).node == Some(node));
            self.place_each(node, &[own, along].concat(), &homes).map_err(|_| rejection)
        })
    }

    /// Receivers that pods recreated along leave, with what they have free then.
    fn homes_left(&self, node: NodeIdx, pods: &[PodIdx]) -> Vec<(NodeIdx, i64)> {
        let mut homes: Vec<(NodeIdx, i64)> = Vec::new();
        for &pod in pods {
            let Some(home) = self.problem.snapshot.pod(pod).node else { continue };
            if home == node || self.move_of.contains_key(&pod) {
                continue;
            }
            let (Some(free), cards) = (self.receivers.free(home), self.problem.cards(pod)) else { continue };
            match homes.iter_mut().find(|(n, _)| *n == home) {
                Some((_, left)) => *left += cards,
                None => homes.push((home, free + cards)),
            }
        }
        homes
    }

    /// A receiver for each of the pods, in their order; those that a rule on other pods refuses come again after the
    /// rest. `homes` are receivers that count as left by pods that are recreated along.
    fn place_each(
        &mut self,
        node: NodeIdx,
        pods: &[PodIdx],
        homes: &[(NodeIdx, i64)],
    ) -> Result<Placement, Rejection> {
        let mut placement = Placement { moves: Vec::with_capacity(pods.len()), reserved: Vec::new() };
        // Of the pods on this node that a controller recreates together only the first is evicted.
        let mut taken_along: Vec<PodIdx> = Vec::new();
        let mut left = homes.to_vec();
        let mut waiting = pods.to_vec();
        while !waiting.is_empty() {
            let mut refused = Vec::new();
            for &pod in &waiting {
                if let Some(to) = self.place_one(node, pod, &left, &mut taken_along, &mut placement) {
                    self.count_room(&mut left, homes, pod, to);
                } else if self.is_plain(pod) {
                    return Err(self.nowhere(node, pod, &placement));
                } else {
                    refused.push(pod);
                }
            }
            if refused.len() == waiting.len() {
                return Err(self.nowhere(node, refused[0], &placement));
            }
            waiting = refused;
        }
        Ok(placement)
    }

    /// Why the node stays: the pod fits no receiver, or none once those before it have theirs.
    fn nowhere(&mut self, node: NodeIdx, pod: PodIdx, placement: &Placement) -> Rejection {
        let may_pass_later = !self.is_plain(pod);
        let incoming = self.problem.replacement[pod.at()];
        let need = self.problem.need_of(pod);
        let reason = if self.fits_alone(incoming, need, node, &placement.moves, &placement.reserved) {
            Kept::NoneLeft { pod }
        } else {
            Kept::NoReceiver { pod }
        };
        Rejection { reason, may_pass_later }
    }

    /// True when the pod would fit a receiver if those that were placed for the same node were not there. The state is
    /// left without them.
    fn fits_alone(
        &mut self,
        incoming: Incoming,
        need: i64,
        node: NodeIdx,
        moves: &[Move],
        reserved: &[Reserved],
    ) -> bool {
        let replacements = reserved.iter().map(|room| (room.pod, room.node));
        let placed: Vec<_> = moves.iter().map(|m| (m.pod, m.to)).chain(replacements).collect();
        for &(pod, to) in placed.iter().rev() {
            self.state.unplace(self.problem.replacement[pod.at()], to);
        }
        let prepared = Prepared::new(&self.state, incoming);
        need > 0 && !placed.is_empty() && self.first_receiver(&prepared, need, node, &[]).is_some()
    }

    /// Takes the cards of a replacement from what its receiver has left.
    fn count_room(&self, left: &mut Vec<(NodeIdx, i64)>, homes: &[(NodeIdx, i64)], pod: PodIdx, to: NodeIdx) {
        let (need, from) = (self.problem.need_of(pod), self.problem.snapshot.pod(pod).node);
        // Who comes back takes the room that was never given away.
        if from == Some(to) && homes.iter().all(|&(n, _)| n != to) {
            return;
        }
        match left.iter_mut().find(|(n, _)| *n == to) {
            Some((_, free)) => *free -= need,
            None => left.push((to, self.receivers.free(to).unwrap_or(0) - need)),
        }
    }

    /// Finds a receiver for a pod of `node`, or recreated along, and puts it there.
    fn place_one(
        &mut self,
        node: NodeIdx,
        pod: PodIdx,
        left: &[(NodeIdx, i64)],
        taken_along: &mut Vec<PodIdx>,
        placement: &mut Placement,
    ) -> Option<NodeIdx> {
        let problem = self.problem;
        let incoming = problem.replacement[pod.at()];
        let need = problem.need_of(pod);
        let from = problem.snapshot.pod(pod).node?;
        let leaving = problem.snapshot.pod(pod).terminating;
        let cascade = match self.move_of.get(&pod) {
            Some(&at) => self.plan.moves[at].cascade,
            None => from != node || taken_along.contains(&pod),
        };
        let to = {
            let prepared = Prepared::new(&self.state, incoming);
            let stays_home =
                cascade && problem.node(from).takes_back && (need == 0 || !self.is_emptied(from, node));
            if stays_home && prepared.fits(from) {
                Some(from)
            } else if need == 0 {
                None
            } else {
                let wished = self.places.get(&pod).copied();
                wished
                    .filter(|&n| n != node && self.receivers.free(n).is_some() && prepared.fits(n))
                    .or_else(|| self.first_receiver(&prepared, need, node, left))
            }
        };
        let to = to?;
        if !cascade && !leaving {
            taken_along.extend(problem.unit_of(pod).unwrap_or_default());
        }
        self.state.place(incoming, to);
        if leaving {
            placement.reserved.push(Reserved { pod, node: to, replaces: true });
        } else {
            let gated = false;
            placement.moves.push(Move { pod, from, to, spec: incoming.spec, cascade, gated });
        }
        Some(to)
    }

    /// True when every move of the plan passes with all of them applied.
    pub(super) fn holds_as_planned(&mut self) -> bool {
        let moves = self.plan.moves.clone();
        moves.iter().all(|m| self.is_plain(m.pod) || passes_again(self.problem, &mut self.state, m))
    }

    fn is_emptied(&self, node: NodeIdx, trying: NodeIdx) -> bool {
        node == trying || self.plan.freed.contains(&node)
    }

    /// Rules that look beyond one node's room: every such pod of the plan must pass with all moves applied, and
    /// each of the new ones at its turn, too. Sets `gated` where a replacement passes only once its victim is gone.
    fn check_rules(&mut self, start: Checkpoint, mut moves: Vec<Move>) -> Result<Vec<Move>, Rejection> {
        let any_dynamic = moves.iter().any(|m| m.cascade || !self.is_plain(m.pod));
        if !any_dynamic && self.unsettled.is_empty() {
            return Ok(moves);
        }
        // Pods that came after were asked about the others of the plan: of those only some can be broken by them.
        let stays = |pod: &&PodIdx| !moves.iter().any(|m| m.pod == **pod);
        let before = self.unsettled.iter().filter(stays).map(|pod| self.plan.moves[self.move_of[pod]]);
        let all: Vec<Move> = before.chain(moves.iter().copied()).collect();
        for m in &all {
            if !self.is_plain(m.pod) && !passes_again(self.problem, &mut self.state, m) {
                let reason = Kept::BreaksRule { pod: m.pod };
                return Err(Rejection { reason, may_pass_later: true });
            }
        }
        self.state.rollback(start);
        self.take_turns(&mut moves)?;
        // What the plan has moved already took its turn before, with another receiver.
        if moves.iter().any(|m| self.move_of.contains_key(&m.pod)) {
            self.whole_plan_holds(&moves)?;
        }
        Ok(moves)
    }

    /// Takes a pod off the cluster: the live one, or its replacement where the plan has put it.
    pub(super) fn lift(&mut self, pod: PodIdx) {
        match self.move_of.get(&pod) {
            None => self.state.remove(pod),
            Some(&at) => self.state.unplace(self.problem.replacement[pod.at()], self.plan.moves[at].to),
        }
    }

    /// True when only the fixed rules of nodes and amounts decide about the replacement.
    pub(super) fn is_plain(&self, pod: PodIdx) -> bool {
        Prepared::new(&self.state, self.problem.replacement[pod.at()]).is_plain()
    }

    /// True when what others do may turn a rule against the replacement where it was put.
    pub(super) fn may_turn(&self, pod: PodIdx) -> bool {
        self.state.may_turn(self.problem.replacement[pod.at()].spec)
    }

    /// The first receiver in the documented order that takes a pod.
    fn first_receiver(
        &self,
        prepared: &Prepared<'_>,
        need: i64,
        source: NodeIdx,
        left: &[(NodeIdx, i64)],
    ) -> Option<NodeIdx> {
        let accepted = prepared.accepted_classes();
        let nodes = accepted.ones().flat_map(|class| &self.of_class[class]).copied();
        let few: Vec<NodeIdx> = nodes.take(FEW_NODES + 1).collect();
        if few.len() <= FEW_NODES {
            self.receivers.first_of(&few, need, source, left, |n| prepared.fits(n))
        } else {
            self.receivers.first(need, source, left, |n| prepared.fits(n))
        }
    }

    /// Applies a move that becomes part of the plan.
    pub(super) fn apply(&mut self, m: &Move) {
        self.lift(m.pod);
        self.state.place(self.problem.replacement[m.pod.at()], m.to);
    }
}

/// True when a placed replacement would be accepted where it is, everything else being as planned.
fn passes_again(problem: &Problem<'_>, state: &mut State<'_>, m: &Move) -> bool {
    let incoming = problem.replacement[m.pod.at()];
    let here = state.checkpoint();
    state.unplace(incoming, m.to);
    let fits = Prepared::new(state, incoming).fits(m.to);
    state.rollback(here);
    fits
}
