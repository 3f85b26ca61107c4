//! A packing heuristic: shows that a number of nodes is enough.
//!
//! May import: nothing of this crate

use std::collections::BTreeMap;

use super::load::{Class, Load, Work};

/// Whether best-fit decreasing packs everything into the `nodes` largest bins: items largest first, each into
/// the bin with the least room that still takes it. `false` proves nothing.
///
/// Bins with equal room left are one entry, and equal items are placed together: after one went into a bin,
/// that bin has the least room of all, so it also takes the next ones until it can take no more.
pub(super) fn fits(load: &Load, nodes: u64, work: &mut Work) -> bool {
    fits_into(&load.items, load.largest(nodes), work)
}

/// The same for any items (largest first) and bins (each capacity once).
pub(super) fn fits_into(items: &[Class], bins: impl Iterator<Item = Class>, work: &mut Work) -> bool {
    let usable = bins.filter(|bin| bin.count > 0);
    let mut room: BTreeMap<i64, u64> = usable.map(|bin| (bin.amount, bin.count)).collect();
    for item in items {
        let mut left = item.count;
        while left > 0 {
            if !work.spend(STEPS_PER_MOVE) {
                return false;
            }
            let Some((&free, &bins)) = room.range(item.amount..).next() else { return false };
            let each = (free / item.amount).unsigned_abs();
            // Whole bins while there are enough items to fill them, then one bin with the remainder.
            let (filled, placed) = match bins.min(left / each) {
                0 => (1, left),
                full => (full, each),
            };
            left -= filled * placed;
            take(&mut room, free, filled);
            // placed ≤ each, so the product is at most `free` and the conversion cannot fail.
            let rest = free - item.amount * i64::try_from(placed).unwrap_or(0);
            *room.entry(rest).or_insert(0) += filled;
        }
    }
    true
}

/// One look-up and two updates of the map of rooms, in elementary steps.
const STEPS_PER_MOVE: u64 = 16;

fn take(room: &mut BTreeMap<i64, u64>, free: i64, bins: u64) {
    if let Some(count) = room.get_mut(&free) {
        *count -= bins;
        if *count == 0 {
            room.remove(&free);
        }
    }
}
