//! Receivers by what they have left: the fullest that takes a demand.
//!
//! May import: snapshot, filter, plan

use std::collections::BTreeSet;

use fixedbitset::FixedBitSet;

use crate::filter::State;
use crate::plan::search::demand::{Demands, receivers};
use crate::plan::search::field::Field;
use crate::snapshot::model::ResourceIdx;

/// Cards left, how many demands want such nodes, cpu left, node.
type Key = (i64, usize, i64, u32);

/// The receivers that may take guests, and what they have left.
#[derive(Clone)]
pub(super) struct Open<'f> {
    demands: &'f Demands,
    class: Vec<usize>,
    /// The dimension of cpu, which most often is short beside cards.
    cpu: Option<usize>,
    /// Cards that a receiver has left.
    cards: Vec<i64>,
    /// By node and dimension.
    left: Vec<i64>,
    slots: Vec<i64>,
    receiver: Vec<bool>,
    open: Vec<bool>,
    /// Receivers of a node class.
    members: Vec<Vec<u32>>,
    /// By node class: open receivers, fullest first.
    of_class: Vec<BTreeSet<Key>>,
    /// The same of all classes; `None` where nobody asks for it.
    all: Option<BTreeSet<Key>>,
    /// By set of accepted classes: those in it, where they are so few that each is looked at by itself.
    few: Vec<Option<Vec<usize>>>,
    /// How many demands accept a node class.
    wanted: Vec<usize>,
}

impl<'f> Open<'f> {
    /// All receivers are open.
    pub fn new(field: &Field<'_, '_>, demands: &'f Demands, state: &State<'_>) -> Self {
        let snapshot = field.problem.snapshot;
        let (nodes, classes) = (field.problem.nodes.len(), snapshot.node_classes.len());
        let dims = demands.dimensions.len();
        let mut open = Self {
            demands,
            class: snapshot.nodes.iter().map(|n| n.class.at()).collect(),
            cpu: demands.dimensions.iter().position(|d| d.resource == ResourceIdx::CPU),
            cards: vec![0; nodes],
            left: vec![0; nodes * dims],
            slots: vec![0; nodes],
            receiver: vec![false; nodes],
            open: vec![false; nodes],
            members: vec![Vec::new(); classes],
            all: None,
            of_class: vec![BTreeSet::new(); classes],
            few: Vec::new(),
            wanted: wanted(demands, classes),
        };
        let count = receivers(field).count();
        // In order every (count / classes)th receiver is accepted: where the classes are more than the root of the
        // count, that is less to look at than the first of each class.
        let few = |set: &FixedBitSet| {
            let classes = set.count_ones(..);
            (classes * classes <= count || classes <= FEW_CLASSES).then(|| set.ones().collect())
        };
        open.few = demands.accepted.iter().map(few).collect();
        open.all = open.few.iter().any(Option::is_none).then(BTreeSet::new);
        for node in receivers(field) {
            open.cards[node.at()] = field.problem.node(node).free;
            open.left[node.at() * dims..][..dims].copy_from_slice(&demands.left(state, node));
            open.slots[node.at()] = state.slots(node);
            open.receiver[node.at()] = true;
            open.members[open.class[node.at()]].push(node.number());
            open.set_open(node.number(), true);
        }
        open
    }

    pub fn is_receiver(&self, node: u32) -> bool {
        self.receiver[node as usize]
    }

    pub fn is_open(&self, node: u32) -> bool {
        self.open[node as usize]
    }

    /// Receivers of a node class, open or not.
    pub fn members(&self, class: usize) -> &[u32] {
        &self.members[class]
    }

    pub fn set_open(&mut self, node: u32, open: bool) {
        self.open[node as usize] = open;
        if open {
            self.enter(node);
        } else {
            self.leave(node);
        }
    }

    /// A demand comes to a node (-1) or goes from it (1).
    pub fn shift(&mut self, demand: u32, node: u32, sign: i64) {
        let open = self.open[node as usize];
        if open {
            self.leave(node);
        }
        let d = &self.demands.classes[demand as usize];
        let left = &mut self.left[node as usize * d.takes.len()..][..d.takes.len()];
        for (left, takes) in left.iter_mut().zip(&d.takes) {
            *left += sign * takes;
        }
        self.cards[node as usize] += sign * d.cards;
        self.slots[node as usize] += sign;
        if open {
            self.enter(node);
        }
    }

