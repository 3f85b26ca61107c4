//! The counters of all plugins that look beyond one node's fixed properties.
//!
//! Each is updated by the same signed changes, so they undo exactly: whatever was applied and undone, a counter
//! equals one computed from scratch (tested). A counter may look at the snapshot, never at another counter.
//!
//! **To add one**: a file with a type that has `new` (an empty cluster), `apply` (one change) and `PartialEq`, a
//! field here, one line in each function below, and in `concerned` which pods it looks at.
//!
//! May import: snapshot, filter

pub(super) mod affinity;
pub(super) mod amounts;
pub(super) mod attached;
pub(super) mod bindings;
pub(super) mod csi_units;
pub(super) mod devices;
pub(super) mod exclusive;
pub(super) mod ports;
pub(super) mod queues;
mod selection;
pub(super) mod spread;
mod topology;

use std::sync::Arc;

use super::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{PodSpec, SpecIdx};
use selection::Selection;
use topology::Topology;

/// All counters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counters {
    pub amounts: amounts::Amounts,
    pub csi_units: csi_units::CsiUnits,
    pub queues: queues::Queues,
    pub ports: ports::Ports,
    pub affinity: affinity::Affinity,
    pub spread: spread::SpreadCounts,
    pub attached: attached::Attached,
    pub bindings: bindings::Bindings,
    pub exclusive: exclusive::Exclusive,
    pub devices: devices::Devices,
    /// By spec: some counter but those of amounts and queues looks at its pods. Most pods concern none of them.
    concerned: Arc<[bool]>,
}

impl Counters {
    /// Counters of an empty cluster.
    pub fn new(snapshot: &Snapshot) -> Self {
        let topology = Arc::new(Topology::new(snapshot));
        let selection = Selection::new(snapshot);
        let affinity = affinity::Affinity::new(snapshot, &topology, &selection);
        let spread = spread::SpreadCounts::new(snapshot, &topology, &selection);
        let devices = !(snapshot.dra.is_empty() && snapshot.dra.templates.is_empty());
        let concerned = |(at, spec): (usize, &PodSpec)| {
            let holds = !(spec.host_ports.is_empty() && spec.volumes.is_empty() && spec.claims.is_empty());
            let spec = SpecIdx::new(at);
            devices || holds || affinity.counts(spec) || spread.counts(spec)
        };
        Self {
            concerned: snapshot.specs.iter().enumerate().map(concerned).collect(),
            amounts: amounts::Amounts::new(snapshot),
            csi_units: csi_units::CsiUnits::default(),
            queues: queues::Queues::new(snapshot),
            ports: ports::Ports::new(snapshot),
            affinity,
            spread,
            attached: attached::Attached::new(snapshot),
            bindings: bindings::Bindings::new(snapshot),
            exclusive: exclusive::Exclusive::new(snapshot),
            devices: devices::Devices::new(snapshot),
        }
    }

    /// Takes in one change. `undoes`: it takes back the latest change that was not taken back yet.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change, undoes: bool) {
        self.amounts.apply(snapshot, change);
        self.queues.apply(snapshot, change);
        if !self.concerned[change.tenant.spec.at()] {
            return;
        }
        self.csi_units.apply(snapshot, change);
        self.ports.apply(snapshot, change);
        self.affinity.apply(change);
        self.spread.apply(change);
        self.attached.apply(snapshot, change);
        self.bindings.apply(snapshot, change, undoes);
        self.exclusive.apply(snapshot, change);
        if undoes {
            self.devices.undo(snapshot, change);
        } else {
            self.devices.apply(snapshot, change);
        }
    }
}
