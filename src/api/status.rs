//! The status of a `RepackRun`: what was planned, done and achieved.
//!
//! Lists are always written, and so are the zero values of summary and result. `result` and `relocations` exist in
//! Execute runs only. Times are RFC 3339 text.
//!
//! May import: api

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, ExactRate, Phase};

/// The status of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepackRunStatus {
    /// Derived from the conditions.
    pub phase: Phase,
    /// The authority on where the run is.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The current outcome in a sentence; never empty.
    pub message: String,
    /// First time in phase Running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub start_time: Option<String>,
    /// First time in a terminal phase; `ttlSecondsAfterFinished` counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub completion_time: Option<String>,
    /// When an Execute run ends at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub execution_deadline: Option<String>,
    /// The plan; absent while there was no planning, and after a fault before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// What Execute achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
    /// One entry per planned pod of an Execute run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocations: Option<Vec<Relocation>>,
}

/// What would be moved, and what that brings. Never overwritten by what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Hash of the sorted (victim UID, source node) pairs.
    pub id: String,
    /// Whether the size limit of the object kept the plan from growing.
    pub limited_by_size: bool,
    /// The plan in numbers.
    pub summary: PlanSummary,
    /// Moves by PodGroup, sorted by namespace and name.
    #[serde(default)]
    pub moves: Vec<PlanMove>,
    /// Nodes that hold none of the resource afterwards, sorted.
    #[serde(default)]
    pub freed_nodes: Vec<String>,
    /// Waves in which disruption budgets let the pods go; the next begins when the replacements of the last are Ready.
    /// 1 when no budget makes anybody wait, 0 when nothing moves.
    #[serde(default)]
    pub waves: i64,
    /// Room that pods of the resource get first, by namespace and name.
    #[serde(default)]
    pub reserved: Vec<ReservedRoom>,
    /// Waiting gangs that fit only once the victims have left, in the order in which they are tried.
    #[serde(default)]
    pub takers: Vec<Taker>,
}

/// Room for a pod that waits, or for one that will replace a terminating pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservedRoom {
    /// Namespace of the pod.
    pub namespace: String,
    /// The waiting pod, or the terminating one.
    pub name: String,
    /// Where the room is kept. The scheduler may choose another node.
    pub node: String,
    /// Cards of the pod that comes.
    pub cards: i64,
    /// True when the pod is terminating and its controller will make another; written only then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminating: bool,
}

/// A waiting gang, or a waiting pod without a group, that fits once the victims have left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taker {
    /// Its namespace.
    pub namespace: String,
    /// The group; absent for a pod without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod_group_name: String,
    /// The pod, where it has no group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod_name: String,
    /// Pods that wait.
    pub pod_count: i64,
    /// Planned receivers that it could use: they are enough for both. Sorted.
    #[serde(default)]
    pub receivers: Vec<String>,
}

/// The plan in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanSummary {
    /// Fragmentation rate now, whole percent, half up.
    pub frag_before_percent: i32,
    /// Fragmentation rate after the plan, whole percent, half up.
    pub frag_after_percent: i32,
    /// Nodes freed.
    pub freed_node_count: i64,
    /// Cards of all planned pods, cascades included.
    pub moved_card_count: i64,
    /// What the scope came to.
    pub resolved_scope: ResolvedScope,
    /// The rate before as an exact fraction and with one decimal.
    #[serde(default)]
    pub frag_before_exact: ExactRate,
    /// The rate after as an exact fraction and with one decimal.
    #[serde(default)]
    pub frag_after_exact: ExactRate,
    /// No plan under the same scope and budgets can free more nodes than this; absent when no bound was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeable_upper_bound: Option<i64>,
    /// The fewest nodes that could hold what is running.
    #[serde(default)]
    pub optimal_occupied_nodes: i64,
    /// False when `optimalOccupiedNodes` is only the best lower bound known.
    #[serde(default)]
    pub optimum_exact: bool,
    /// What the plan costs.
    #[serde(default)]
    pub disruption: Disruption,
    /// How far it was worth it to free nodes; absent without a `minBenefit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benefit: Option<Benefit>,
    /// What keeps most pods where they are, most cards first.
    #[serde(default)]
    pub unmovable: Vec<UnmovableCount>,
}

/// What the scope came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedScope {
    /// PodGroups in scope that use the resource.
    pub pod_group_count: i64,
    /// Nodes in scope that provide the resource, empty ones included.
    pub node_count: i64,
}

/// The five dimensions of disruption, as plain counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disruption {
    /// PodGroups touched.
    pub affected_pod_groups: i64,
    /// PodGroups that fall below minAvailable.
    pub gang_breaches: i64,
    /// Cards that stop working: the moved ones, or all of a breached group.
    pub damaged_cards: i64,
    /// Cards moved.
    pub moved_cards: i64,
    /// Pods moved.
    pub moved_pods: i64,
}

