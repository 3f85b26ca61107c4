//! Who holds how much of one resource where, live or after a plan.
//!
//! A pod stands where it is bound until its object is gone: Terminating pods and pods with a restarting container hold
//! their amount, Succeeded and Failed ones do not (`Pod::stands`). Pods that wait for a node hold nothing.
//!
//! Units: whole amounts of the resource (cards); nodes and pods by index, which is by name.
//!
//! May import: snapshot

use rustc_hash::FxHashSet;

use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, Ready, ResourceIdx};

/// What one node provides and holds of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLoad {
    /// The node.
    pub node: NodeIdx,
    /// Allocatable.
    pub allocatable: i64,
    /// Sum over the pods that stand there.
    pub used: i64,
    /// Pods that hold some of it.
    pub pods: u64,
    /// How many of them are terminating.
    pub terminating: u64,
}

impl NodeLoad {
    /// Allocatable is more than zero; a key left at zero provides nothing.
    pub const fn provides(&self) -> bool {
        self.allocatable > 0
    }

    /// A pod holds some of it.
    pub const fn is_occupied(&self) -> bool {
        self.pods > 0
    }

    /// All its pods are terminating: occupied now, soon not.
    pub const fn is_emptying(&self) -> bool {
        self.pods > 0 && self.pods == self.terminating
    }

    /// Idle amount; 0 where more is in use than the node still provides.
    pub fn free(&self) -> i64 {
        self.allocatable.saturating_sub(self.used).max(0)
    }

    /// What the node can hold in the optimum: what it holds now must fit.
    pub fn capacity(&self) -> i64 {
        self.allocatable.max(self.used)
    }

    fn add(&mut self, amount: i64, terminating: bool) {
        self.used = self.used.saturating_add(amount);
        self.pods += 1;
        self.terminating += u64::from(terminating);
    }
}

/// Why a node takes no new pods, whatever they ask for. A node may have several reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// The Ready condition is not True.
    pub not_ready: bool,
    /// `spec.unschedulable`.
    pub cordoned: bool,
    /// Being deleted, or tainted for deletion by an autoscaler.
    pub leaving: bool,
}

impl Closed {
    /// The reasons of a node.
    pub fn of(snapshot: &Snapshot, node: NodeIdx) -> Self {
        let node = snapshot.node(node);
        Self {
            not_ready: node.ready == Ready::No,
            cordoned: node.unschedulable,
            leaving: node.is_leaving(&snapshot.symbols),
        }
    }

    /// There is a reason.
    pub const fn is_closed(self) -> bool {
        self.not_ready || self.cordoned || self.leaving
    }
}

/// A pod's replacement on another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The pod that is replaced; it no longer holds anything.
    pub pod: PodIdx,
    /// Where the replacement stands.
    pub to: NodeIdx,
    /// What the replacement holds of the resource.
    pub amount: i64,
}

/// One resource on all nodes.
#[derive(Clone, Debug)]
pub struct Load {
    /// The resource.
    pub resource: ResourceIdx,
    nodes: Vec<NodeLoad>,
    pods: Vec<(NodeIdx, i64)>,
}

impl Load {
    /// The cluster as it is.
    pub fn live(snapshot: &Snapshot, resource: ResourceIdx) -> Self {
        Self::after(snapshot, resource, &[])
    }

    /// The cluster after some pods were replaced.
    pub fn after(snapshot: &Snapshot, resource: ResourceIdx, moves: &[Relocation]) -> Self {
        let allocatable = snapshot.nodes.iter().map(|node| node.allocatable[resource.at()]);
        let empty = |(at, allocatable)| NodeLoad {
            node: NodeIdx::new(at),
            allocatable,
            used: 0,
            pods: 0,
            terminating: 0,
        };
        let mut load =
            Self { resource, nodes: allocatable.enumerate().map(empty).collect(), pods: Vec::new() };
        let replaced: FxHashSet<PodIdx> = moves.iter().map(|m| m.pod).collect();
        // Pod by pod, not node by node: memory is read in order.
        for (at, pod) in snapshot.pods.iter().enumerate() {
            if let (Some(node), true) = (pod.node, pod.stands())
                && (replaced.is_empty() || !replaced.contains(&PodIdx::new(at)))
            {
                load.add(node, snapshot.requests(pod.charged).get(resource), pod.terminating);
            }
        }
        for relocation in moves {
            load.add(relocation.to, relocation.amount, false);
        }
        load
    }

    fn add(&mut self, node: NodeIdx, amount: i64, terminating: bool) {
        if amount > 0 {
            self.nodes[node.at()].add(amount, terminating);
            self.pods.push((node, amount));
        }
    }

    /// A node.
    pub fn node(&self, node: NodeIdx) -> &NodeLoad {
        &self.nodes[node.at()]
    }

    /// Nodes that provide the resource, by name.
    pub fn providing(&self) -> impl Iterator<Item = &NodeLoad> {
        self.nodes.iter().filter(|node| node.provides())
    }

    /// Nodes that hold some of the resource without providing it: reported, never counted.
    pub fn not_providing(&self) -> impl Iterator<Item = &NodeLoad> {
        self.nodes.iter().filter(|node| !node.provides() && node.is_occupied())
    }

    /// Amounts of the pods that stand on providing nodes.
    pub fn pods(&self) -> impl Iterator<Item = (NodeIdx, i64)> + '_ {
        self.pods.iter().copied().filter(|&(node, _)| self.node(node).provides())
    }
}
