//! Receivers in the documented order: certain to stay occupied, then costlier to empty later, then least left.
//!
//! Two indices by free cards answer "the first receivers with room for `need` cards" without looking at nodes that
//! are full. Receivers that are certain to stay are ordered by (free, name); the others by cost first, so their
//! sets (one per amount of free cards) are merged by their heads.
//!
//! May import: snapshot, plan

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::plan::types::Dimensions;
use crate::snapshot::model::NodeIdx;

/// What emptying a node would add, in the order that receivers are compared by.
pub type EmptyingCost = (i64, i64, i64, i64, i64);

/// The order of the documented receiver rule: breaches, groups, damaged cards, moved cards, pods.
pub const fn emptying_cost(add: Dimensions) -> EmptyingCost {
    (add.breached_groups, add.affected_groups, add.damaged_cards, add.moved_cards, add.moved_pods)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// No receiver: freed, idle, or refused by policy.
    Out,
    Stays {
        free: i64,
    },
    Drainable {
        free: i64,
        cost: EmptyingCost,
    },
}

/// All receivers of a plan so far.
#[derive(Debug)]
pub struct Receivers {
    place: Vec<Place>,
    stays: BTreeMap<i64, BTreeSet<NodeIdx>>,
    drainable: BTreeMap<i64, BTreeSet<(Reverse<EmptyingCost>, NodeIdx)>>,
}

impl Receivers {
    /// No receivers among `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { place: vec![Place::Out; nodes], stays: BTreeMap::new(), drainable: BTreeMap::new() }
    }

    /// Receivers among `nodes` nodes with their free cards; those with a cost may be emptied at it, the others are certain
    /// to stay.
    pub fn of(nodes: usize, mut rated: Vec<(NodeIdx, i64, Option<EmptyingCost>)>) -> Self {
        let mut place = vec![Place::Out; nodes];
        for &(node, free, cost) in &rated {
            place[node.at()] = cost.map_or(Place::Stays { free }, |cost| Place::Drainable { free, cost });
        }
        rated.sort_unstable_by_key(|&(node, free, cost)| (cost.is_some(), free, Reverse(cost), node));
        let (stays, drainable) = rated.split_at(rated.partition_point(|&(_, _, cost)| cost.is_none()));
        let same_free =
            |a: &(NodeIdx, i64, Option<EmptyingCost>), b: &(NodeIdx, i64, Option<EmptyingCost>)| a.1 == b.1;
        let stays = stays.chunk_by(same_free);
        let drainable = drainable.chunk_by(same_free);
        let priced = |&(node, _, cost): &(NodeIdx, i64, Option<EmptyingCost>)| Some((Reverse(cost?), node));
        Self {
            place,
            stays: stays.map(|same| (same[0].1, same.iter().map(|&(node, ..)| node).collect())).collect(),
            drainable: drainable.map(|same| (same[0].1, same.iter().filter_map(priced).collect())).collect(),
        }
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: NodeIdx) {
        match std::mem::replace(&mut self.place[node.at()], Place::Out) {
            Place::Out => {}
            Place::Stays { free } => {
                drop_from(&mut self.stays, free, &node);
            }
            Place::Drainable { free, cost } => {
                drop_from(&mut self.drainable, free, &(Reverse(cost), node));
            }
        }
    }

    /// The node is certain to stay occupied and has `free` cards.
    pub fn set_stays(&mut self, node: NodeIdx, free: i64) {
        self.remove(node);
        self.place[node.at()] = Place::Stays { free };
        self.stays.entry(free).or_default().insert(node);
    }

    /// The node may be emptied later at `cost` and has `free` cards.
    pub fn set_drainable(&mut self, node: NodeIdx, free: i64, cost: EmptyingCost) {
        if self.place[node.at()] == (Place::Drainable { free, cost }) {
            return;
        }
        self.remove(node);
        self.place[node.at()] = Place::Drainable { free, cost };
        self.drainable.entry(free).or_default().insert((Reverse(cost), node));
    }

    /// `cards` of a receiver are given back; nothing happens to other nodes.
    pub fn add_free(&mut self, node: NodeIdx, cards: i64) {
        match self.place[node.at()] {
            Place::Out => {}
            Place::Stays { free } => self.set_stays(node, free + cards),
            Place::Drainable { free, cost } => self.set_drainable(node, free + cards, cost),
        }
    }

    /// Free cards of a node that may be emptied later; `None` for all others.
    pub fn drainable_free(&self, node: NodeIdx) -> Option<i64> {
        match self.place[node.at()] {
            Place::Drainable { free, .. } => Some(free),
            _ => None,
        }
    }

    /// Free cards of a receiver.
    pub fn free(&self, node: NodeIdx) -> Option<i64> {
        match self.place[node.at()] {
            Place::Out => None,
            Place::Stays { free } | Place::Drainable { free, .. } => Some(free),
        }
    }

    /// The first receiver in order with room for `need` cards that `accepts`. `tentative` are receivers of the
    /// candidate that is being tried, with what they have left: they count as certain to stay. `source` is that
    /// candidate.
    pub fn first(
        &self,
        need: i64,
        source: NodeIdx,
        tentative: &[(NodeIdx, i64)],
        mut accepts: impl FnMut(NodeIdx) -> bool,
    ) -> Option<NodeIdx> {
        let is_tentative = |node: NodeIdx| tentative.iter().any(|&(n, _)| n == node);
        let mut extra: Vec<(i64, NodeIdx)> =
            tentative.iter().filter(|t| t.1 >= need).map(|&(node, left)| (left, node)).collect();
        extra.sort_unstable();
        let mut extra = extra.into_iter().peekable();
        for (&free, nodes) in self.stays.range(need..) {
            for &node in nodes {
                while let Some(&next) = extra.peek().filter(|&&next| next < (free, node)) {
                    extra.next();
                    if accepts(next.1) {
                        return Some(next.1);
                    }
                }
                if node != source && !is_tentative(node) && accepts(node) {
                    return Some(node);
                }
            }
        }
        if let Some((_, node)) = extra.find(|&(_, node)| accepts(node)) {
            return Some(node);
        }
        let mut heads: Vec<_> = self
            .drainable
            .range(need..)
            .filter_map(|(&free, nodes)| {
                let mut rest = nodes.iter();
                rest.next().map(|&(cost, node)| ((cost, free, node), rest))
            })
            .collect();
        while let Some(at) = (0..heads.len()).min_by_key(|&at| heads[at].0) {
            let ((_, free, node), rest) = &mut heads[at];
            let (node, free) = (*node, *free);
            match rest.next() {
                Some(&(cost, next)) => heads[at].0 = (cost, free, next),
                None => drop(heads.swap_remove(at)),
            }
            if node != source && !is_tentative(node) && accepts(node) {
                return Some(node);
            }
        }
        None
    }

    /// The same where no other nodes than these are possible: each is looked at by itself.
    pub fn first_of(
        &self,
        nodes: &[NodeIdx],
        need: i64,
        source: NodeIdx,
        tentative: &[(NodeIdx, i64)],
        accepts: impl Fn(NodeIdx) -> bool,
    ) -> Option<NodeIdx> {
        let rank = |&node: &NodeIdx| {
            let left = tentative.iter().find(|t| t.0 == node).map(|t| t.1);
            let rank = match (left, self.place[node.at()]) {
                (Some(left), _) => Rank::Stays(left, node),
                (None, Place::Stays { free }) => Rank::Stays(free, node),
                (None, Place::Drainable { free, cost }) => Rank::Drainable(Reverse(cost), free, node),
                (None, Place::Out) => return None,
            };
            let (Rank::Stays(free, _) | Rank::Drainable(_, free, _)) = rank;
            (free >= need && (left.is_some() || node != source)).then_some((rank, node))
        };
        let mut ranked: Vec<(Rank, NodeIdx)> = nodes.iter().filter_map(rank).collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, node)| node).find(|&node| accepts(node))
    }
}

