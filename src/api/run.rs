//! `RepackRun` and its spec: what a person asks for.
//!
//! The spec is the common currency of all fronts: command-line flags become one, a file is one, a policy makes one.
//!
//! May import: api

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{Amount, amounts};
use super::limits::{MAX_NAME, MAX_NAMES, MAX_PLAN_ID, MAX_QUALIFIED, MAX_RESOURCES, MAX_TEXT};
use super::schema;
use super::{API_VERSION, LabelSelector, ObjectMeta, RepackRunStatus};

/// Work units of a search that is not told otherwise: looks at receivers and what costs as much.
pub const DEFAULT_EFFORT: i64 = 18_000_000;
/// Weights that are not given, in tenths, in the order of [`Weights`]: the documented 1.0, 0.8, 0.6, 0.3 and 0.1.
pub const DEFAULT_WEIGHTS: [i64; 5] = [10, 8, 6, 3, 1];
/// Largest weight: keeps every cost of a cluster far inside 64 bits.
pub const MAX_WEIGHT: i64 = 1_000_000;

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::SPEC_IS_IMMUTABLE]))]
pub struct RepackRunSpec {
    /// Plan only, or also move.
    pub mode: Mode,
    /// Which PodGroups may be moved and which nodes may be emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The resource to free nodes of: none or one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1))]
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
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i64>,
    /// How the plan is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<Planner>,
    /// How the plan is carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// Who answers the run; another name than `kubectl-repack` makes this product ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub managed_by: Option<String>,
}

/// What a run does with its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// Plan, and move nothing.
    #[default]
    DryRun,
    /// Plan afresh, then move.
    Execute,
}

/// The two sides of a run's scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Which PodGroups may be moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = schema::POD_GROUP_NAMES))]
    pub pod_groups: Option<ScopeRule>,
    /// Which nodes may be emptied; it never limits which may receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = schema::NODE_NAMES))]
    pub nodes: Option<ScopeRule>,
}

/// Include and exclude; exclude wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeRule {
    /// What is in scope; absent or empty: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<ObjectSelection>,
    /// What is not, whatever `include` says; absent or empty: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<ObjectSelection>,
}

/// The union of a selector's matches and a list of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectSelection {
    /// Selects by labels, beside the names. Absent: nothing. `{}`: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// `namespace/name` for PodGroups, plain names for nodes; at most 1024.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_NAMES), inner(length(max = MAX_QUALIFIED)))]
    pub names: Vec<String>,
}

impl ObjectSelection {
    /// Whether it says nothing, which means "no restriction" wherever it stands.
    pub fn is_empty(&self) -> bool {
        self.selector.is_none() && self.names.is_empty()
    }
}

/// The resource to free nodes of, and the improvement below which it is not worth moving anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    /// An extended resource such as `huawei.com/ascend-1980`.
    #[schemars(length(max = MAX_QUALIFIED), extend("x-kubernetes-validations" = [schema::RESOURCE]))]
    pub resource: String,
    /// Percentage points by which the fragmentation rate has to fall, 0 to 100.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub min_frag_improvement_percent: i64,
}

/// Upper limits of one run, cascades included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaxPerRun {
    /// Distinct PodGroups; 0 means that nothing may move, absent that there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub pod_groups: Option<i64>,
    /// Resource to the largest sum over all moved pods, whether the resource is the goal or not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "amounts")]
    #[schemars(with = "BTreeMap<String, Amount>")]
    #[schemars(extend("maxProperties" = MAX_RESOURCES, "x-kubernetes-validations" = [schema::RESOURCE_KEYS]))]
    pub resources: BTreeMap<String, i64>,
}

/// Blocks of free nodes that have to exist after the plan, each inside one HyperNode of a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::ONE_TIER]))]
pub struct NetworkTopology {
    /// The tier by number; exactly one of number and name is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub hyper_node_tier: Option<i64>,
    /// The tier by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_NAME))]
    pub hyper_node_tier_name: Option<String>,
    /// Nodes of a block, at least 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub node_block_size: i64,
    /// Blocks wanted, at least 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub required_node_blocks: i64,
    /// Which HyperNodes are preferred.
    #[serde(default)]
    pub mode: TopologyMode,
}

/// Which HyperNodes blocks are looked for in first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TopologyMode {
    /// The fullest.
    #[default]
    Binpack,
    /// The emptiest.
    Spread,
}

/// How pods are evicted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Eviction {
    /// Seconds a pod has to end; absent: the pod's own value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub grace_period_seconds: Option<i64>,
}

/// How the plan is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Planner {
    /// How the nodes are chosen; absent: `Search`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Algorithm::Search))]
    pub algorithm: Option<Algorithm>,
    /// Work units the search may spend, at least 1; never a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = DEFAULT_EFFORT))]
    pub effort: Option<i64>,
    /// Stop after this many freed nodes, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_freed_nodes: Option<i64>,
    /// Each further node has to bring at least this many allocatable cards per card that it damages, at least 0; 0:
    /// nothing is asked for. The first that brings less ends the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_benefit: Option<i64>,
    /// What each kind of disruption costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
}

/// The planning algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// Close to the optimum, with a bound that shows how close.
    Search,
    /// The documented greedy, node by node.
    Drain,
}

/// Cost of each kind of disruption, in tenths, each at least 0; absent ones keep their default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Weights {
    /// Per PodGroup touched; default 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_WEIGHT), extend("default" = DEFAULT_WEIGHTS[0]))]
    pub affected_pod_groups: Option<i64>,
    /// Per PodGroup that falls below minAvailable; default 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_WEIGHT), extend("default" = DEFAULT_WEIGHTS[1]))]
    pub gang_breaches: Option<i64>,
    /// Per card that stops working; default 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_WEIGHT), extend("default" = DEFAULT_WEIGHTS[2]))]
    pub damaged_cards: Option<i64>,
    /// Per card moved; default 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_WEIGHT), extend("default" = DEFAULT_WEIGHTS[3]))]
    pub moved_cards: Option<i64>,
    /// Per pod moved; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_WEIGHT), extend("default" = DEFAULT_WEIGHTS[4]))]
    pub moved_pods: Option<i64>,
}

/// How the plan is carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// Seconds a replacement has to be bound, at least 1; default 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 600))]
    pub timeout_seconds: Option<i64>,
    /// Evictions on the way at the same time in the whole run, at least 1; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub max_concurrent_evictions: Option<i64>,
    /// What a disruption budget that allows nothing at the moment means; default `Fail`.
    #[serde(default, rename = "onBlockedPDB", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = OnBlockedPdb::Fail))]
    pub on_blocked_pdb: Option<OnBlockedPdb>,
    /// Whether a replacement has to be Ready and not only bound; default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub require_ready: Option<bool>,
    /// Whether nothing is evicted unless replacements are gated; default: true for schedulers other than Volcano.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_gate: Option<bool>,
    /// The id of the plan that was approved; a fresh plan of another id is refused.
    #[serde(default, rename = "expectedPlanID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PLAN_ID))]
    pub expected_plan_id: Option<String>,
}

/// What a disruption budget that allows nothing at the moment means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
