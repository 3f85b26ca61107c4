//! Lower bounds that only count, and the closed form for divisibility chains.
//!
//! For a size s, give an item of size x the value ⌊x/s⌋. The items in one bin of capacity c are worth at most
//! ⌊c/s⌋ together, because ⌊·/s⌋ is superadditive (a dual feasible function; Fekete and Schepers 2001). So the
//! values of all items must not exceed those of the k bins used: a necessary condition for every s > 0. With
//! s = 1 it is the volume bound.
//!
//! **Closed form.** When each size divides the next larger one, the conditions for the sizes that occur are
//! also sufficient, for any mix of capacities. Place the items largest first, each into any bin where it fits.
//! When items of size s are placed, everything placed before is a multiple of s, so a bin of capacity c holding
//! f has exactly ⌊(c − f)/s⌋ = ⌊c/s⌋ − f/s slots of size s left, wherever things went. The total number of slots
//! left is Σ⌊c/s⌋ − Σf/s, and the condition for s says that it covers the items of size s. (Coffman, Garey and
//! Johnson 1987 show this for equal bins.) Each condition holds from some k on, so the optimum is the largest of
//! these k.
//!
//! May import: nothing of this crate

use super::load::{Load, Work};

/// Whether each size divides the next larger one; then [`counting`] is the optimum itself.
pub(super) fn is_chain(load: &Load) -> bool {
    load.items.windows(2).all(|pair| pair[0].amount % pair[1].amount == 0)
}

/// The largest counting bound; `None` when the bins cannot hold the items whatever the arrangement.
///
/// The volume bound, and every size of a chain (at most 63 of them), are counted whatever the effort; further
/// sizes, largest first, as far as a quarter of it reaches.
pub(super) fn counting(load: &Load, work: &mut Work) -> Option<u64> {
    let chain = is_chain(load);
    let mut lower = slots(load, 1)?;
    let cost = (load.items.len() + load.bins.len()) as u64;
    let reserve = work.left() / 4 * 3;
    for item in &load.items {
        if !chain && (work.left() - reserve < cost || !work.spend(cost)) {
            break;
        }
        lower = lower.max(slots(load, item.amount)?);
    }
    Some(lower)
}

/// The fewest bins that offer as many slots of size `s` as the items take at least.
fn slots(load: &Load, s: i64) -> Option<u64> {
    let in_slots = |amount: i64| u128::from((amount / s).unsigned_abs());
    let demand = load
        .items
        .iter()
        .take_while(|item| item.amount >= s)
        .fold(0_u128, |sum, item| sum.saturating_add(in_slots(item.amount) * u128::from(item.count)));
    load.fewest(demand, |_, capacity| in_slots(capacity))
}
