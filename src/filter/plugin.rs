//! The shape of a Filter plugin.
//!
//! May import: snapshot, filter

use fixedbitset::FixedBitSet;

use super::state::{Incoming, State};
use super::verdict::{Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodSpec};

/// What a plugin looks at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The cluster after the changes so far.
    pub state: &'a State<'a>,
    /// The pod to place.
    pub incoming: Incoming,
}

impl<'a> Context<'a> {
    /// The snapshot.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.state.snapshot()
    }

    /// The spec of the pod to place.
    pub fn spec(&self) -> &'a PodSpec {
        self.snapshot().spec(self.incoming.spec)
    }
}

/// What a plugin says before it looks at any node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreFilter {
    /// Nothing to check for this pod: the plugin stays out.
    Skip,
    /// Look at the nodes.
    Continue,
    /// Only these nodes are possible.
    Only(FixedBitSet),
    /// No node is possible.
    Reject(Failure),
}

/// A Filter.
pub trait Plugin: Sync {
    /// Its name.
    fn name(&self) -> PluginName;

    /// Looks at the pod and the cluster as a whole.
    fn pre_filter(&self, _context: &Context<'_>) -> PreFilter {
        PreFilter::Continue
    }

    /// Looks at one node. Called only if [`Plugin::pre_filter`] did not skip or reject.
    fn filter(&self, context: &Context<'_>, node: NodeIdx) -> Result<(), Failure>;
}
