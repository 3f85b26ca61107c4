//! The fewest nodes that can hold the whole load of one resource, each pod whole on one node.
//!
//! This is the *optimum* of the fragmentation rate: bin packing with bins of unequal, limited supply, where
//! every bin costs the same. Pods are items (their request of the resource), providing nodes are bins
//! (capacity = max(allocatable, used), so that the current placement is always a feasible witness).
//!
//! The answer comes from a cascade, cheapest first, that ends as soon as a lower bound meets a packing:
//! 1. `load`: bins cost the same, so only the k largest matter;
//! 2. `bound`: counting bounds, which *are* the answer when the sizes form a divisibility chain (1, 2, 4, 8);
//! 3. `pack`: best-fit decreasing into as many bins as the bound says;
//! 4. `pattern`: the ways to fill one bin; `relaxation`: the linear bound over them (with `price` where
//!    they are too many to list); `dive`: a packing along the relaxation; `integer`: the rest.
//!
//! Every bound is proven in integers (one named exception in `integer`); floating point only proposes.
//!
//! Units: whole amounts of the resource (cards); results in nodes. Cost: linear in the number of classes for
//! chains, otherwise bounded by the effort the caller grants; the number of pods and nodes never matters.
//! Deterministic: no clock, no randomness, effort counted in steps.
//!
//! May import: nothing of this crate

mod bound;
mod dive;
mod integer;
mod load;
mod pack;
mod pattern;
mod price;
mod relaxation;
#[cfg(test)]
mod tests;

use load::{Load, Work};
use pattern::Patterns;

/// Pods that request the same amount of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemClass {
    /// The amount one pod requests. Classes of size ≤ 0 take no room and are ignored.
    pub size: i64,
    /// How many such pods there are.
    pub count: u64,
}

/// Nodes that can hold the same amount of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinClass {
    /// max(allocatable, used) of one node. Classes of capacity ≤ 0 hold nothing and are ignored.
    pub capacity: i64,
    /// How many such nodes there are.
    pub count: u64,
}

/// The fewest nodes that hold everything, or the best that is proven about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimum {
    /// The optimum when `exact`; otherwise a proven lower bound, never above the occupied count.
    pub nodes: u64,
    /// Whether `nodes` is the optimum itself.
    pub exact: bool,
}

/// Effort for one report: some milliseconds, at worst a few tens, of pattern search; clusters whose pods have
/// sizes 1, 2, 4, 8 use none of it.
pub const DEFAULT_EFFORT: u64 = 8_000_000;

/// The fewest of `bins` that hold all `items`, each item whole in one bin.
///
/// `occupied` is the number of nodes that hold the items now; it bounds the answer from above because the
/// current placement is feasible. `effort` counts elementary steps (a few nanoseconds each); with 0 nothing
/// but the closed form and the volume bound is computed. Classes may come in any order and repeat; the result
/// does not depend on their order.
///
/// Where the items do not fit into the bins at all (so `occupied` is no witness), the answer is `occupied`,
/// inexact.
pub fn optimum(items: &[ItemClass], bins: &[BinClass], occupied: u64, effort: u64) -> Optimum {
    let load = Load::new(items, bins, occupied);
    let mut work = Work::new(effort);
    if load.items.is_empty() {
        return Optimum { nodes: 0, exact: true };
    }
    let at_least = |nodes: u64| Optimum { nodes: nodes.min(occupied), exact: false };
    let exactly = |nodes: u64| Optimum { nodes, exact: true };

    let Some(mut lower) = bound::counting(&load, &mut work) else { return at_least(occupied) };
    if lower == occupied || bound::is_chain(&load) || pack::fits(&load, lower, &mut work) {
        return exactly(lower);
    }
    let Some(mut patterns) = Patterns::new(&load, &mut work) else { return at_least(lower) };
    if let Some(relaxed) = relaxation::bound(&load, &mut patterns, &mut work).filter(|&bound| bound > lower) {
        lower = relaxed.min(occupied);
        if lower == occupied || pack::fits(&load, lower, &mut work) {
            return exactly(lower);
        }
    }
    if dive::fits(&load, &patterns, lower, &mut work) {
        return exactly(lower);
    }
    match integer::optimum(&load, &patterns, lower, &mut work) {
        Some(nodes) => exactly(nodes.min(occupied)),
        None => at_least(lower),
    }
}
