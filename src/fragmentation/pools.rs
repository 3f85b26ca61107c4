//! Node pools: providing nodes grouped by the value of a label, each pool with totals of its own.
//!
//! A pool's optimum packs the pool's own pods onto the pool's own nodes, so pool rates do not add up to the rate of
//! the cluster, which may also move pods between pools.
//!
//! May import: snapshot, fragmentation

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use super::holes::{Holes, NodeRoom};
use super::load::{Closed, Load};
use super::optimum::DEFAULT_EFFORT;
use super::rate::{Rate, Tally};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, Sym};

/// Name of the pool of nodes without the label. No label value can look like it.
pub const NO_LABEL: &str = "<none>";

/// Totals of the cluster or of one pool, over the nodes that provide the resource.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Nodes providing, occupied, and the fewest that could hold the load.
    pub rate: Rate,
    /// Occupied nodes whose pods are all terminating.
    pub emptying: i64,
    /// Nodes that take no new pods: not Ready, cordoned, or leaving.
    pub closed: i64,
    /// Allocatable amount.
    pub total: i64,
    /// Amount in use.
    pub used: i64,
    /// Idle amount.
    pub free: i64,
    /// The part of `free` on closed nodes, where no job can use it.
    pub free_closed: i64,
    /// Holes of the nodes that take new pods, and what fits into them.
    pub holes: Holes,
}

/// One pool.
#[derive(Clone, Debug)]
pub struct Pool<'s> {
    /// The label's value, or [`NO_LABEL`].
    pub name: &'s str,
    /// Its totals.
    pub totals: Totals,
}

/// What is gathered about a set of nodes before the optimum is computed.
#[derive(Default)]
struct Gathered {
    tally: Tally,
    closed: i64,
    free_closed: i64,
    rooms: Vec<NodeRoom>,
}

impl Gathered {
    fn node(&mut self, snapshot: &Snapshot, load: &Load, node: NodeIdx) {
        let node = load.node(node);
        self.tally.node(node);
        if Closed::of(snapshot, node.node).is_closed() {
            self.closed += 1;
            self.free_closed = self.free_closed.saturating_add(node.free());
        } else {
            self.rooms.push(NodeRoom { capacity: node.allocatable, free: node.free() });
        }
    }

    fn totals(self, effort: u64) -> Totals {
        Totals {
            rate: self.tally.rate(effort),
            emptying: self.tally.emptying,
            closed: self.closed,
            total: self.tally.total,
            used: self.tally.used,
            free: self.tally.free,
            free_closed: self.free_closed,
            holes: Holes::new(self.rooms),
        }
    }
}

/// Totals of the whole cluster.
pub fn cluster(snapshot: &Snapshot, load: &Load) -> Totals {
    let mut all = Gathered::default();
    load.providing().for_each(|node| all.node(snapshot, load, node.node));
    load.pods().for_each(|(_, amount)| all.tally.pod(amount));
    all.totals(DEFAULT_EFFORT)
}

/// The pool of a node.
pub fn of_node<'s>(snapshot: &'s Snapshot, label: &str, node: NodeIdx) -> &'s str {
    let value = snapshot.symbols.find(label).and_then(|key| snapshot.node(node).labels.get(key));
    value.map_or(NO_LABEL, |value| snapshot.text(value))
}

/// One pool per value of `label`, by value; nodes without it come last, as [`NO_LABEL`]. The pools share the effort
/// of one report.
pub fn by_label<'s>(snapshot: &'s Snapshot, load: &Load, label: &str) -> Vec<Pool<'s>> {
    let key = snapshot.symbols.find(label);
    let value_of = |node: NodeIdx| key.and_then(|key| snapshot.node(node).labels.get(key));
    let mut pools: Vec<(Option<Sym>, Gathered)> = Vec::new();
    let mut index: FxHashMap<Option<Sym>, usize> = FxHashMap::default();
    for node in load.providing() {
        let value = value_of(node.node);
        let at = *index.entry(value).or_insert_with(|| {
            pools.push((value, Gathered::default()));
            pools.len() - 1
        });
        pools[at].1.node(snapshot, load, node.node);
    }
    for (node, amount) in load.pods() {
        pools[index[&value_of(node)]].1.tally.pod(amount);
    }
    pools.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => snapshot.compare(*a, *b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
    let effort = DEFAULT_EFFORT / (pools.len().max(1) as u64);
    let name = |value: Option<Sym>| value.map_or(NO_LABEL, |value| snapshot.text(value));
    pools
        .into_iter()
        .map(|(value, gathered)| Pool { name: name(value), totals: gathered.totals(effort) })
        .collect()
}
