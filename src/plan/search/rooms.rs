//! Where the victims of a set of candidates could go, by amounts and node classes alone.
//!
//! Best fit with repair: an item goes to the receiver that it leaves fullest; where none has room, smaller guests of
//! one receiver are moved on. All changes are journalled, so any attempt can be taken back exactly.
//!
//! Invariants: a receiver is *open* while it may take guests; a node that is emptied is closed and has no guests;
//! an item is placed exactly while its candidate is emptied.
//!
//! May import: snapshot, filter, plan

use std::collections::BTreeSet;

use super::demand::{Demands, leavers, receivers};
use super::field::Field;
use super::improve::Random;
use crate::filter::State;
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx};

/// A victim.
#[derive(Clone, Copy, Debug)]
struct Item {
    candidate: u32,
    demand: u32,
    pod: PodIdx,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Placed(u32),
    Lifted(u32, u32),
    Opened(u32),
    Closed(u32),
}

/// Cards left, how many demands want such nodes, cpu left, node.
type Key = (i64, usize, i64, u32);

/// The placement.
pub(super) struct Rooms<'f> {
    demands: &'f Demands,
    candidates: &'f [NodeIdx],
    class: Vec<usize>,
    /// The dimension of cpu, which most often is short beside cards.
    cpu: Option<usize>,
    /// Cards that a receiver has left.
    cards: Vec<i64>,
    /// By node and dimension.
    left: Vec<i64>,
    slots: Vec<i64>,
    receiver: Vec<bool>,
    /// Receivers of a node class.
    members: Vec<Vec<u32>>,
    /// How many repairs there were.
    turn: usize,
    open: Vec<bool>,
    /// By node class: open receivers, fullest first.
    index: Vec<BTreeSet<Key>>,
    /// How many demands accept a node class.
    wanted: Vec<usize>,
    /// Order of demands, hardest first.
    rank: Vec<u32>,
    items: Vec<Item>,
    /// Items of each candidate start here.
    first: Vec<usize>,
    place: Vec<Option<u32>>,
    guests: Vec<Vec<u32>>,
    journal: Vec<Step>,
    /// Places looked at, the unit of effort.
    pub probes: u64,
}

/// Receivers that a repair looks at.
const REPAIR_WIDTH: usize = 600;
/// Receivers on which it moves guests.
const REPAIR_TRIES: usize = 24;
/// How far on the next repair begins: a prime, so that all receivers have their turn.
const REPAIR_STRIDE: usize = 61;
/// Guests that one repair moves on.
const REPAIR_GUESTS: usize = 4;

impl<'f> Rooms<'f> {
    pub fn new(field: &'f Field<'_, '_>, demands: &'f Demands, state: &State<'_>) -> Self {
        let snapshot = field.problem.snapshot;
        let nodes = field.problem.nodes.len();
        let dims = demands.dimensions.len();
        let class: Vec<usize> = snapshot.nodes.iter().map(|n| n.class.at()).collect();
        let mut wanted = vec![0; snapshot.node_classes.len()];
        for demand in &demands.classes {
            demands.accepted[demand.accepted].ones().for_each(|class| wanted[class] += 1);
        }
        let mut order: Vec<usize> = (0..demands.classes.len()).collect();
        let room: Vec<usize> = demands.accepted.iter().map(|set| set.count_ones(..)).collect();
        order.sort_by_key(|&at| {
            let d = &demands.classes[at];
            (std::cmp::Reverse(d.cards), room[d.accepted], std::cmp::Reverse(d.takes.clone()), at)
        });
        let mut rank = vec![0; order.len()];
        for (place, at) in order.into_iter().enumerate() {
            rank[at] = u32::try_from(place).unwrap_or(u32::MAX);
        }
        let mut rooms = Self {
            demands,
            candidates: &field.candidates,
            class,
            cpu: demands.dimensions.iter().position(|d| d.resource == ResourceIdx::CPU),
            cards: vec![0; nodes],
            left: vec![0; nodes * dims],
            slots: vec![0; nodes],
            receiver: vec![false; nodes],
            members: vec![Vec::new(); snapshot.node_classes.len()],
            turn: 0,
            open: vec![false; nodes],
            index: vec![BTreeSet::new(); snapshot.node_classes.len()],
            wanted,
            rank,
            items: Vec::new(),
            first: Vec::with_capacity(field.len() + 1),
            place: Vec::new(),
            guests: vec![Vec::new(); nodes],
            journal: Vec::new(),
            probes: 0,
        };
        for node in receivers(field) {
            rooms.cards[node.at()] = field.problem.node(node).free;
            rooms.left[node.at() * dims..][..dims].copy_from_slice(&demands.left(state, node));
            rooms.slots[node.at()] = state.slots(node);
            rooms.receiver[node.at()] = true;
            rooms.members[rooms.class[node.at()]].push(node.number());
            rooms.set_open(node.number(), true);
        }
        for (at, &node) in field.candidates.iter().enumerate() {
            rooms.first.push(rooms.items.len());
            for (pod, &demand) in leavers(field.problem, node).zip(&demands.of_candidate[at]) {
                let candidate = u32::try_from(at).unwrap_or(u32::MAX);
                rooms.items.push(Item { candidate, demand, pod });
            }
        }
        rooms.first.push(rooms.items.len());
        rooms.place = vec![None; rooms.items.len()];
        rooms
    }

