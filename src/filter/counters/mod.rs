//! The counters of all plugins that look beyond one node's fixed properties.
//!
//! Each is updated by the same signed changes, so they undo exactly: whatever was applied and undone, a counter
//! equals one computed from scratch (tested). A counter may look at the snapshot, never at another counter.
//!
//! **To add one**: a file with a type that has `new(&Snapshot)`, `apply(&mut self, &Snapshot, &Change)` and
//! `PartialEq`, a field here, one line in each function below.
//!
//! May import: snapshot, filter

pub(super) mod amounts;

use super::state::Change;
use crate::snapshot::Snapshot;

/// All counters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counters {
    pub amounts: amounts::Amounts,
}

impl Counters {
    /// Counters of an empty cluster.
    pub fn new(snapshot: &Snapshot) -> Self {
        Self { amounts: amounts::Amounts::new(snapshot) }
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        self.amounts.apply(snapshot, change);
    }
}
