//! The packing problem in normal form, and the effort that may be spent on it.
//!
//! Every bin costs 1, so some optimal packing uses the largest bins: if it uses a bin and leaves a larger one
//! unused, the contents of the first can move over. Hence the optimum is the least k such that the items fit
//! into the k largest bins, only prefixes of the sorted bins are ever looked at, and bins beyond the `occupied`
//! largest cannot matter. This holds for any sizes and any mix of capacities.
//!
//! May import: nothing of this crate

use super::{BinClass, ItemClass};

/// Equal items or equal bins: an amount and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub amount: i64,
    pub count: u64,
}

/// Items and bins: merged by amount, largest first, all amounts > 0 and divided by the items' greatest common
/// divisor (capacities rounded down: what is left over can hold nothing).
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub items: Vec<Class>,
    /// At most the `occupied` largest bins; bins too small for every item are dropped.
    pub bins: Vec<Class>,
}

impl Load {
    pub fn new(items: &[ItemClass], bins: &[BinClass], occupied: u64) -> Self {
        let mut items = merged(items.iter().map(|item| Class { amount: item.size, count: item.count }));
        let unit = items.iter().fold(0, |unit, item| gcd(unit, item.amount)).max(1);
        for item in &mut items {
            item.amount /= unit;
        }
        let smallest = items.last().map_or(1, |item| item.amount);
        let scaled = bins.iter().map(|bin| Class { amount: bin.capacity / unit, count: bin.count });
        let mut bins = merged(scaled.filter(|bin| bin.amount >= smallest));
        let mut left = occupied;
        for bin in &mut bins {
            bin.count = bin.count.min(left);
            left -= bin.count;
        }
        bins.retain(|bin| bin.count > 0);
        Self { items, bins }
    }

    /// The `nodes` largest bins, as classes.
    pub fn largest(&self, nodes: u64) -> impl Iterator<Item = Class> + '_ {
        let mut left = nodes;
        self.bins.iter().map_while(move |bin| {
            let count = bin.count.min(left);
            left -= count;
            (count > 0).then_some(Class { amount: bin.amount, count })
        })
    }

    /// The fewest largest bins whose values add up to `demand`; `None` when all of them do not.
    /// `value` must not fall when the capacity grows. Sums saturate, on both sides far above any real cluster.
    pub fn fewest(&self, demand: u128, mut value: impl FnMut(usize, i64) -> u128) -> Option<u64> {
        let mut missing = demand;
        let mut nodes = 0_u64;
        for (index, bin) in self.bins.iter().enumerate() {
            if missing == 0 {
                break;
            }
            let each = value(index, bin.amount);
            if each == 0 {
                return None;
            }
            let needed = u64::try_from(missing.div_ceil(each)).unwrap_or(u64::MAX).min(bin.count);
            missing = missing.saturating_sub(each.saturating_mul(u128::from(needed)));
            nodes = nodes.saturating_add(needed);
        }
        (missing == 0).then_some(nodes)
    }
}

/// Sorted by amount, largest first; equal amounts joined; nothing empty or without size.
fn merged(classes: impl Iterator<Item = Class>) -> Vec<Class> {
    let mut classes: Vec<Class> = classes.filter(|class| class.amount > 0 && class.count > 0).collect();
    classes.sort_unstable_by_key(|class| std::cmp::Reverse(class.amount));
    classes.dedup_by(|next, kept| {
        let same = next.amount == kept.amount;
        if same {
            kept.count = kept.count.saturating_add(next.count);
        }
        same
    });
    classes
}

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Steps that may still be taken. Counted, never timed, so that the same input gives the same answer.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
}

impl Work {
    pub fn new(effort: u64) -> Self {
        Self { left: effort }
    }

    /// Takes `steps` off; false when not that many are left (then none are).
    pub fn spend(&mut self, steps: u64) -> bool {
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        enough
    }

    pub fn left(&self) -> u64 {
        self.left
    }
}
