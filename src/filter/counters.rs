//! The counters of all plugins that look beyond one node's fixed properties.
//!
//! Each is updated by the same signed changes, so they undo exactly. A counter may look at the snapshot, never at
//! another counter.
//!
//! May import: snapshot, filter

use super::state::Change;
use crate::snapshot::Snapshot;

/// All counters.
#[derive(Debug)]
pub(super) struct Counters {}

impl Counters {
    /// Counters of an empty cluster.
    pub fn new(_snapshot: &Snapshot) -> Self {
        Self {}
    }

    /// Takes in one change.
    pub fn apply(&mut self, _snapshot: &Snapshot, _change: &Change) {}
}
