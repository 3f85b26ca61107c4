//! The fragmentation rate: (occupied − optimum) / providing, over the whole cluster or over one pool.
//!
//! The fraction is exact; percentages are rounded from it half up, thresholds compare fractions. Where the optimum is
//! only a lower bound, the rate is an upper bound.
//!
//! May import: snapshot, fragmentation, api

use std::collections::BTreeMap;

use super::load::{Load, NodeLoad};
use super::optimum::{BinClass, DEFAULT_EFFORT, ItemClass, optimum};
use crate::api::ExactRate;
use crate::snapshot::Snapshot;
use crate::snapshot::model::ResourceIdx;

/// The rate of one resource, in nodes. Always 0 ≤ optimum ≤ occupied ≤ providing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Nodes that provide the resource.
    pub providing: i64,
    /// Those of them that hold some of it.
    pub occupied: i64,
    /// The fewest providing nodes that could hold all of it, each pod whole on one node.
    pub optimum: i64,
    /// False when `optimum` is only a proven lower bound.
    pub optimum_exact: bool,
}

impl Default for Rate {
    /// Nothing provides the resource, which is exact.
    fn default() -> Self {
        Self { providing: 0, occupied: 0, optimum: 0, optimum_exact: true }
    }
}

impl Rate {
    /// The rate of the cluster as it is. Scope never changes it.
    pub fn of(snapshot: &Snapshot, resource: ResourceIdx) -> Self {
        Self::of_load(&Load::live(snapshot, resource))
    }

    /// The rate of a load, live or planned.
    pub fn of_load(load: &Load) -> Self {
        let mut tally = Tally::default();
        load.providing().for_each(|node| tally.node(node));
        load.pods().for_each(|(_, amount)| tally.pod(amount));
        tally.rate(DEFAULT_EFFORT)
    }

    /// Nodes occupied beyond the optimum.
    pub const fn excess(&self) -> i64 {
        self.occupied - self.optimum
    }

    /// The fraction with its texts; 0 where no node provides the resource.
    pub fn exact(&self) -> ExactRate {
        ExactRate::new(self.excess(), self.providing)
    }

    /// Whole percent, half up.
    pub fn percent(&self) -> i32 {
        crate::api::whole_percent(self.excess(), self.providing)
    }

    /// Whether the rate falls by at least so many percentage points to `after`, compared as fractions.
    pub fn falls_by(&self, after: &Self, percent: i64) -> bool {
        let wide = i128::from;
        let (here, there) = (wide(self.providing.max(1)), wide(after.providing.max(1)));
        let fall = wide(self.excess()) * there - wide(after.excess()) * here;
        fall * 100 >= wide(percent) * here * there
    }
}

/// Counts over a set of nodes and the pods on them.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub nodes: i64,
    pub occupied: i64,
    pub emptying: i64,
    /// Allocatable.
    pub total: i64,
    pub used: i64,
    pub free: i64,
    capacities: BTreeMap<i64, u64>,
    sizes: BTreeMap<i64, u64>,
}

impl Tally {
    pub fn node(&mut self, node: &NodeLoad) {
        self.nodes += 1;
        self.occupied += i64::from(node.is_occupied());
        self.emptying += i64::from(node.is_emptying());
        self.total = self.total.saturating_add(node.allocatable);
        self.used = self.used.saturating_add(node.used);
        self.free = self.free.saturating_add(node.free());
        *self.capacities.entry(node.capacity()).or_default() += 1;
    }

    pub fn pod(&mut self, amount: i64) {
        *self.sizes.entry(amount).or_default() += 1;
    }

    /// The rate of these pods on these nodes.
    pub fn rate(&self, effort: u64) -> Rate {
        let items: Vec<ItemClass> =
            self.sizes.iter().map(|(&size, &count)| ItemClass { size, count }).collect();
        let bins: Vec<BinClass> =
            self.capacities.iter().map(|(&capacity, &count)| BinClass { capacity, count }).collect();
        let fewest = optimum(&items, &bins, self.occupied.unsigned_abs(), effort);
        let optimum = i64::try_from(fewest.nodes).unwrap_or(self.occupied);
        Rate { providing: self.nodes, occupied: self.occupied, optimum, optimum_exact: fewest.exact }
    }
}
