//! Makes room where there is none: smaller guests of one receiver are moved on.
//!
//! May import: plan

use std::cmp::Reverse;

use super::Rooms;

/// Receivers that a repair looks at.
const WIDTH: usize = 600;
/// Receivers on which it moves guests.
const TRIES: usize = 24;
/// How far on the next repair begins: a prime, so that all receivers have their turn.
const STRIDE: usize = 61;
/// Guests that one repair moves on.
const GUESTS: usize = 4;

impl Rooms<'_> {
    /// Makes room for an item on one receiver by moving smaller guests of it on. Each time it begins with another
    /// receiver, so that a search that comes again finds other ways.
    pub(super) fn repair(&mut self, item: u32) -> bool {
        let demand = self.items[item as usize].demand;
        let demands = self.demands;
        let mark = self.mark();
        self.turn = self.turn.wrapping_add(1);
        let (mut looked, mut tried) = (0, 0);
        for class in demands.accepted[demands.classes[demand as usize].accepted].ones() {
            let count = self.open.members(class).len();
            for step in 0..count {
                let node = self.open.members(class)[(self.turn * STRIDE + step) % count];
                if !self.open.is_open(node) || self.guests[node as usize].is_empty() {
                    continue;
                }
                looked += 1;
                self.probes += 1;
                if looked > WIDTH || tried > TRIES {
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
        let demand_of = |item: u32| self.items[item as usize].demand;
        let rank = |item: u32| self.rank[demand_of(item) as usize];
        let mut guests = self.guests[node as usize].clone();
        guests.retain(|&guest| rank(guest) > self.rank[demand as usize]);
        guests.sort_by_key(|&guest| (Reverse(rank(guest)), guest));
        guests.truncate(GUESTS);
        let fits = |gone: &[u32]| {
            let gone = gone.iter().map(|&guest| demand_of(guest));
            self.open.has_room_without(demand, node, &gone)
        };
        (1..=guests.len()).find(|&n| fits(&guests[..n])).map(|n| guests[..n].to_vec())
    }
}
