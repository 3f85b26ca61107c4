//! What a Filter says: pass, fail with a stable code and numbers, or unknown.
//!
//! May import: snapshot

use std::fmt;

use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx, Sym};

/// A Filter plugin; the text is what the scheduler calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginName {
    /// `NodeName`.
    NodeName,
    /// `NodeUnschedulable`.
    NodeUnschedulable,
    /// `TaintToleration`.
    TaintToleration,
    /// `NodeAffinity`.
    NodeAffinity,
    /// `NodePorts`.
    NodePorts,
    /// `NodeResourcesFit`.
    NodeResourcesFit,
    /// `VolumeRestrictions`.
    VolumeRestrictions,
    /// `NodeVolumeLimits`.
    NodeVolumeLimits,
    /// `VolumeBinding`.
    VolumeBinding,
    /// `VolumeZone`.
    VolumeZone,
    /// `PodTopologySpread`.
    PodTopologySpread,
    /// `InterPodAffinity`.
    InterPodAffinity,
    /// `DynamicResources`.
    DynamicResources,
    /// `NodeDeclaredFeatures`.
    NodeDeclaredFeatures,
    /// Volcano's own comparison of amounts; our name for it.
    Resources,
    /// Volcano's pod count, named after the plugin that has it.
    Predicates,
    /// Volcano's queue limits; our name for the capacity and proportion plugins.
    Queue,
    /// Native gang scheduling, which is not modelled.
    NativeGroup,
}

impl PluginName {
    /// The name in verdicts, reports and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NodeName => "NodeName",
            Self::NodeUnschedulable => "NodeUnschedulable",
            Self::TaintToleration => "TaintToleration",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodePorts => "NodePorts",
            Self::NodeResourcesFit => "NodeResourcesFit",
            Self::VolumeRestrictions => "VolumeRestrictions",
            Self::NodeVolumeLimits => "NodeVolumeLimits",
            Self::VolumeBinding => "VolumeBinding",
            Self::VolumeZone => "VolumeZone",
            Self::PodTopologySpread => "PodTopologySpread",
            Self::InterPodAffinity => "InterPodAffinity",
            Self::DynamicResources => "DynamicResources",
            Self::NodeDeclaredFeatures => "NodeDeclaredFeatures",
            Self::Resources => "resources",
            Self::Predicates => "predicates",
            Self::Queue => "queue",
            Self::NativeGroup => "NativeGroup",
        }
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether removing pods from the node may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// It may.
    Unschedulable,
    /// It can not.
    Unresolvable,
    /// The plugin ends in an internal error: kube aborts the whole cycle, Volcano rejects the node.
    Error,
    /// The rule can not be evaluated; counts as a failure and is told as such.
    Unknown,
}

/// Why a Filter refuses, with the numbers. The text of a detail is made where it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Too little of a resource: asked for, free (may be negative), in the units of the rules' request.
    Insufficient {
        /// The resource.
        resource: ResourceIdx,
        /// Amount asked for.
        need: i64,
        /// Amount free.
        have: i64,
    },
    /// The pod's group falls below its minimum, so its queue would have to admit it anew: what the group needs at
    /// least, and what the queue has left (may be negative), in Volcano's units.
    Readmission {
        /// The queue.
        queue: Sym,
        /// The resource.
        resource: ResourceIdx,
        /// Amount that the group needs.
        need: i64,
        /// Amount left.
        have: i64,
    },
    /// The node holds as many pods as it may.
    TooManyPods {
        /// Pods on the node.
        pods: i64,
        /// Pods it may hold.
        limit: i64,
    },
    /// A pod on the node holds this host port.
    PortTaken {
        /// The port.
        port: i32,
    },
    /// A taint is not tolerated.
    Taint {
        /// Key of the taint.
        key: Sym,
        /// Value of the taint.
        value: Sym,
    },
    /// The node is cordoned.
    Cordoned,
    /// The node does not match selector or affinity.
    Selector,
    /// The pod names another node.
    OtherNode,
    /// The node lacks this topology label.
    MissingTopologyKey {
        /// The label.
        key: Sym,
    },
    /// No pod that the affinity asks for is in the node's domain.
    AffinityUnmet,
    /// A pod in the node's domain is one that the anti-affinity keeps away from.
    AntiAffinity,
    /// A pod in the node's domain keeps pods like this one away.
    AntiAffinityOfOther,
    /// The spread would be too uneven.
    Skew {
        /// Label of the domains.
        key: Sym,
        /// Skew that would result.
        skew: i64,
        /// Skew allowed.
        limit: i64,
    },
    /// Too many volumes of one driver.
    VolumeLimit {
        /// Volumes attached or used.
        attached: i64,
        /// Volumes that would come.
        new: i64,
        /// Limit of the driver on the node.
        limit: i64,
    },
    /// A claim, volume, class or device is missing or does not fit; the text names it.
    Object {
        /// What is wrong, one clause.
        text: String,
    },
    /// A pod holds the only allowed use of a volume.
    VolumeInUse {
        /// The pod.
        by: Option<PodIdx>,
    },
    /// A pod nominated to the node with equal or higher priority needs the room.
    NominatedPods {
        /// The node.
        node: NodeIdx,
    },
    /// A rule is not modelled; the text says which.
    NotModelled {
        /// What is missing.
        text: String,
    },
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Who refuses.
    pub plugin: PluginName,
    /// Whether removing pods may help.
    pub code: Code,
    /// Why.
    pub detail: Detail,
}

/// The answer for one pod and one node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// The scheduler would bind the pod there now.
    Pass,
    /// Volcano would promise the node and wait for releasing pods to go; kube never answers this.
    Wait(Failure),
    /// The scheduler would refuse; the first failure in its order.
    Fail(Failure),
}

impl Verdict {
    /// True when the pod would be bound now.
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Pass)
    }
}
