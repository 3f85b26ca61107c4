//! Domains: nodes with equal values of a topology label.
//!
//! May import: snapshot, filter

use rustc_hash::FxHashMap;

use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, Sym};

/// A topology key that some rule of the snapshot names; numbers are of one [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyIdx(u32);

/// A domain of one key.
pub type Domain = u32;

/// Marks a node without the label.
const NONE: Domain = Domain::MAX;

/// The domains of all topology keys that pods name.
#[derive(Debug, Default)]
pub struct Topology {
    names: Vec<Sym>,
    index: FxHashMap<Sym, KeyIdx>,
    /// Per key, per node.
    domain_of: Vec<Vec<Domain>>,
}

impl Topology {
    /// Domains of every key in the terms and constraints of the snapshot's pods.
    pub fn new(snapshot: &Snapshot) -> Self {
        let mut topology = Self::default();
        for spec in &snapshot.specs {
            let terms = spec.affinity.iter().chain(spec.anti_affinity.iter()).map(|t| t.topology_key);
            for key in terms.chain(spec.spread.iter().map(|s| s.topology_key)) {
                topology.add(snapshot, key);
            }
        }
        topology
    }

    fn add(&mut self, snapshot: &Snapshot, key: Sym) {
        if self.index.contains_key(&key) {
            return;
        }
        let mut numbers: FxHashMap<Sym, Domain> = FxHashMap::default();
        let mut number = |value| {
            let next = Domain::try_from(numbers.len()).expect("fewer than 2^32 domains");
            *numbers.entry(value).or_insert(next)
        };
        let domains =
            snapshot.nodes.iter().map(|node| node.labels.get(key).map_or(NONE, &mut number)).collect();
        let at = KeyIdx(u32::try_from(self.names.len()).expect("fewer than 2^32 keys"));
        self.index.insert(key, at);
        self.names.push(key);
        self.domain_of.push(domains);
    }

    /// The key of that name, which some rule of the snapshot names.
    pub fn key(&self, name: Sym) -> KeyIdx {
        self.index[&name]
    }

    /// Name of a key.
    pub fn name(&self, key: KeyIdx) -> Sym {
        self.names[key.0 as usize]
    }

    /// The node's domain; `None` when it lacks the label.
    pub fn domain(&self, key: KeyIdx, node: NodeIdx) -> Option<Domain> {
        let domain = self.domain_of[key.0 as usize][node.at()];
        (domain != NONE).then_some(domain)
    }
}