/// How far it was worth it to free nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Benefit {
    /// Cards asked for per damaged card: `spec.planner.minBenefit`.
    pub min_benefit: i64,
    /// Nodes freed when nothing more is worth it.
    pub freed_node_count: i64,
    /// Allocatable cards on them.
    pub freed_cards: i64,
    /// Cards damaged for that.
    pub damaged_cards: i64,
    /// The first step that is not worth it; absent when all are that can be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<BenefitStep>,
}

/// Freeing more nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BenefitStep {
    /// How many more.
    pub freed_node_count: i64,
    /// Allocatable cards that it would bring.
    pub freed_cards: i64,
    /// Cards that it would damage.
    pub damaged_cards: i64,
}

/// One reason why pods can not move, with how much it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnmovableCount {
    /// The stable code of the reason.
    pub reason: String,
    /// Pods it holds.
    pub pod_count: i64,
    /// Their cards.
    pub card_count: i64,
}

/// The moves of one PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanMove {
    /// Namespace of the group and its pods.
    pub namespace: String,
    /// Name of the group.
    pub pod_group_name: String,
    /// The group's controlling owner; absent when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Cards of the pods below.
    pub cards: i64,
    /// The pods that move, sorted by name.
    #[serde(default)]
    pub pods: Vec<MovedPod>,
}

/// A workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// One pod's move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MovedPod {
    /// The pod that is evicted or taken down.
    pub name: String,
    /// Where it runs.
    pub from_node: String,
    /// Where its replacement fits.
    pub to_node: String,
    /// Its cards.
    pub cards: i64,
    /// True when its controller takes it down along with an evicted pod; written only then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascade: bool,
    /// True when its replacement passes only once the pod is gone, so that a gate holds it until then; written only
    /// then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// In which wave it goes, from 1; written only when there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<i64>,
}

/// What Execute achieved, measured afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// Fragmentation rate measured, whole percent, half up.
    pub frag_after_percent: i32,
    /// Planned nodes that are free.
    pub freed_node_count: i64,
    /// Their names, sorted.
    #[serde(default)]
    pub freed_nodes: Vec<String>,
    /// Cards of the pods whose eviction was accepted.
    pub moved_card_count: i64,
    /// Whether the numbers come from a complete look at the cluster after the last placement.
    pub metrics_verified: bool,
    /// Planned nodes that were free and then taken by a pod that is no replacement of this run.
    #[serde(default)]
    pub taken_nodes: Vec<TakenNode>,
    /// Cards of planned pods that went without an eviction of ours.
    #[serde(default)]
    pub indirect_card_count: i64,
}

/// A freed node and who took it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TakenNode {
    /// The node.
    pub node: String,
    /// Namespace of the taker.
    pub namespace: String,
    /// PodGroup of the taker.
    pub pod_group_name: String,
}

/// The eviction and placement of one planned pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Relocation {
    /// Namespace of the pod.
    pub namespace: String,
    /// The original group.
    pub pod_group_name: String,
    /// The group's name after a restart, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement_pod_group_name: Option<String>,
    /// The pod that is evicted.
    pub victim_pod_name: String,
    /// Its UID, so that a pod of the same name is never evicted for it.
    #[serde(rename = "victimPodUID")]
    pub victim_pod_uid: String,
    /// Identifies what the pod asks of a node; a replacement is recognised by it.
    pub scheduling_requirements_hash: String,
    /// The plan's receiver.
    pub planned_node_name: String,
    /// How far the eviction is.
    pub eviction: EvictionState,
    /// How far the placement is.
    pub placement: PlacementState,
}

/// How far an eviction is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvictionState {
    /// Never goes back.
    pub phase: EvictionPhase,
    /// The server's words, if it said any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Steps of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EvictionPhase {
    /// Not tried.
    Pending,
    /// Written down before the call.
    InProgress,
    /// The server accepted it.
    Accepted,
    /// Somebody else removed the pod after a sibling was evicted.
    IndirectlyRemoved,
    /// The server refused it for good.
    Rejected,
}

/// How far a placement is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementState {
    /// Goes back only when a replacement is deleted before it was bound.
    pub phase: PlacementPhase,
    /// The node nominated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_node_name: Option<String>,
    /// The replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement_pod_name: Option<String>,
    /// Its UID.
    #[serde(default, rename = "replacementPodUID", skip_serializing_if = "Option::is_none")]
    pub replacement_pod_uid: Option<String>,
    /// The node it was bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_node_name: Option<String>,
    /// When it is let go.
    #[schemars(extend("format" = "date-time"))]
    pub expiration_time: String,
}

/// Steps of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlacementPhase {
    /// The replacement does not exist yet.
    WaitingForReplacement,
    /// It exists and has no node yet.
    WaitingForNodeSelection,
    /// Its node is nominated.
    Nominated,
    /// It is bound.
    Placed,
    /// It was not bound in time.
    TimedOut,
    /// Its owner is gone or scaled down.
    NotNeeded,
}
