//! Host ports held on each node.
//!
//! May import: snapshot, filter

use crate::filter::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::NodeIdx;
use crate::snapshot::model::pod::HostPort;

/// Host ports per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Sorted, each with the number of pods that hold it.
    held: Vec<Vec<(HostPort, u32)>>,
}

impl Ports {
    /// No port held.
    pub fn new(snapshot: &Snapshot) -> Self {
        Self { held: vec![Vec::new(); snapshot.nodes.len()] }
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        let here = &mut self.held[change.node.at()];
        for &port in &snapshot.spec(change.tenant.spec).host_ports {
            match (here.binary_search_by_key(&port, |&(p, _)| p), change.arrives) {
                (Ok(at), true) => here[at].1 += 1,
                (Err(at), true) => here.insert(at, (port, 1)),
                (Ok(at), false) if here[at].1 > 1 => here[at].1 -= 1,
                (Ok(at), false) => drop(here.remove(at)),
                (Err(_), false) => {}
            }
        }
    }

    /// Ports held on a node.
    pub fn held(&self, node: NodeIdx) -> impl Iterator<Item = HostPort> {
        self.held[node.at()].iter().map(|&(port, _)| port)
    }
}
