//! Volcano's rules: its own comparison of amounts, its own pod count, queue limits, and the plugins of kube's library
//! that its `predicates` plugin calls, as that library (1.36) has them (rulebook 2.2, 2.3).
//!
//! It lacks `VolumeRestrictions`, `NodeDeclaredFeatures` and `NodeResourcesFit`. `NodeName` it lacks as well, since it
//! never sees a pod with a node's name unbound; pods that are only asked about have one, so it comes first here.
//! Nominations of other pods reserve nothing; a pod that fits only once terminating pods are gone waits for the node
//! ([`Verdict::Wait`](super::Verdict::Wait)).
//!
//! May import: snapshot, filter

pub(super) mod csi;
mod pod_count;
mod queue;
mod refused;
mod resources;

pub use pod_count::PodCount;
pub use queue::QueueLimit;
pub(super) use refused::is_refused;
pub use resources::{FutureRoom, RoomNow};

use super::kube::{
    DynamicResources, InterPodAffinity, NamespaceFault, NodeAffinity, NodeName, NodePorts, NodeUnschedulable,
    NodeVolumeLimits, PodTopologySpread, TaintToleration, VolumeBinding, VolumeZone,
};
use super::plugin::Plugin;
use super::rules::RuleSet;
use super::verdict::PluginName;

/// In the order in which allocate asks: whether the pod would fit once releasing pods are gone, the predicates, and
/// last whether it fits now.
static PLUGINS: &[&dyn Plugin] = &[
    &NodeName,
    &QueueLimit,
    &FutureRoom,
    &PodCount,
    &NodeUnschedulable,
    &NodeAffinity,
    &TaintToleration,
    &NodePorts,
    &InterPodAffinity(NamespaceFault::Present),
    &NodeVolumeLimits { strict_drivers: false },
    &VolumeZone,
    &PodTopologySpread,
    &VolumeBinding,
    &DynamicResources { extended_resources: false },
    &RoomNow,
];

/// The rule set of Volcano.
pub static RULES: RuleSet = RuleSet {
    plugins: PLUGINS,
    nominations: false,
    narrows: false,
    amounts: &[PluginName::Resources, PluginName::Predicates],
    waits_from: PLUGINS.len() - 1,
    has_room: resources::has_room,
};
