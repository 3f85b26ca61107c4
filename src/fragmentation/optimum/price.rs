//! The most valuable pattern of a bin: a bounded knapsack in exact integers.
//!
//! May import: nothing of this crate

use super::load::{Load, Work};
use super::pattern::{Pattern, most};

/// The most valuable pattern found, and a proven bound on the value of every pattern.
pub(super) struct Price {
    pub pattern: Pattern,
    /// The value of `pattern`.
    pub found: u128,
    /// No pattern is worth more; equal to `found` when the search was complete.
    pub bound: u128,
}

/// Depth-first search over the sizes in order of falling value per amount; a branch is cut when even filling
/// the rest at the next size's rate would not beat the best (Kolesar 1967). Weights are at most 2^50.
pub(super) fn price(load: &Load, weights: &[u128], capacity: i64, work: &mut Work) -> Price {
    let mut order: Vec<usize> = (0..weights.len()).filter(|&index| weights[index] > 0).collect();
    // w_a / s_a > w_b / s_b, without division; equal rates: larger items first.
    let rate = |a: usize, b: usize| weights[a] * wide(load.items[b].amount);
    order.sort_by(|&a, &b| rate(b, a).cmp(&rate(a, b)).then(a.cmp(&b)));
    let root = order.first().map_or(0, |&first| rest_bound(load, weights, first, capacity));
    let blank = vec![0; weights.len()];
    let mut search =
        Search { load, weights, order, current: blank.clone(), best: blank, found: 0, visits: 0 };
    let complete = search.descend(0, capacity, 0, work);
    let bound = if complete { search.found } else { root };
    Price { pattern: search.best, found: search.found, bound }
}

/// Branches looked at for one price before the bound of the root is used instead.
const MOST_VISITS: u32 = 20_000;

struct Search<'a> {
    load: &'a Load,
    weights: &'a [u128],
    order: Vec<usize>,
    current: Pattern,
    best: Pattern,
    found: u128,
    visits: u32,
}

impl Search<'_> {
    fn descend(&mut self, depth: usize, free: i64, value: u128, work: &mut Work) -> bool {
        self.visits += 1;
        if self.visits > MOST_VISITS || !work.spend(2) {
            return false;
        }
        if value > self.found {
            self.found = value;
            self.best.clone_from(&self.current);
        }
        let Some(&index) = self.order.get(depth) else { return true };
        let item = self.load.items[index];
        for taken in (0..=most(item, free)).rev() {
            let free = free - item.amount * i64::from(taken);
            let value = value + self.weights[index] * u128::from(taken);
            let rest =
                self.order.get(depth + 1).map_or(0, |&next| rest_bound(self.load, self.weights, next, free));
            // Fewer of this size leave more room, at a rate that is no better: the bound only falls.
            if value + rest <= self.found {
                break;
            }
            self.current[index] = taken;
            let complete = self.descend(depth + 1, free, value, work);
            self.current[index] = 0;
            if !complete {
                return false;
            }
        }
        true
    }
}

/// The value of `free` filled at the rate of one size, rounded up.
fn rest_bound(load: &Load, weights: &[u128], index: usize, free: i64) -> u128 {
    (weights[index] * wide(free)).div_ceil(wide(load.items[index].amount))
}

fn wide(amount: i64) -> u128 {
    u128::from(amount.unsigned_abs())
}