    /// The open receiver that the demand leaves fullest. Adds the receivers that it looks at to `probes`.
    pub fn find(&self, demand: u32, but: Option<u32>, probes: &mut u64) -> Option<u32> {
        let demands = self.demands;
        let d = &demands.classes[demand as usize];
        let fits = |node| but != Some(node) && self.has_room(demand, node);
        let Some(few) = &self.few[d.accepted] else {
            let accepted = &demands.accepted[d.accepted];
            let fits = |node| accepted.contains(self.class[node as usize]) && fits(node);
            let all = self.all.as_ref()?;
            return self.first(demand, all, 0, None, fits, probes).map(|key| key.3);
        };
        let mut best: Option<Key> = None;
        for &class in few {
            let found = self.first(demand, &self.of_class[class], self.wanted[class], best, fits, probes);
            best = found.or(best);
        }
        best.map(|key| key.3)
    }

    /// The first in an index that fits and comes before `best`.
    fn first(
        &self,
        demand: u32,
        index: &BTreeSet<Key>,
        wanted: usize,
        best: Option<Key>,
        fits: impl Fn(u32) -> bool,
        probes: &mut u64,
    ) -> Option<Key> {
        let d = &self.demands.classes[demand as usize];
        let least = self.cpu.filter(|at| d.compares.contains(at)).map_or(i64::MIN, |at| d.takes[at]);
        let mut from: Key = (d.cards, wanted, least, 0);
        while let Some(&key) = index.range(from..).next() {
            *probes += 1;
            if best.is_some_and(|b| b <= key) {
                return None;
            }
            if key.2 < least {
                // Too little cpu: on to those that are wanted as much and have enough of it.
                from = (key.0, key.1, least, 0);
            } else if fits(key.3) {
                return Some(key);
            } else {
                from = (key.0, key.1, key.2, key.3 + 1);
            }
        }
        None
    }

    fn has_room(&self, demand: u32, node: u32) -> bool {
        let d = &self.demands.classes[demand as usize];
        let left = &self.left[node as usize * d.takes.len()..][..d.takes.len()];
        self.slots[node as usize] > 0
            && self.cards[node as usize] >= d.cards
            && d.compares.iter().all(|&at| d.takes[at] <= left[at])
    }

    /// True when the demand would have its amounts if these demands went.
    pub fn has_room_without(
        &self,
        demand: u32,
        node: u32,
        gone: &(impl Iterator<Item = u32> + Clone),
    ) -> bool {
        let d = &self.demands.classes[demand as usize];
        let left = &self.left[node as usize * d.takes.len()..][..d.takes.len()];
        let gone = || gone.clone().map(|demand| &self.demands.classes[demand as usize]);
        self.cards[node as usize] + gone().map(|g| g.cards).sum::<i64>() >= d.cards
            && d.compares.iter().all(|&at| left[at] + gone().map(|g| g.takes[at]).sum::<i64>() >= d.takes[at])
    }

    fn enter(&mut self, node: u32) {
        let key = self.key(node);
        self.of_class[self.class[node as usize]].insert(key);
        if let Some(all) = &mut self.all {
            all.insert(key);
        }
    }

    fn leave(&mut self, node: u32) {
        let key = self.key(node);
        self.of_class[self.class[node as usize]].remove(&key);
        if let Some(all) = &mut self.all {
            all.remove(&key);
        }
    }

    fn key(&self, node: u32) -> Key {
        let dims = self.demands.dimensions.len();
        let cpu = self.cpu.map_or(0, |at| self.left[node as usize * dims + at]);
        (self.cards[node as usize], self.wanted[self.class[node as usize]], cpu, node)
    }
}

/// Up to so many classes are looked at one by one, whatever the number of receivers.
const FEW_CLASSES: usize = 16;

/// How many demands accept each node class.
fn wanted(demands: &Demands, classes: usize) -> Vec<usize> {
    let mut of_set = vec![0; demands.accepted.len()];
    demands.classes.iter().for_each(|demand| of_set[demand.accepted] += 1);
    let mut wanted = vec![0; classes];
    for (set, count) in demands.accepted.iter().zip(of_set) {
        set.ones().for_each(|class| wanted[class] += count);
    }
    wanted
}
