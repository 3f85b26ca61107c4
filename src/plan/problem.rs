//! A planning task with everything looked up: which nodes may be emptied, which may receive, who is a victim.
//!
//! Both algorithms start here. Cards are whole units of the target resource.
//!
//! May import: snapshot, filter, plan

use std::cmp::Reverse;

use crate::filter::Incoming;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx};

use super::kept::Kept;
use super::reason::Reason;

/// What a node can be in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Neither emptied nor a receiver: idle, emptying, not providing the resource, or refused by policy.
    Out,
    /// Occupied and never emptied: a receiver that is certain to stay.
    Stays,
    /// May be emptied or receive.
    Candidate,
    /// May be emptied, receives nothing (cordoned, but selected by name or label).
    OnlyCandidate,
}

/// A node as the algorithms see it.
#[derive(Clone, Debug)]
pub struct NodeFacts {
    /// What it can be.
    pub role: Role,
    /// Why it is no candidate; `None` for candidates.
    pub kept: Option<Kept>,
    /// Cards in use.
    pub used: i64,
    /// Cards free; negative when allocatable was lowered below what is in use.
    pub free: i64,
    /// Allocatable cards: what freeing the node is worth.
    pub benefit: i64,
    /// Pods to evict when the node is emptied: cards descending, cpu, memory, then namespace/name.
    pub victims: Vec<PodIdx>,
}

/// When a replacement is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// While its victim still terminates (ReplicaSet, Job by policy).
    WhileTerminating,
    /// Once its victim is gone (StatefulSet, Volcano Job, ModelServing).
    AfterGone,
}

/// Pods that a controller recreates together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Members, by namespace and name.
    pub pods: Vec<PodIdx>,
}

/// An upper limit on the sum of one resource over all moved pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// The resource.
    pub resource: ResourceIdx,
    /// The largest sum, in the units of the snapshot.
    pub most: i64,
}

/// A planning task.
#[derive(Debug)]
pub struct Problem<'s> {
    /// The cluster.
    pub snapshot: &'s Snapshot,
    /// The target resource.
    pub resource: ResourceIdx,
    /// By node.
    pub nodes: Vec<NodeFacts>,
    /// Why a pod may not move; `None` for those that may, by pod.
    pub refused: Vec<Option<Reason>>,
    /// The replacement of each pod, by pod.
    pub replacement: Vec<Incoming>,
    /// When it is tried, by pod.
    pub timing: Vec<Timing>,
    /// Unit of a pod, if its controller recreates more than the pod, by pod.
    pub unit_of: Vec<Option<u32>>,
    /// All units.
    pub units: Vec<Unit>,
    /// Most distinct groups.
    pub max_groups: Option<i64>,
    /// Most of each capped resource.
    pub caps: Vec<Cap>,
    /// Most freed nodes.
    pub max_freed: Option<usize>,
    /// Weights of the five dimensions.
    pub weights: [i64; 5],
}

impl Problem<'_> {
    /// Cards that a pod holds where it stands.
    pub fn cards(&self, pod: PodIdx) -> i64 {
        self.snapshot.charged(pod, self.resource)
    }

    /// A node.
    pub fn node(&self, node: NodeIdx) -> &NodeFacts {
        &self.nodes[node.at()]
    }

    /// The pods that a controller recreates together with `pod`, itself included; `None` when it comes back alone.
    pub fn unit_of(&self, pod: PodIdx) -> Option<&[PodIdx]> {
        self.unit_of[pod.at()].map(|unit| self.units[unit as usize].pods.as_slice())
    }

    /// The documented order of victims: cards descending, cpu, memory, then namespace and name.
    pub fn sort_victims(&self, pods: &mut [PodIdx]) {
        let amount = |pod, resource| Reverse(self.snapshot.charged(pod, resource));
        pods.sort_by_key(|&p| {
            (Reverse(self.cards(p)), amount(p, ResourceIdx::CPU), amount(p, ResourceIdx::MEMORY), p)
        });
    }
}
