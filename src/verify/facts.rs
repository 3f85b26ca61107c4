//! What the checks look at, worked out again from the pods alone.
//!
//! Units: cards are whole units of the plan's resource.
//!
//! May import: snapshot, `plan::types`, `plan::request`

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::request::Request;
use crate::plan::types::{Move, Plan};
use crate::snapshot::Snapshot;
use crate::snapshot::model::workload::Workload;
use crate::snapshot::model::{GroupIdx, NamespaceIdx, NodeIdx, OwnerIdx, PodIdx, Ready};

/// The question and the answer, side by side.
pub(super) struct Facts<'a> {
    pub snapshot: &'a Snapshot,
    pub request: &'a Request,
    pub plan: &'a Plan,
    /// Freed nodes.
    pub freed: BTreeSet<NodeIdx>,
    /// All moves of each pod, in the order of the plan.
    pub moves_of: BTreeMap<PodIdx, Vec<&'a Move>>,
    /// Pods that hold cards, by node, in the order of the pods.
    holders: BTreeMap<NodeIdx, Vec<PodIdx>>,
    /// All pods of each group, bound or not, finished or not.
    members: BTreeMap<GroupIdx, Vec<PodIdx>>,
    by_namespace: BTreeMap<NamespaceIdx, Vec<PodIdx>>,
    by_owner: BTreeMap<OwnerIdx, Vec<PodIdx>>,
    /// Some pod has the Ready condition: the input tells which are.
    pub readiness_is_told: bool,
}

impl<'a> Facts<'a> {
    pub fn new(snapshot: &'a Snapshot, request: &'a Request, plan: &'a Plan) -> Self {
        let mut holders: BTreeMap<NodeIdx, Vec<PodIdx>> = BTreeMap::new();
        let mut by_owner: BTreeMap<OwnerIdx, Vec<PodIdx>> = BTreeMap::new();
        let mut by_namespace: BTreeMap<NamespaceIdx, Vec<PodIdx>> = BTreeMap::new();
        let mut members: BTreeMap<GroupIdx, Vec<PodIdx>> = BTreeMap::new();
        for (at, pod) in snapshot.pods.iter().enumerate() {
            let index = PodIdx::new(at);
            if let Some(owner) = pod.owner {
                by_owner.entry(owner).or_default().push(index);
            }
            by_namespace.entry(pod.namespace).or_default().push(index);
            if let Some(group) = pod.group {
                members.entry(group).or_default().push(index);
            }
            let Some(node) = pod.node else { continue };
            if !pod.phase.is_finished() && snapshot.charged(index, plan.resource) > 0 {
                holders.entry(node).or_default().push(index);
            }
        }
        let mut moves_of: BTreeMap<PodIdx, Vec<&Move>> = BTreeMap::new();
        for moved in &plan.moves {
            moves_of.entry(moved.pod).or_default().push(moved);
        }
        let freed = plan.freed.iter().copied().collect();
        let readiness_is_told = snapshot.pods.iter().any(|pod| pod.ready);
        Self {
            snapshot,
            request,
            plan,
            freed,
            moves_of,
            holders,
            members,
            by_namespace,
            by_owner,
            readiness_is_told,
        }
    }

    /// Pods on a node that hold cards, terminating ones too.
    pub fn holders(&self, node: NodeIdx) -> &[PodIdx] {
        self.holders.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Every holder of the node is terminating.
    pub fn all_terminating(&self, node: NodeIdx) -> bool {
        self.holders(node).iter().all(|&pod| self.snapshot.pod(pod).terminating)
    }

    /// All pods of a group.
    pub fn members(&self, group: GroupIdx) -> &[PodIdx] {
        self.members.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Groups with a moved pod, cascades included.
    pub fn affected(&self) -> BTreeSet<GroupIdx> {
        self.moves_of.keys().filter_map(|&pod| self.snapshot.pod(pod).group).collect()
    }

    /// Cards of a pod where it stands.
    pub fn cards(&self, pod: PodIdx) -> i64 {
        self.snapshot.charged(pod, self.plan.resource)
    }

    /// Cards that the node offers.
    pub fn provides(&self, node: NodeIdx) -> i64 {
        self.snapshot.node(node).allocatable[self.plan.resource.at()]
    }

    /// The node answers.
    pub fn is_ready(&self, node: NodeIdx) -> bool {
        self.snapshot.node(node).ready == Ready::Yes
    }

    /// The node is being deleted, or an autoscaler is about to.
    pub fn leaving(&self, node: NodeIdx) -> bool {
        self.snapshot.node(node).is_leaving(&self.snapshot.symbols)
    }

    /// The same, or an autoscaler considers it.
    pub fn may_leave(&self, node: NodeIdx) -> bool {
        self.leaving(node) || self.snapshot.node(node).may_leave(&self.snapshot.symbols)
    }

    /// Pods of a namespace.
    pub fn namespace_pods(&self, namespace: NamespaceIdx) -> &[PodIdx] {
        self.by_namespace.get(&namespace).map_or(&[], Vec::as_slice)
    }

    /// Pods that a controller owns.
    pub fn owned(&self, owner: OwnerIdx) -> &[PodIdx] {
        self.by_owner.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// The objects of a controller, its own controller, and so on upwards.
    pub fn chain(&self, owner: OwnerIdx) -> Vec<&'a Workload> {
        let mut objects = Vec::new();
        let mut next = Some(owner);
        // Nothing real is deeper; the limit ends circles.
        while let Some(object) =
            next.and_then(|owner| self.snapshot.workload_of(owner)).filter(|_| objects.len() < 8)
        {
            objects.push(object);
            next = object.owner;
        }
        objects
    }

    /// An annotation of a pod.
    pub fn annotation(&self, pod: PodIdx, key: &str) -> Option<&'a str> {
        let key = self.snapshot.symbols.find(key)?;
        self.snapshot.pod(pod).details().annotations.get(key).map(|value| self.snapshot.text(value))
    }
}
