//! kube-scheduler's default profile: one file per Filter plugin.
//!
//! **To add a plugin**: a file with a unit struct that implements [`Plugin`](super::Plugin), its place in [`RULES`],
//! table-driven tests named by the rulebook's examples. Reject with the plugin's own [`Code`](super::Code):
//! `Unresolvable` where removing pods from the node can not help.
//!
//! May import: snapshot, filter

pub(in crate::filter) mod dynamic_resources;
mod inter_pod_affinity;
mod native_group;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_fit;
mod node_unschedulable;
mod node_volume_limits;
mod pod_topology_spread;
mod taint_toleration;
#[cfg(test)]
pub(super) mod testing;
mod volume_binding;
mod volume_restrictions;
mod volume_zone;

pub use dynamic_resources::DynamicResources;
pub use inter_pod_affinity::{InterPodAffinity, NamespaceFault};
pub use native_group::NativeGroup;
pub use node_affinity::NodeAffinity;
pub use node_declared_features::NodeDeclaredFeatures;
pub use node_name::NodeName;
pub use node_ports::NodePorts;
pub use node_resources_fit::NodeResourcesFit;
pub use node_unschedulable::NodeUnschedulable;
pub use node_volume_limits::NodeVolumeLimits;
pub use pod_topology_spread::PodTopologySpread;
pub use taint_toleration::{TaintToleration, tolerated_for_a_while};
pub use volume_binding::VolumeBinding;
pub use volume_restrictions::VolumeRestrictions;
pub use volume_zone::VolumeZone;

pub(super) use node_affinity::matches as matches_node;
pub(super) use taint_toleration::untolerated;

use super::plugin::{Check, ClassRule, Context, Visit};
use super::rules::RuleSet;
use super::verdict::PluginName;

/// The rule set of the default profile, in the order in which it asks and reports.
pub static RULES: RuleSet = RuleSet {
    plugins: &[
        &NodeUnschedulable,
        &NodeName,
        &TaintToleration,
        &NodeAffinity,
        &NodePorts,
        &NodeResourcesFit,
        &VolumeRestrictions,
        &NodeVolumeLimits { strict_drivers: true },
        &VolumeBinding,
        &VolumeZone,
        &PodTopologySpread,
        &InterPodAffinity(NamespaceFault::Fixed),
        &DynamicResources { extended_resources: true },
        &NodeDeclaredFeatures,
        &NativeGroup,
    ],
    nominations: true,
    narrows: true,
    amounts: &[PluginName::NodeResourcesFit],
    waits_from: usize::MAX,
    has_room: node_resources_fit::has_room,
};

/// A class rule, asked about one node.
pub(super) fn ask_class<'a>(context: Context<'a>, rule: ClassRule) -> Box<dyn Check + 'a> {
    let (snapshot, pod) = (context.snapshot(), context.node_rules());
    Box::new(move |at: Visit<'_>| rule(snapshot, pod, snapshot.node(at.node)))
}