    /// Remembers the present.
    pub fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Goes back to a mark.
    pub fn undo(&mut self, mark: usize) {
        while self.journal.len() > mark {
            match self.journal.pop() {
                Some(Step::Placed(item)) => drop(self.take_off(item)),
                Some(Step::Lifted(item, node)) => self.put(item, node),
                Some(Step::Opened(node)) => self.set_open(node, false),
                Some(Step::Closed(node)) => self.set_open(node, true),
                None => {}
            }
        }
    }

    /// Forgets how it came here.
    pub fn commit(&mut self) {
        self.journal.clear();
    }

    /// Where the victims of a candidate that is emptied go.
    pub fn places(&self, candidate: usize) -> impl Iterator<Item = (PodIdx, NodeIdx)> + '_ {
        let items = self.first[candidate]..self.first[candidate + 1];
        items.filter_map(|item| Some((self.items[item].pod, NodeIdx::new(self.place[item]? as usize))))
    }

    /// Candidates whose pods share a receiver with those of this one.
    pub fn neighbours(&self, candidate: usize) -> Vec<usize> {
        let places = self.items_of(candidate).filter_map(|item| self.place[item as usize]);
        let guests = places.flat_map(|node| &self.guests[node as usize]);
        let mut near: Vec<usize> = guests.map(|&g| self.items[g as usize].candidate as usize).collect();
        near.sort_unstable();
        near.dedup();
        near.retain(|&other| other != candidate);
        near
    }

    /// Empties a candidate if everything on it, and the guests that it has, finds room. If not, nothing changes.
    pub fn empty(&mut self, candidate: usize) -> bool {
        let mark = self.mark();
        let mut lifted = self.close(candidate);
        self.sort(&mut lifted);
        for item in lifted {
            if !self.settle(item) {
                self.undo(mark);
                return false;
            }
        }
        true
    }

    /// Empties all of `set` at once, hardest items first. Returns the candidates with an item that finds no room.
    pub fn empty_all(&mut self, set: &[usize]) -> Vec<usize> {
        let mut lifted: Vec<u32> = set.iter().flat_map(|&candidate| self.close(candidate)).collect();
        // A guest of a candidate of the set is an item of another one that was emptied before.
        lifted.sort_unstable();
        lifted.dedup();
        self.sort(&mut lifted);
        let mut stuck = Vec::new();
        for item in lifted {
            if !self.settle(item) {
                stuck.push(self.items[item as usize].candidate as usize);
            }
        }
        stuck.sort_unstable();
        stuck.dedup();
        stuck
    }

    /// Gives a candidate its pods back: it is no longer emptied.
    pub fn refill(&mut self, candidate: usize) {
        for item in self.items_of(candidate) {
            self.lift(item);
        }
        let node = self.candidates[candidate].number();
        if self.receiver[node as usize] {
            self.set_open(node, true);
            self.journal.push(Step::Opened(node));
        }
    }

    fn items_of(&self, candidate: usize) -> std::ops::Range<u32> {
        let at = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        at(self.first[candidate])..at(self.first[candidate + 1])
    }

    /// Closes a candidate; returns what needs a place: its items and its guests, lifted.
    fn close(&mut self, candidate: usize) -> Vec<u32> {
        let node = self.candidates[candidate].number();
        if self.open[node as usize] {
            self.set_open(node, false);
            self.journal.push(Step::Closed(node));
        }
        let mut lifted = self.guests[node as usize].clone();
        for &item in &lifted {
            self.lift(item);
        }
        lifted.extend(self.items_of(candidate));
        lifted
    }

    fn sort(&self, items: &mut [u32]) {
        items.sort_by_key(|&item| (self.rank[self.items[item as usize].demand as usize], item));
    }

    fn settle(&mut self, item: u32) -> bool {
        let demand = self.items[item as usize].demand;
        if let Some(node) = self.find(demand, None) {
            self.set(item, node);
            return true;
        }
        self.repair(item)
    }

    /// The receiver that the demand leaves fullest.
    fn find(&mut self, demand: u32, but: Option<u32>) -> Option<u32> {
        let demands = self.demands;
        let d = &demands.classes[demand as usize];
        let mut best: Option<Key> = None;
        let least = self.cpu.filter(|at| d.compares.contains(at)).map_or(i64::MIN, |at| d.takes[at]);
        for class in demands.accepted[d.accepted].ones() {
            let mut from: Key = (d.cards, self.wanted[class], least, 0);
            while let Some(&key) = self.index[class].range(from..).next() {
                self.probes += 1;
                if best.is_some_and(|b| b <= key) {
                    break;
                }
                if key.2 < least {
                    // Too little cpu: on to those with as many cards and enough of it.
                    from = (key.0, key.1, least, 0);
                } else if but != Some(key.3) && self.has_room(demand, key.3) {
                    best = Some(key);
                    break;
                } else {
                    from = (key.0, key.1, key.2, key.3 + 1);
                }
            }
        }
        best.map(|key| key.3)
    }

    fn has_room(&self, demand: u32, node: u32) -> bool {
        let d = &self.demands.classes[demand as usize];
        let left = &self.left[node as usize * d.takes.len()..][..d.takes.len()];
        self.slots[node as usize] > 0
            && self.cards[node as usize] >= d.cards
            && d.compares.iter().all(|&at| d.takes[at] <= left[at])
    }

    /// Makes room for an item on one receiver by moving smaller guests of it on. Each time it begins with another
    /// receiver, so that a search that comes again finds other ways.
    fn repair(&mut self, item: u32) -> bool {
        let demand = self.items[item as usize].demand;
        let demands = self.demands;
        let mark = self.mark();
        self.turn = self.turn.wrapping_add(1);
        let (mut looked, mut tried) = (0, 0);
        for class in demands.accepted[demands.classes[demand as usize].accepted].ones() {
            let count = self.members[class].len();
            for step in 0..count {
                let node = self.members[class][(self.turn * REPAIR_STRIDE + step) % count];
                if !self.open[node as usize] || self.guests[node as usize].is_empty() {
                    continue;
                }
                looked += 1;
                self.probes += 1;
                if looked > REPAIR_WIDTH || tried > REPAIR_TRIES {
                    return false;
                }
                let Some(guests) = self.in_the_way(demand, node) else { continue };
                tried += 1;
                for &guest in &guests {
                    self.lift(guest);
                }
                self.set(item, node);
                let all = guests.into_iter().rev().all(|guest| {
                    let found = self.find(self.items[guest as usize].demand, Some(node));
                    found.is_some_and(|to| {
                        self.set(guest, to);
                        true
                    })
                });
                if all {
                    return true;
                }
                self.undo(mark);
            }
        }
        false
    }

    /// A few guests that are smaller than the demand and without which it fits, smallest first.
    fn in_the_way(&self, demand: u32, node: u32) -> Option<Vec<u32>> {
        let d = &self.demands.classes[demand as usize];
        let rank = |item: u32| self.rank[self.items[item as usize].demand as usize];
        let mut guests = self.guests[node as usize].clone();
        guests.retain(|&guest| rank(guest) > self.rank[demand as usize]);
        guests.sort_by_key(|&guest| (std::cmp::Reverse(rank(guest)), guest));
        guests.truncate(REPAIR_GUESTS);
        let left = &self.left[node as usize * d.takes.len()..][..d.takes.len()];
        let fits_without = |gone: &[u32]| {
            let gone = || gone.iter().map(|&g| &self.demands.classes[self.items[g as usize].demand as usize]);
            self.cards[node as usize] + gone().map(|g| g.cards).sum::<i64>() >= d.cards
                && d.compares
                    .iter()
                    .all(|&at| left[at] + gone().map(|g| g.takes[at]).sum::<i64>() >= d.takes[at])
        };
        (1..=guests.len()).find(|&n| fits_without(&guests[..n])).map(|n| guests[..n].to_vec())
    }

    /// Places everything on `set` anew, hardest first but for some chance. Nothing changes where that fails.
    pub fn repack(&mut self, set: &[usize], random: &mut Random) -> bool {
        let mark = self.mark();
        let items: Vec<u32> = set.iter().flat_map(|&candidate| self.items_of(candidate)).collect();
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(items.len());
        for item in items {
            self.lift(item);
            let noise = u32::try_from(random.below(2 + self.rank.len() / 8)).unwrap_or(0);
            order.push((self.rank[self.items[item as usize].demand as usize] + noise, item));
        }
        order.sort_unstable();
        if order.into_iter().all(|(_, item)| self.settle(item)) {
            return true;
        }
        self.undo(mark);
        false
    }

    fn set(&mut self, item: u32, node: u32) {
        self.put(item, node);
        self.journal.push(Step::Placed(item));
    }

    fn lift(&mut self, item: u32) {
        if let Some(node) = self.take_off(item) {
            self.journal.push(Step::Lifted(item, node));
        }
    }

    fn put(&mut self, item: u32, node: u32) {
        self.place[item as usize] = Some(node);
        self.guests[node as usize].push(item);
        self.shift(self.items[item as usize].demand, node, -1);
    }

    fn take_off(&mut self, item: u32) -> Option<u32> {
        let node = self.place[item as usize].take()?;
        let guests = &mut self.guests[node as usize];
        if let Some(at) = guests.iter().rposition(|&g| g == item) {
            guests.remove(at);
        }
        self.shift(self.items[item as usize].demand, node, 1);
        Some(node)
    }

    fn shift(&mut self, demand: u32, node: u32, sign: i64) {
        let open = self.open[node as usize];
        if open {
            let key = self.key(node);
            self.index[self.class[node as usize]].remove(&key);
        }
        let d = &self.demands.classes[demand as usize];
        let left = &mut self.left[node as usize * d.takes.len()..][..d.takes.len()];
        for (left, takes) in left.iter_mut().zip(&d.takes) {
            *left += sign * takes;
        }
        self.cards[node as usize] += sign * d.cards;
        self.slots[node as usize] += sign;
        if open {
            let key = self.key(node);
            self.index[self.class[node as usize]].insert(key);
        }
    }

    fn set_open(&mut self, node: u32, open: bool) {
        let key = self.key(node);
        self.open[node as usize] = open;
        let index = &mut self.index[self.class[node as usize]];
        if open {
            index.insert(key);
        } else {
            index.remove(&key);
        }
    }

    fn key(&self, node: u32) -> Key {
        let dims = self.demands.dimensions.len();
        let other = self.cpu.map_or(0, |at| self.left[node as usize * dims + at]);
        (self.cards[node as usize], self.wanted[self.class[node as usize]], other, node)
    }
}
