//! Receivers that last: a pod that tolerates a `NoExecute` taint for some seconds would be evicted again after them.
//!
//! Such a node passes every Filter, so it receives where nothing else does; a plan that needs it less is preferred.
//!
//! May import: snapshot, filter, plan

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::realize::{Wish, carry_out};
use super::{Drain, Outcome};
use crate::filter::Prepared;
use crate::filter::kube::tolerated_for_a_while;
use crate::plan::types::Move;
use crate::snapshot::model::{NodeIdx, PodIdx};

impl Drain<'_, '_> {
    /// The plan. Where moves end on nodes that their pods have to leave soon, once more with other receivers for them,
    /// if that frees as many nodes for no more.
    pub(super) fn settle(mut self) -> Outcome {
        let brief = self.brief_moves();
        if !brief.is_empty() {
            let lasting = self.lasting_places(&brief);
            let each = lasting.iter().map(|(&pod, &node)| FxHashMap::from_iter([(pod, node)]));
            let together = (lasting.len() > 1).then(|| lasting.clone());
            for instead in together.into_iter().chain(each) {
                self = self.settled_with(&instead);
            }
        }
        Outcome { plan: self.plan, rejected: self.rejected }
    }

    /// This plan with other receivers for some pods, where it is better for it; else this one.
    fn settled_with(mut self, instead: &FxHashMap<PodIdx, NodeIdx>) -> Self {
        let mut places: FxHashMap<PodIdx, NodeIdx> = self.plan.moves.iter().map(|m| (m.pod, m.to)).collect();
        places.extend(instead);
        let after = self.state.clone();
        let mut before = std::mem::replace(&mut self.state, after);
        before.rollback(self.origin);
        let other = carry_out(self.problem, before, &Wish { nodes: self.plan.freed.clone(), places });
        let rank = |drain: &Self| {
            let cost = drain.plan.disruption.cost(drain.problem.weights);
            (drain.plan.freed.len(), Reverse(cost), Reverse(drain.brief_moves().len()))
        };
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// Moves to nodes that the pod has to leave after some seconds.
    fn brief_moves(&self) -> Vec<Move> {
        self.plan.moves.iter().copied().filter(|m| m.to != m.from && self.is_brief(m.pod, m.to)).collect()
    }

    fn is_brief(&self, pod: PodIdx, node: NodeIdx) -> bool {
        let snapshot = self.problem.snapshot;
        let spec = snapshot.spec(self.problem.replacement[pod.at()].spec);
        tolerated_for_a_while(&snapshot.node_rules[spec.node_rules.at()], snapshot.node(node))
    }

    /// Receivers without that fault that have room once everything has moved, one after the other.
    fn lasting_places(&mut self, brief: &[Move]) -> FxHashMap<PodIdx, NodeIdx> {
        let mut places = FxHashMap::default();
        let here = self.state.checkpoint();
        let mut taken: Vec<(NodeIdx, i64)> = Vec::new();
        for m in brief {
            let incoming = self.problem.replacement[m.pod.at()];
            let need = self.problem.need(m);
            self.state.unplace(incoming, m.to);
            let place = {
                let prepared = Prepared::new(&self.state, incoming);
                self.receivers
                    .first(need, m.from, &taken, |node| !self.is_brief(m.pod, node) && prepared.fits(node))
            };
            let to = place.unwrap_or(m.to);
            self.state.place(incoming, to);
            if place.is_some() {
                places.insert(m.pod, to);
                match taken.iter_mut().find(|(node, _)| *node == to) {
                    Some((_, left)) => *left -= need,
                    None => taken.push((to, self.receivers.free(to).unwrap_or(0) - need)),
                }
            }
        }
        self.state.rollback(here);
        places
    }
}
