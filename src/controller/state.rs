//! What the controller asks of whoever follows the cluster.
//!
//! May import: snapshot

use crate::snapshot::Snapshot;
use crate::snapshot::read::LeftOut;

/// The cluster as it is now, fed by watches.
pub trait ClusterState: Send + Sync {
    /// Whether every list has arrived once.
    fn synced(&self) -> bool;

    /// A pod, `namespace/name`, of another repack engine that runs in this cluster and would answer the same runs.
    fn other_engine(&self) -> Option<String>;

    /// The cluster now, as one immutable model; kinds that exist and could not be read stand in the second part.
    ///
    /// # Errors
    /// A sentence without a full stop: no model can be made of what arrived.
    fn snapshot(&self) -> Result<(Snapshot, Vec<LeftOut>), String>;
}
