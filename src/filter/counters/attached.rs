//! Which attachable volumes the pods of each node use, and how many pods use each.
//!
//! May import: snapshot, filter

use crate::filter::state::Change;
use crate::filter::volumes::attach::{Attachable, attachables};
use crate::filter::volumes::{Holder, Trouble};
use crate::snapshot::Snapshot;
use crate::snapshot::model::NodeIdx;

/// Volumes in use per node.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    nodes: Vec<InUse>,
}

/// Volumes in use on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InUse {
    /// Volumes with the number of pods that use them, sorted.
    volumes: Vec<(Attachable, u32)>,
    /// Pods with an ephemeral volume whose claim is not theirs: the plugin gives up on such a node.
    pub broken: u32,
}

impl InUse {
    /// The volumes, sorted.
    pub fn volumes(&self) -> impl Iterator<Item = Attachable> + '_ {
        self.volumes.iter().map(|&(volume, _)| volume)
    }

    /// True when some pod uses the volume.
    pub fn contains(&self, volume: Attachable) -> bool {
        self.volumes.binary_search_by_key(&volume, |&(v, _)| v).is_ok()
    }

    fn count(&mut self, volume: Attachable, arrives: bool) {
        match (self.volumes.binary_search_by_key(&volume, |&(v, _)| v), arrives) {
            (Ok(at), true) => self.volumes[at].1 += 1,
            (Err(at), true) => self.volumes.insert(at, (volume, 1)),
            (Ok(at), false) if self.volumes[at].1 > 1 => self.volumes[at].1 -= 1,
            (Ok(at), false) => drop(self.volumes.remove(at)),
            (Err(_), false) => {}
        }
    }

    fn take_in(&mut self, volumes: &[Attachable], broken: bool, arrives: bool) {
        for &volume in volumes {
            self.count(volume, arrives);
        }
        if broken {
            self.broken = if arrives { self.broken + 1 } else { self.broken.saturating_sub(1) };
        }
    }
}

/// What a pod that stands on a node uses there, and whether one of its ephemeral claims is not its own. A claim that
/// does not exist is not counted.
pub fn uses(snapshot: &Snapshot, holder: &Holder<'_>, node: NodeIdx) -> (Vec<Attachable>, bool) {
    let mut broken = false;
    let volumes = attachables(snapshot, holder, node, |trouble| {
        broken |= matches!(trouble, Trouble::NotOwned(_));
        Ok(())
    });
    (volumes.unwrap_or_default(), broken)
}

impl Attached {
    /// Nothing in use.
    pub fn new(snapshot: &Snapshot) -> Self {
        Self { nodes: vec![InUse::default(); snapshot.nodes.len()] }
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        if snapshot.spec(change.tenant.spec).volumes.is_empty() {
            return;
        }
        let (volumes, broken) = uses(snapshot, &Holder::tenant(snapshot, &change.tenant), change.node);
        self.nodes[change.node.at()].take_in(&volumes, broken, change.arrives);
    }

    /// What is in use on a node.
    pub fn on(&self, node: NodeIdx) -> &InUse {
        &self.nodes[node.at()]
    }
}
