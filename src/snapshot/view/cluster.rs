//! Views of Node, Namespace, PodGroup, Queue and PodDisruptionBudget.
//!
//! May import: snapshot

use serde::Deserialize;

use super::basic::{LabelSelectorView, List, MetaView, Pairs, Text, or_default};
use super::pod::ConditionView;

/// A Node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: NodeSpecView<'a>,
    /// Status.
    #[serde(borrow, deserialize_with = "or_default")]
    pub status: NodeStatusView<'a>,
}

/// `spec` of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpecView<'a> {
    /// Cordoned.
    pub unschedulable: Option<bool>,
    /// Taints.
    #[serde(borrow)]
    pub taints: List<TaintView<'a>>,
}

/// A taint of a node or device.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaintView<'a> {
    /// Key.
    #[serde(borrow)]
    pub key: Text<'a>,
    /// Value.
    #[serde(borrow)]
    pub value: Text<'a>,
    /// Effect.
    #[serde(borrow)]
    pub effect: Text<'a>,
}

/// `status` of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatusView<'a> {
    /// What pods may use.
    #[serde(borrow)]
    pub allocatable: Pairs<'a>,
    /// Conditions.
    #[serde(borrow)]
    pub conditions: List<ConditionView<'a>>,
    /// Features the kubelet declares.
    #[serde(borrow)]
    pub declared_features: List<Text<'a>>,
}

/// A Namespace.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NamespaceView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
}

/// A Volcano PodGroup.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodGroupView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: PodGroupSpecView<'a>,
    /// Status.
    #[serde(borrow, deserialize_with = "or_default")]
    pub status: PhaseView<'a>,
}

/// `spec` of a PodGroup.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupSpecView<'a> {
    /// Members needed to run.
    pub min_member: Option<i64>,
    /// Members needed per task.
    pub min_task_member: Option<std::collections::BTreeMap<String, i64>>,
    /// Queue; empty is `default`.
    #[serde(borrow)]
    pub queue: Text<'a>,
    /// Resources needed to be admitted.
    #[serde(borrow)]
    pub min_resources: Pairs<'a>,
    /// Priority class.
    #[serde(borrow)]
    pub priority_class_name: Text<'a>,
    /// Topology requirement.
    #[serde(borrow)]
    pub network_topology: Option<TopologyView<'a>>,
}

/// `spec.networkTopology` of a PodGroup.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologyView<'a> {
    /// `hard` or `soft`.
    #[serde(borrow)]
    pub mode: Text<'a>,
    /// Highest tier the group may span.
    pub highest_tier_allowed: Option<i64>,
}

/// A status of which only the phase counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PhaseView<'a> {
    /// Phase.
    #[serde(borrow)]
    pub phase: Text<'a>,
}

/// A Volcano Queue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: QueueSpecView<'a>,
    /// Status.
    #[serde(borrow, deserialize_with = "or_default")]
    pub status: QueueStatusView<'a>,
}

/// `spec` of a Queue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueSpecView<'a> {
    /// Hard upper limit.
    #[serde(borrow)]
    pub capability: Pairs<'a>,
    /// Fair share.
    #[serde(borrow)]
    pub deserved: Pairs<'a>,
    /// Reserved amounts.
    #[serde(borrow, deserialize_with = "or_default")]
    pub guarantee: GuaranteeView<'a>,
    /// Parent queue.
    #[serde(borrow)]
    pub parent: Text<'a>,
    /// Weight in proportion.
    pub weight: Option<i32>,
}

/// `spec.guarantee` of a Queue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GuaranteeView<'a> {
    /// Amounts.
    #[serde(borrow)]
    pub resource: Pairs<'a>,
}

/// `status` of a Queue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueStatusView<'a> {
    /// `Open`, `Closed`, `Closing`, `Unknown`.
    #[serde(borrow)]
    pub state: Text<'a>,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BudgetView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: BudgetSpecView<'a>,
    /// Status.
    #[serde(borrow)]
    pub status: Option<BudgetStatusView<'a>>,
}

/// `spec` of a budget.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetSpecView<'a> {
    /// Covered pods; absent covers none, empty covers the namespace.
    #[serde(borrow)]
    pub selector: Option<LabelSelectorView<'a>>,
    /// Number or percentage.
    #[serde(borrow)]
    pub min_available: Option<Text<'a>>,
    /// Number or percentage.
    #[serde(borrow)]
    pub max_unavailable: Option<Text<'a>>,
    /// `IfHealthyBudget` (default) or `AlwaysAllow`.
    #[serde(borrow)]
    pub unhealthy_pod_eviction_policy: Text<'a>,
}

/// `status` of a budget.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetStatusView<'a> {
    /// Evictions allowed now.
    #[serde(deserialize_with = "or_default")]
    pub disruptions_allowed: i64,
    /// Healthy pods now.
    #[serde(deserialize_with = "or_default")]
    pub current_healthy: i64,
    /// Healthy pods needed.
    #[serde(deserialize_with = "or_default")]
    pub desired_healthy: i64,
    /// Pods the budget counts.
    #[serde(deserialize_with = "or_default")]
    pub expected_pods: i64,
    /// Generation the status speaks of.
    pub observed_generation: Option<i64>,
    /// Conditions.
    #[serde(borrow)]
    pub conditions: List<ConditionView<'a>>,
}
