//! A choice with a place for everything on it: what the neighbourhood search changes step by step.
//!
//! May import: snapshot, filter, plan

use std::collections::BTreeSet;

use super::choice::Choice;
use super::field::Field;
use super::rooms::Rooms;

/// Rank of a solution: more candidates first, then less cost.
pub(super) type Rank = (usize, std::cmp::Reverse<i64>);

#[derive(Clone, Copy, Debug)]
enum Step {
    Added(usize),
    Dropped(usize),
}

/// The solution.
#[derive(Clone)]
pub(super) struct Solution<'f, 'p, 's> {
    field: &'f Field<'p, 's>,
    pub choice: Choice<'f, 'p, 's>,
    pub rooms: Rooms<'f>,
    /// Candidates outside that may be chosen, by what they would add to the cost.
    outside: BTreeSet<(i64, u32)>,
    /// The first part of those keys, by candidate; for candidates inside, what they would save.
    added: Vec<i64>,
    steps: Vec<Step>,
}

impl<'f, 'p, 's> Solution<'f, 'p, 's> {
    pub fn new(field: &'f Field<'p, 's>, choice: Choice<'f, 'p, 's>, rooms: Rooms<'f>) -> Self {
        let added: Vec<i64> = (0..field.len()).map(|at| choice.added_cost(at)).collect();
        let free = added.iter().enumerate().filter(|&(at, _)| !choice.is_barred(at));
        let outside = free.map(|(at, &cost)| (cost, index(at))).collect();
        Self { field, choice, rooms, outside, added, steps: Vec::new() }
    }

    pub fn rank(&self) -> Rank {
        (self.choice.count(), std::cmp::Reverse(self.choice.cost()))
    }

    /// Starts from a set: what does not fit is left out.
    pub fn start(&mut self, set: &[usize]) {
        let mut chosen = Vec::new();
        for &at in set {
            if self.choice.allows(at) {
                self.choice.insert(at);
                chosen.push(at);
            }
        }
        let mut again = Vec::new();
        loop {
            let stuck = self.rooms.empty_all(&chosen);
            if stuck.is_empty() {
                break;
            }
            for &at in &chosen {
                self.rooms.refill(at);
            }
            let mut worst = self.worst(&stuck, &chosen);
            for &at in &worst {
                self.choice.remove(at);
            }
            chosen.retain(|&at| self.choice.contains(at));
            again.append(&mut worst);
        }
        self.rooms.commit();
        for at in 0..self.field.len() {
            self.outside.remove(&(self.added[at], index(at)));
            if !self.choice.contains(at) && !self.choice.is_barred(at) {
                self.added[at] = self.choice.added_cost(at);
                self.outside.insert((self.added[at], index(at)));
            }
        }
        for at in again {
            self.add(at);
        }
        self.settle();
    }

    /// Candidates that leave a set in which some are stuck. Those that are worth least leave first, since the others may
    /// find room then: an eighth of them, for each round places everything anew. One that has to be emptied makes others
    /// leave before itself.
    fn worst(&self, stuck: &[usize], chosen: &[usize]) -> Vec<usize> {
        let others = |from: &[usize]| -> Vec<usize> {
            let mut others = from.to_vec();
            others.retain(|&at| !self.field.is_must(at));
            others.sort_by_key(|&at| std::cmp::Reverse((self.field.burdens[at].cards, at)));
            others
        };
        let mut worst = others(stuck);
        worst.truncate(worst.len().div_ceil(8));
        if worst.is_empty() {
            worst = others(chosen);
            worst.truncate(1);
        }
        if worst.is_empty() {
            worst.extend(self.field.must.filter(|must| chosen.contains(must)));
        }
        worst
    }

    /// Empties one more candidate, if everything allows it.
    pub fn add(&mut self, at: usize) -> bool {
        if self.choice.contains(at) || !self.choice.allows(at) || !self.rooms.empty(at) {
            return false;
        }
        self.outside.remove(&(self.added[at], index(at)));
        self.choice.insert(at);
        self.rate_around(at);
        self.steps.push(Step::Added(at));
        true
    }

    /// Gives one candidate up.
    pub fn drop(&mut self, at: usize) {
        self.rooms.refill(at);
        self.choice.remove(at);
        self.added[at] = self.choice.added_cost(at);
        self.outside.insert((self.added[at], index(at)));
        self.rate_around(at);
        self.steps.push(Step::Dropped(at));
    }

    /// Forgets how it came here.
    pub fn settle(&mut self) {
        self.steps.clear();
        self.rooms.commit();
    }

    /// Goes back to where it last settled.
    pub fn undo(&mut self) {
        self.rooms.undo(0);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Added(at) => {
                    self.choice.remove(at);
                    self.added[at] = self.choice.added_cost(at);
                    self.outside.insert((self.added[at], index(at)));
                    self.rate_around(at);
                }
                Step::Dropped(at) => {
                    self.outside.remove(&(self.added[at], index(at)));
                    self.choice.insert(at);
                    self.rate_around(at);
                }
            }
        }
    }

    /// Candidates outside, cheapest first.
    pub fn outside(&self) -> impl Iterator<Item = usize> + '_ {
        self.outside.iter().map(|&(_, at)| at as usize)
    }

    /// What a candidate outside would add.
    pub fn added_cost(&self, at: usize) -> i64 {
        self.added[at]
    }

    fn rate_around(&mut self, at: usize) {
        let field = self.field;
        for group in field.groups(at) {
            for &other in &field.of_group[group.at()] {
                let other = other as usize;
                if other == at || self.choice.contains(other) || self.choice.is_barred(other) {
                    continue;
                }
                let added = self.choice.added_cost(other);
                if added != self.added[other] {
                    self.outside.remove(&(self.added[other], index(other)));
                    self.added[other] = added;
                    self.outside.insert((added, index(other)));
                }
            }
        }
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