/// Place of a receiver in the documented order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Stays(i64, NodeIdx),
    Drainable(Reverse<EmptyingCost>, i64, NodeIdx),
}

fn drop_from<T: Ord>(index: &mut BTreeMap<i64, BTreeSet<T>>, free: i64, item: &T) {
    if let Some(set) = index.get_mut(&free) {
        set.remove(item);
        if set.is_empty() {
            index.remove(&free);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn n(at: usize) -> NodeIdx {
        NodeIdx::new(at)
    }

    fn order(receivers: &Receivers, need: i64, source: NodeIdx, tentative: &[(NodeIdx, i64)]) -> Vec<u32> {
        let mut seen = Vec::new();
        receivers.first(need, source, tentative, |node| {
            seen.push(node.number());
            false
        });
        seen
    }

    #[test]
    fn staying_nodes_come_first_then_the_costlier_then_the_fuller() {
        let mut receivers = Receivers::new(8);
        receivers.set_drainable(n(0), 2, (0, 1, 1, 1, 1));
        receivers.set_drainable(n(1), 4, (1, 1, 1, 1, 1));
        receivers.set_drainable(n(2), 3, (1, 1, 1, 1, 1));
        receivers.set_stays(n(3), 7);
        receivers.set_stays(n(4), 5);
        receivers.set_stays(n(5), 1);
        assert_eq!(order(&receivers, 2, n(7), &[]), [4, 3, 2, 1, 0]);
        receivers.set_stays(n(0), 2);
        receivers.remove(n(4));
        assert_eq!(order(&receivers, 2, n(3), &[]), [0, 2, 1]);
    }

    #[test]
    fn receivers_of_the_node_being_tried_count_as_staying() {
        let mut receivers = Receivers::new(8);
        receivers.set_drainable(n(0), 5, (0, 1, 1, 1, 1));
        receivers.set_drainable(n(1), 4, (1, 1, 1, 1, 1));
        receivers.set_stays(n(2), 6);
        assert_eq!(order(&receivers, 3, n(7), &[(n(0), 3)]), [0, 2, 1]);
        assert_eq!(order(&receivers, 4, n(7), &[(n(0), 3), (n(2), 4)]), [2, 1]);
    }

    #[test]
    fn a_few_nodes_come_in_the_same_order_as_among_all() {
        let mut receivers = Receivers::new(9);
        for (at, free, cost) in [(0, 5, 1), (1, 4, 2), (2, 5, 2), (3, 9, 2), (8, 7, 1)] {
            receivers.set_drainable(n(at), free, (0, cost, 1, 1, 1));
        }
        for (at, free) in [(4, 6), (5, 3), (6, 6)] {
            receivers.set_stays(n(at), free);
        }
        let all: Vec<NodeIdx> = (0..9).map(n).collect();
        for tentative in [vec![], vec![(n(0), 3)], vec![(n(4), 2), (n(3), 6)]] {
            for (need, source) in [(1, n(7)), (4, n(2)), (5, n(4)), (6, n(8)), (20, n(0))] {
                let expected = order(&receivers, need, source, &tentative);
                let seen = std::cell::RefCell::new(Vec::new());
                receivers.first_of(&all, need, source, &tentative, |node| {
                    seen.borrow_mut().push(node.number());
                    false
                });
                assert_eq!(seen.into_inner(), expected, "{need} {source:?} {tentative:?}");
            }
        }
    }
}
