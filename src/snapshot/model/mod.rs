//! The dense, immutable model of a cluster at one moment.
//!
//! Everything is a vector indexed by a newtype; strings are interned; pods with equal specs and nodes that no rule
//! can tell apart form classes. Amounts are integers: cpu in milli, memory and storage in bytes, everything else in
//! whole units, each pod's total rounded up once (rulebook 1.1). Volcano's amounts are in its own units: cpu milli,
//! memory bytes, everything else in thousandths.
//!
//! May import: snapshot

pub mod dra;
pub mod group;
pub mod ids;
pub mod intern;
pub mod node;
pub mod pod;
pub mod selector;
pub mod storage;
pub mod workload;

use std::cmp::Ordering;

use crate::snapshot::view::object::Kind;

pub use dra::Dra;
pub use group::{Budget, BudgetStatus, GroupOrigin, Namespace, Owner, PodGroup, Queue};
pub use ids::{
    BudgetIdx, ClaimIdx, ClaimSpecIdx, DeviceIdx, GroupIdx, NamespaceIdx, NodeClassIdx, NodeIdx,
    NodeRulesIdx, OwnerIdx, PodIdx, PvIdx, PvcIdx, RequestsIdx, ResourceIdx, SpecIdx, StorageClassIdx, Sym,
    WorkloadIdx,
};
pub use intern::Symbols;
pub use node::{Effect, Node, NodeClass, Ready, Taint};
pub use pod::{NodeRules, Phase, Pod, PodSpec, Requests};
pub use selector::{Labels, NodeSelector, Op, Requirement, Selector};
pub use storage::Storage;
pub use workload::{OwnerObject, Reaction, Workload};

/// A cluster at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// All strings.
    pub symbols: Symbols,
    /// Kinds of which every object was listed, even if there was none; sorted.
    pub kinds_listed: Vec<Kind>,
    /// Resource names by [`ResourceIdx`].
    pub resources: Vec<Sym>,
    /// Nodes by name.
    pub nodes: Vec<Node>,
    /// Classes of nodes.
    pub node_classes: Vec<NodeClass>,
    /// Pods: those that stand on a node first, node by node, and there by namespace and name.
    pub pods: Vec<Pod>,
    /// Classes of pods.
    pub specs: Vec<PodSpec>,
    /// Interned node rules.
    pub node_rules: Vec<NodeRules>,
    /// Interned request vectors.
    pub requests: Vec<Requests>,
    /// Namespaces by name.
    pub namespaces: Vec<Namespace>,
    /// Groups by namespace and name.
    pub groups: Vec<PodGroup>,
    /// Owners by namespace, kind, name, UID.
    pub owners: Vec<Owner>,
    /// Controllers by namespace, kind and name.
    pub workloads: Vec<Workload>,
    /// Queues by name.
    pub queues: Vec<Queue>,
    /// Budgets by namespace and name.
    pub budgets: Vec<Budget>,
    /// Devices, classes and claims.
    pub dra: Dra,
    /// Claims, volumes, classes, drivers.
    pub storage: Storage,
    /// Pods standing on each node, by index: neighbours in [`Snapshot::pods`].
    pub pods_on: Vec<Vec<PodIdx>>,
    /// Pods that are asked about: they are in [`Snapshot::pods`] but stand nowhere.
    pub candidates: Vec<PodIdx>,
}

