//! Where the victims of a set of candidates could go, by amounts and node classes alone.
//!
//! Best fit with repair: an item goes to the receiver that it leaves fullest; where none has room, smaller guests of
//! one receiver are moved on. All changes are journalled, so any attempt can be taken back exactly.
//!
//! Invariants: a receiver is *open* while it may take guests; a node that is emptied is closed and has no guests;
//! an item is placed exactly while its candidate is emptied.
//!
//! May import: snapshot, filter, plan

mod open;
mod repair;

use self::open::Open;
use super::demand::{Demands, leavers};
use super::field::Field;
use super::improve::Random;
use crate::filter::State;
use crate::snapshot::model::{NodeIdx, PodIdx};

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

/// The placement.
#[derive(Clone)]
pub(super) struct Rooms<'f> {
    demands: &'f Demands,
    candidates: &'f [NodeIdx],
    open: Open<'f>,
    /// How many repairs there were.
    turn: usize,
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

impl<'f> Rooms<'f> {
    pub fn new(field: &'f Field<'_, '_>, demands: &'f Demands, state: &State<'_>) -> Self {
        let mut rooms = Self {
            demands,
            candidates: &field.candidates,
            open: Open::new(field, demands, state),
            turn: 0,
            rank: ranks(demands),
            items: Vec::new(),
            first: Vec::with_capacity(field.len() + 1),
            place: Vec::new(),
            guests: vec![Vec::new(); field.problem.nodes.len()],
            journal: Vec::new(),
            probes: 0,
        };
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
                Some(Step::Opened(node)) => self.open.set_open(node, false),
                Some(Step::Closed(node)) => self.open.set_open(node, true),
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
        if self.open.is_receiver(node) {
            self.open.set_open(node, true);
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
        if self.open.is_open(node) {
            self.open.set_open(node, false);
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
        self.open.find(demand, but, &mut self.probes)
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
        self.open.shift(self.items[item as usize].demand, node, -1);
    }

    fn take_off(&mut self, item: u32) -> Option<u32> {
        let node = self.place[item as usize].take()?;
        let guests = &mut self.guests[node as usize];
        if let Some(at) = guests.iter().rposition(|&g| g == item) {
            guests.remove(at);
        }
        self.open.shift(self.items[item as usize].demand, node, 1);
        Some(node)
    }
}

/// The order in which demands are placed, hardest first: place in the order, by demand.
fn ranks(demands: &Demands) -> Vec<u32> {
    let room: Vec<usize> = demands.accepted.iter().map(|set| set.count_ones(..)).collect();
    let mut order: Vec<usize> = (0..demands.classes.len()).collect();
    order.sort_by(|&a, &b| {
        let (x, y) = (&demands.classes[a], &demands.classes[b]);
        let by_room = || room[x.accepted].cmp(&room[y.accepted]);
        y.cards.cmp(&x.cards).then_with(by_room).then_with(|| y.takes.cmp(&x.takes)).then(a.cmp(&b))
    });
    let mut rank = vec![0; order.len()];
    for (place, at) in order.into_iter().enumerate() {
        rank[at] = u32::try_from(place).unwrap_or(u32::MAX);
    }
    rank
}
