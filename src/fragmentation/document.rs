//! The document of fragmentation: the shapes. `report` fills them in.
//!
//! A versioned document of its own kind. Lists are never left out, so an empty list means "none" and nothing else.
//! Nodes, pods and resources stand by name. Cards are whole units of the resource named beside them.
//!
//! May import: api

use serde::Serialize;

use crate::api::ExactRate;

/// `kind` of the document.
pub const KIND: &str = "FragmentationReport";

/// The document.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FragmentationReport<'s> {
    /// `repack.volcano.sh/v1alpha1`.
    pub api_version: &'static str,
    /// [`KIND`].
    pub kind: &'static str,
    /// The label that pools were made by.
    pub group_by: Option<String>,
    /// One entry per resource, by name.
    pub resources: Vec<ResourceReport<'s>>,
    /// Extended resources that nodes provide, that no pod requests and that were not asked for.
    pub unused_resources: Vec<&'s str>,
}

/// One resource.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReport<'s> {
    /// Its name.
    pub resource: String,
    /// What makes the numbers below special, as a sentence.
    pub note: Option<&'static str>,
    /// The whole cluster.
    pub summary: Summary,
    /// Pods that request it and wait for a node.
    pub waiting: Amount,
    /// Nodes and pods that count differently from what one might expect.
    pub special: Special<'s>,
    /// Why pods that hold cards can not move, most cards first; empty also when it was not asked.
    pub unmovable: Vec<Unmovable>,
    /// Pools, when a label was given.
    pub pools: Vec<PoolReport<'s>>,
    /// Every node that provides it, or holds some of it.
    pub nodes: Vec<NodeReport<'s>>,
}

/// Totals over the nodes that provide the resource.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Nodes that provide it.
    pub nodes: i64,
    /// Nodes that hold some of it.
    pub occupied_nodes: i64,
    /// Occupied nodes whose pods are all terminating.
    pub emptying_nodes: i64,
    /// Nodes that take no new pods: not Ready, cordoned or leaving.
    pub closed_nodes: i64,
    /// The fewest nodes that could hold all pods.
    pub optimal_occupied_nodes: i64,
    /// False when that is only a lower bound, which makes the rate an upper bound.
    pub optimum_exact: bool,
    /// Fragmentation rate in whole percent, half up.
    pub frag_percent: i32,
    /// The same as a fraction and with one decimal.
    pub frag_exact: ExactRate,
    /// Cards.
    pub cards: Cards,
    /// Nodes that take new pods, by idle cards, largest first; 0 = full.
    pub holes: Vec<HoleReport>,
    /// How many pods of each useful size would fit now, by cards alone.
    pub fits: Vec<FitReport>,
    /// The largest of these that fits at least once.
    pub largest_job: Option<FitReport>,
}

/// Cards of the nodes that provide the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cards {
    /// Allocatable.
    pub total: i64,
    /// Held by pods.
    pub used: i64,
    /// Idle. Not `total - used` where a node holds more than it still provides.
    pub free: i64,
    /// The part of `free` on closed nodes.
    pub free_on_closed_nodes: i64,
}

/// Nodes with equally many idle cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HoleReport {
    /// Idle cards.
    pub free: i64,
    /// Nodes.
    pub nodes: u64,
}

/// How many pods of one size fit at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FitReport {
    /// Cards of one pod.
    pub cards: i64,
    /// Pods.
    pub pods: u64,
}

/// Pods and their cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Pods.
    pub pods: u64,
    /// Cards.
    pub cards: i64,
}

/// Nodes and pods that count differently from what one might expect.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Special<'s> {
    /// Part of the rate, never emptied, never a receiver.
    pub not_ready: Vec<NodeCount<'s>>,
    /// Part of the rate, emptied only when the scope names them, never a receiver.
    pub cordoned: Vec<NodeCount<'s>>,
    /// Being deleted or tainted for deletion by an autoscaler: part of the rate, never emptied or a receiver.
    pub leaving: Vec<NodeCount<'s>>,
    /// All their pods are terminating: occupied in the rate, neither emptied nor a receiver.
    pub emptying: Vec<NodeCount<'s>>,
    /// Hold cards without providing any: not part of the rate.
    pub not_providing: Vec<NodeCount<'s>>,
    /// Pods bound to nodes that the input does not have: they count nowhere.
    pub lost_pods: Vec<PodCount<'s>>,
}

/// Pods that stay for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmovable {
    /// The stable code.
    pub reason: &'static str,
    /// Pods.
    pub pods: u64,
    /// Their cards.
    pub cards: i64,
    /// The flags or the action that would let them move.
    pub remedy: Option<String>,
}

/// A node of [`Special`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodeCount<'s> {
    /// Its name.
    pub name: &'s str,
    /// Pods that hold cards there.
    pub pods: u64,
    /// Cards they hold.
    pub used: i64,
    /// Idle cards.
    pub free: i64,
}

/// A pod of [`Special`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PodCount<'s> {
    /// Namespace.
    pub namespace: &'s str,
    /// Name.
    pub name: &'s str,
    /// Cards it requests.
    pub cards: i64,
}

/// One pool.
#[derive(Clone, Debug, Serialize)]
pub struct PoolReport<'s> {
    /// Value of the label; `<none>` for nodes without it.
    pub name: &'s str,
    /// The pool by itself: its own pods on its own nodes.
    pub summary: Summary,
}

/// One node.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its pool, when a label was given; `<none>` for nodes without it.
    pub pool: Option<&'s str>,
    /// Cards it provides.
    pub allocatable: i64,
    /// Cards in use.
    pub used: i64,
    /// Idle cards.
    pub free: i64,
    /// `Emptying`, `NotReady`, `Cordoned`, `Leaving`, `NotProviding`, as far as they apply.
    pub states: Vec<&'static str>,
    /// Who holds cards, by namespace and group.
    pub holders: Vec<Holder<'s>>,
}

/// Pods of one group on one node that may all move, or all stay for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder<'s> {
    /// Namespace.
    pub namespace: &'s str,
    /// `PodGroup`, real or virtual; `null` for a pod without one.
    pub pod_group: Option<&'s str>,
    /// Name of the pod, for a pod without a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<&'s str>,
    /// Pods.
    pub pods: u64,
    /// Cards.
    pub cards: i64,
    /// Why they stay; `null` = they may move, or it was not asked.
    pub refused: Option<&'static str>,
}