impl Snapshot {
    /// The text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        self.symbols.text(sym)
    }

    /// Orders symbols by text.
    pub fn compare(&self, a: Sym, b: Sym) -> Ordering {
        if a == b { Ordering::Equal } else { self.text(a).cmp(self.text(b)) }
    }

    /// The node of that name.
    pub fn node_named(&self, name: &str) -> Option<NodeIdx> {
        self.nodes.binary_search_by(|n| self.text(n.name).cmp(name)).ok().map(NodeIdx::new)
    }

    /// The resource of that name.
    pub fn resource_named(&self, name: &str) -> Option<ResourceIdx> {
        self.resources.iter().position(|&sym| self.text(sym) == name).map(ResourceIdx::new)
    }

    /// Name of a resource.
    pub fn resource_name(&self, resource: ResourceIdx) -> &str {
        self.text(self.resources[resource.at()])
    }

    /// A node.
    pub fn node(&self, node: NodeIdx) -> &Node {
        &self.nodes[node.at()]
    }

    /// Extended resources by name: those with a domain of their own. Kubernetes' own names have none, or one under
    /// `kubernetes.io`.
    pub fn extended_resources(&self) -> Vec<ResourceIdx> {
        let mut all: Vec<ResourceIdx> = (0..self.resources.len()).map(ResourceIdx::new).collect();
        all.retain(|&r| {
            let name = self.resource_name(r);
            name.contains('/') && !name.contains("kubernetes.io/")
        });
        all.sort_by(|&a, &b| self.resource_name(a).cmp(self.resource_name(b)));
        all
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeIdx) -> &str {
        self.text(self.node(node).name)
    }

    /// A pod.
    pub fn pod(&self, pod: PodIdx) -> &Pod {
        &self.pods[pod.at()]
    }

    /// Name of a pod.
    pub fn pod_name(&self, pod: PodIdx) -> &str {
        self.text(self.pod(pod).name)
    }

    /// Orders pods by namespace and name, as people list them. Indices order them node by node.
    pub fn compare_pods(&self, a: PodIdx, b: PodIdx) -> Ordering {
        let (one, other) = (self.pod(a), self.pod(b));
        if one.node == other.node && one.stands() && other.stands() {
            return a.cmp(&b);
        }
        let namespaces = one.namespace.cmp(&other.namespace);
        namespaces.then_with(|| self.compare(one.name, other.name)).then(a.cmp(&b))
    }

    /// Name of a namespace.
    pub fn namespace_name(&self, namespace: NamespaceIdx) -> &str {
        self.text(self.namespaces[namespace.at()].name)
    }

    /// `namespace/name` of a pod.
    pub fn pod_key(&self, pod: PodIdx) -> String {
        format!("{}/{}", self.namespace_name(self.pod(pod).namespace), self.pod_name(pod))
    }

    /// `namespace/name` of a group.
    pub fn group_key(&self, group: GroupIdx) -> String {
        let group = &self.groups[group.at()];
        format!("{}/{}", self.namespace_name(group.namespace), self.text(group.name))
    }

    /// The class of a pod.
    pub fn spec(&self, spec: SpecIdx) -> &PodSpec {
        &self.specs[spec.at()]
    }

    /// The class of a live pod.
    pub fn spec_of(&self, pod: PodIdx) -> &PodSpec {
        self.spec(self.pod(pod).spec)
    }

    /// Requested amounts.
    pub fn requests(&self, requests: RequestsIdx) -> &Requests {
        &self.requests[requests.at()]
    }

    /// Amount of `resource` that a live pod is charged where it stands.
    pub fn charged(&self, pod: PodIdx, resource: ResourceIdx) -> i64 {
        self.requests(self.pod(pod).charged).get(resource)
    }

    /// The object of an owner, if it was read.
    pub fn workload_of(&self, owner: OwnerIdx) -> Option<&Workload> {
        match self.owners[owner.at()].object {
            OwnerObject::Present(at) => Some(&self.workloads[at.at()]),
            OwnerObject::Gone | OwnerObject::NotRead | OwnerObject::Refused => None,
        }
    }

    /// Whether a controller is known not to be there: its kind was listed, and it is not among the objects.
    pub fn lacks_workload(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> bool {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let listed = |kind: Kind| self.kinds_listed.binary_search(&kind).is_ok();
        let Some(kind) = Kind::of(group, kind).filter(|&kind| listed(kind)) else { return false };
        !self.workloads.iter().any(|workload| {
            workload.kind == kind
                && self.namespace_name(workload.namespace) == namespace
                && self.text(workload.name) == name
        })
    }

    /// The objects of an owner, of the owner's owner and so on, as far as they were read. Ends after a few steps
    /// whatever the references say.
    pub fn owner_chain(&self, owner: Option<OwnerIdx>) -> impl Iterator<Item = &Workload> {
        const LONGEST: usize = 8;
        let first = owner.and_then(|owner| self.workload_of(owner));
        std::iter::successors(first, |workload| self.workload_of(workload.owner?)).take(LONGEST)
    }
}
