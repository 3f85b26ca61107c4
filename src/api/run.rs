//! `RepackRun` and its spec: what a person asks for.
//!
//! The spec is the common currency of all fronts: command-line flags become one, a file is one, a policy makes one.
//!
//! May import: api

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{API_VERSION, LabelSelector, ObjectMeta, RepackRunStatus};

/// One request to free nodes, and the record of what came of it. Cluster scoped; the spec never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepackRun {
    /// `repack.volcano.sh/v1alpha1`.
    pub api_version: String,
    /// `RepackRun`.
    pub kind: String,
    /// Name, labels, annotations.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What is asked for.
    pub spec: RepackRunSpec,
    /// What was planned, done and achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RepackRunStatus>,
}

impl RepackRun {
    /// The `kind` of the object.
    pub const KIND: &str = "RepackRun";

    /// A run without a name or a status.
    pub fn new(spec: RepackRunSpec) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            metadata: ObjectMeta::default(),
            spec,
            status: None,
        }
    }
}

/// What a run is asked to do. Absent optional fields mean "no limit" or the default of the field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepackRunSpec {
    /// Plan only, or also move.
    pub mode: Mode,
    /// Which PodGroups may be moved and which nodes may be emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The resource to free nodes of: none or one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<Goal>,
    /// Upper limits of the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_run: Option<MaxPerRun>,
    /// Blocks of free nodes wanted inside one HyperNode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
    /// How pods are evicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction: Option<Eviction>,
    /// Seconds after completionTime at which the run is deleted; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i64>,
    /// How the plan is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<Planner>,
    /// How the plan is carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// Another manager's name makes this product ignore the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
}

/// What a run does with its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Plan, and move nothing.
    #[default]
    DryRun,
    /// Plan afresh, then move.
    Execute,
}

/// The two sides of a run's scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Which PodGroups may be moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_groups: Option<ScopeRule>,
    /// Which nodes may be emptied; it never limits which may receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<ScopeRule>,
}

/// Include and exclude; exclude wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeRule {
    /// Absent or empty: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<ObjectSelection>,
    /// Absent or empty: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<ObjectSelection>,
}

/// The union of a selector's matches and a list of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectSelection {
    /// Absent: selects nothing by label. `{}`: selects everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// `namespace/name` for PodGroups, plain names for nodes; at most 1024.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl ObjectSelection {
    /// Whether it says nothing, which means "no restriction" wherever it stands.
    pub fn is_empty(&self) -> bool {
        self.selector.is_none() && self.names.is_empty()
    }
}

/// The resource to free nodes of, and the improvement below which it is not worth moving anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    /// An extended resource such as `huawei.com/ascend-1980`.
    pub resource: String,
    /// Percentage points by which the fragmentation rate has to fall, 0 to 100.
    #[serde(default)]
    pub min_frag_improvement_percent: i64,
}

/// Upper limits of one run, cascades included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MaxPerRun {
    /// Distinct PodGroups; 0 means that nothing may move, absent that there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_groups: Option<i64>,
    /// Resource to the largest sum over all moved pods, whether the resource is the goal or not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, i64>,
}

/// Blocks of free nodes that have to exist after the plan, each inside one HyperNode of a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkTopology {
    /// The tier by number; exactly one of number and name is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyper_node_tier: Option<i64>,
    /// The tier by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyper_node_tier_name: Option<String>,
    /// Nodes of a block, at least 1.
    #[serde(default = "one")]
    pub node_block_size: i64,
    /// Blocks wanted, at least 0.
    #[serde(default)]
    pub required_node_blocks: i64,
    /// Which HyperNodes are preferred.
    #[serde(default)]
    pub mode: TopologyMode,
}

/// Which HyperNodes blocks are looked for in first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TopologyMode {
    /// The fullest.
    #[default]
    Binpack,
    /// The emptiest.
    Spread,
}

/// How pods are evicted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Eviction {
    /// Seconds a pod has to end; absent: the pod's own value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
}

/// How the plan is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planner {
    /// Absent: `Search`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// Work units the search may spend, at least 1; never a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<i64>,
    /// Stop after this many freed nodes, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_freed_nodes: Option<i64>,
    /// Each further node has to bring at least this many allocatable cards per card that it damages, at least 0; 0:
    /// nothing is asked for. The first that brings less ends the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_benefit: Option<i64>,
    /// What each kind of disruption costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
}

/// The planning algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// Close to the optimum, with a bound that shows how close.
    Search,
    /// The documented greedy, node by node.
    Drain,
}

/// Cost of each kind of disruption, in tenths, each at least 0; absent ones keep their default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Weights {
    /// Per PodGroup touched; default 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected_pod_groups: Option<i64>,
    /// Per PodGroup that falls below minAvailable; default 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang_breaches: Option<i64>,
    /// Per card that stops working; default 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged_cards: Option<i64>,
    /// Per card moved; default 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_cards: Option<i64>,
    /// Per pod moved; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_pods: Option<i64>,
}

/// How the plan is carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// Seconds a replacement has to be bound, at least 1; default 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i64>,
    /// Evictions on the way at the same time in the whole run, at least 1; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_evictions: Option<i64>,
    /// What a disruption budget that allows nothing at the moment means; default `Fail`.
    #[serde(default, rename = "onBlockedPDB", skip_serializing_if = "Option::is_none")]
    pub on_blocked_pdb: Option<OnBlockedPdb>,
    /// Whether a replacement has to be Ready and not only bound; default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_ready: Option<bool>,
    /// Whether nothing is evicted unless replacements are gated; default: true for schedulers other than Volcano.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_gate: Option<bool>,
    /// The id of the plan that was approved; a fresh plan of another id is refused.
    #[serde(default, rename = "expectedPlanID", skip_serializing_if = "Option::is_none")]
    pub expected_plan_id: Option<String>,
}

/// What a disruption budget that allows nothing at the moment means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnBlockedPdb {
    /// Its pods can not move.
    #[default]
    Fail,
    /// Its pods move when the budget allows it.
    Wait,
}

const fn one() -> i64 {
    1
}
