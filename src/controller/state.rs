//! What the controller asks of whoever follows the cluster.
//!
//! May import: snapshot

use kube::core::DynamicObject;
use serde_json::Value;

use crate::snapshot::Snapshot;
use crate::snapshot::read::LeftOut;

/// A pod by namespace and name, reduced to what planning reads.
pub type PodText = Box<dyn Fn(&str, &str) -> Option<Value> + Send + Sync>;

/// The cluster at one moment: the model, and the pods that it is made of.
pub struct Picture {
    /// The model.
    pub snapshot: Snapshot,
    /// Kinds that exist and could not be read.
    pub left_out: Vec<LeftOut>,
    /// The pods of that moment.
    pub pod: PodText,
}

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

    /// The same with other pods than those that watches told of.
    ///
    /// # Errors
    /// As above.
    fn snapshot_with(&self, pods: &[DynamicObject]) -> Result<Snapshot, String>;

    /// The cluster now, with its pods.
    ///
    /// # Errors
    /// As above.
    fn picture(&self) -> Result<Picture, String>;

    /// Grows with every change.
    fn generation(&self) -> u64;
}
