//! A planning task with everything looked up: which nodes may be emptied, which may receive, who is a victim.
//!
//! Both algorithms start here. Cards are whole units of the target resource.
//!
//! May import: snapshot, filter, plan

use std::cmp::Reverse;

use crate::filter::Incoming;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, OwnerIdx, PodIdx, ResourceIdx};

use super::kept::Kept;
use super::movability::Facts;
use super::types::Move;

pub use super::fate::Timing;

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
    /// Pods that are recreated along may come back here, as far as the node itself goes: it is Ready and stays.
    pub takes_back: bool,
    /// Terminating pods whose replacement may come back here. When the node is emptied it needs a receiver like a
    /// victim's, and a [`Reserved`](super::types::Reserved) says which; nobody moves it.
    pub leaving: Vec<PodIdx>,
}

impl NodeFacts {
    /// The node will hold cards of a pod that comes: it is no candidate any more.
    pub fn keep(&mut self, why: Kept) {
        if matches!(self.role, Role::Candidate | Role::OnlyCandidate) {
            self.role = if self.role == Role::Candidate { Role::Stays } else { Role::Out };
            self.kept = Some(why);
        }
    }
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
#[derive(Clone, Debug)]
pub struct Problem<'s> {
    /// The cluster.
    pub snapshot: &'s Snapshot,
    /// The target resource.
    pub resource: ResourceIdx,
    /// Cards that each pod holds where it stands, close together: asked for all the time.
    pub held: Vec<i64>,
    /// By node.
    pub nodes: Vec<NodeFacts>,
    /// Scope, budgets, units and which pods may move.
    pub facts: Facts,
    /// The replacement of each pod, by pod.
    pub replacement: Vec<Incoming>,
    /// Most distinct groups.
    pub max_groups: Option<i64>,
    /// Most of each capped resource.
    pub caps: Vec<Cap>,
    /// Most freed nodes.
    pub max_freed: Option<usize>,
    /// A node that every plan has to free.
    pub must: Option<NodeIdx>,
    /// Weights of the five dimensions.
    pub weights: [i64; 5],
}

impl Problem<'_> {
    /// Cards that a pod holds where it stands.
    pub fn cards(&self, pod: PodIdx) -> i64 {
        self.held[pod.at()]
    }

    /// Cards that the replacement of a move asks for; its template may differ from the live pod.
    pub fn need(&self, m: &Move) -> i64 {
        self.snapshot.requests(self.snapshot.spec(m.spec).requests).get(self.resource)
    }

    /// Cards that the replacement of a pod asks for.
    pub fn need_of(&self, pod: PodIdx) -> i64 {
        let spec = self.snapshot.spec(self.replacement[pod.at()].spec);
        self.snapshot.requests(spec.requests).get(self.resource)
    }

    /// True when the resource that is held now is held after any plan: then no plan goes below the optimum, nor frees
    /// a card. Terminating pods go by themselves, and a template may ask for less than the pod that was made of an
    /// older one.
    pub fn keeps_its_load(&self) -> bool {
        (0..self.snapshot.pods.len()).map(PodIdx::new).all(|pod| {
            let held = self.cards(pod);
            held == 0 || !self.snapshot.pod(pod).terminating && self.need_of(pod) >= held
        })
    }

    /// A node.
    pub fn node(&self, node: NodeIdx) -> &NodeFacts {
        &self.nodes[node.at()]
    }

    /// The pods that a controller recreates together with `pod`, itself included; `None` when it comes back alone.
    pub fn unit_of(&self, pod: PodIdx) -> Option<&[PodIdx]> {
        (!self.facts.units.is_alone(pod)).then(|| self.facts.units.members(pod))
    }

    /// When the replacement of a pod is created.
    pub fn timing(&self, pod: PodIdx) -> Timing {
        self.facts.units.timing(pod)
    }

    /// How many evictions of its pods the owner of a pod tolerates; `None` = no limit.
    pub fn evictions_tolerated(&self, owner: OwnerIdx) -> Option<i64> {
        self.facts.movability.evictions_tolerated(owner)
    }

    /// The documented order of victims: cards descending, cpu, memory, then namespace and name.
    pub fn sort_victims(&self, pods: &mut [PodIdx]) {
        let amount = |pod, resource| Reverse(self.snapshot.charged(pod, resource));
        let key = |p| (Reverse(self.cards(p)), amount(p, ResourceIdx::CPU), amount(p, ResourceIdx::MEMORY));
        if pods.len() > 1 {
            pods.sort_by(|&a, &b| key(a).cmp(&key(b)).then_with(|| self.snapshot.compare_pods(a, b)));
        }
    }
}
