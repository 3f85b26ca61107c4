//! From views to the model: a [`Builder`] takes objects one by one and makes the [`Snapshot`].
//!
//! Each object is reduced to symbols and integers when it comes, so that the input never is in memory as a whole;
//! references between objects are resolved at the end, in name order, so that the order of the input does not
//! matter.
//!
//! May import: snapshot

mod cluster;
mod dra;
mod dra_finish;
mod finish;
mod in_tree;
mod pod;
mod pod_rules;
mod replacement;
mod resources;
mod storage;
mod storage_finish;
#[cfg(test)]
mod tests;
mod totals;
pub mod wanted;
#[cfg(test)]
mod wanted_tests;
mod workload;
#[cfg(test)]
mod workload_tests;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::model::intern::Distinct;
use super::model::{
    Budget, GroupOrigin, Labels, Node, NodeRules, PodGroup, PodSpec, Queue, Requests, Snapshot, Sym, Symbols,
};
use super::read::{InputError, Origin, Sink};
use super::request::Amounts;
use super::view::basic::{OwnerRefView, Pairs};
use super::view::object::{Kind, Object};
use super::view::pod::PodView;

pub use dra_finish::{is_extended, reaches};
pub use resources::Resources;

/// What the input is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Minor version of the Kubernetes API server and scheduler (1.x); decides how a resized pod is charged.
    pub kubernetes_minor: u32,
    /// A pod bound to a node that is not in the input is an error; if not, it counts nowhere, as in the scheduler.
    pub refuse_unknown_nodes: bool,
    /// Two objects of one kind and name are an error; if not, both are kept.
    pub refuse_duplicates: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { kubernetes_minor: 37, refuse_unknown_nodes: true, refuse_duplicates: true }
    }
}

/// A reference to a controlling owner, before owners are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OwnerKey {
    namespace: Sym,
    api_version: Sym,
    kind: Sym,
    name: Sym,
    uid: Sym,
}

/// A pod before references are resolved: the model's pod, and what it names.
#[derive(Debug)]
struct DraftPod {
    pod: super::model::Pod,
    namespace: Sym,
    node_name: Sym,
    nominated: Sym,
    owner: Option<OwnerKey>,
    group_name: Sym,
    /// `spec.overhead`, which templates do not have.
    overhead: Amounts,
    /// Asked about, not part of the cluster: stands nowhere whatever it names.
    candidate: bool,
}

/// A group before references are resolved.
#[derive(Debug)]
struct DraftGroup {
    group: PodGroup,
    namespace: Sym,
    owner: Option<OwnerKey>,
}

/// A budget before references are resolved.
#[derive(Debug)]
struct DraftBudget {
    budget: Budget,
    namespace: Sym,
}

/// A namespace object.
#[derive(Debug)]
struct DraftNamespace {
    labels: Labels,
    annotations: Labels,
}

/// Symbols that many objects need.
#[derive(Debug)]
struct WellKnown {
    default_scheduler: Sym,
    default_queue: Sym,
    default_namespace: Sym,
    tcp: Sym,
    any_address: Sym,
    rbd: Sym,
}

/// Takes objects one by one and makes the [`Snapshot`].
#[derive(Debug)]
pub struct Builder {
    options: BuildOptions,
    symbols: Symbols,
    resources: Resources,
    known: WellKnown,
    specs: Distinct<PodSpec>,
    node_rules: Distinct<NodeRules>,
    requests: Distinct<Requests>,
    nodes: Vec<Node>,
    pods: Vec<DraftPod>,
    groups: Vec<DraftGroup>,
    budgets: Vec<DraftBudget>,
    namespaces: FxHashMap<Sym, DraftNamespace>,
    queues: Vec<Queue>,
    dra: dra::Draft,
    storage: storage::StorageDraft,
    workloads: Vec<workload::DraftWorkload>,
    kinds_read: BTreeSet<Kind>,
    kinds_refused: BTreeSet<Kind>,
    kinds_listed: BTreeSet<Kind>,
}

impl Builder {
    /// Says that the objects were read from a cluster at work, by this program or the writer of a snapshot file. There a
    /// node may be gone whose pods are not yet: they count nowhere, as in the scheduler. In a file that a person put
    /// together it is a fault.
    pub fn of_cluster(&mut self) {
        self.options.refuse_unknown_nodes = false;
    }

    /// An empty builder.
    pub fn new(options: BuildOptions) -> Self {
        let mut symbols = Symbols::default();
        let known = WellKnown {
            default_scheduler: symbols.intern("default-scheduler"),
            default_queue: symbols.intern("default"),
            default_namespace: symbols.intern("default"),
            tcp: symbols.intern("TCP"),
            any_address: symbols.intern("0.0.0.0"),
            rbd: symbols.intern("rbd"),
        };
        let resources = Resources::new(&mut symbols);
        let mut requests = Distinct::default();
        requests.intern(Requests::default());
        Self {
            options,
            symbols,
            resources,
            known,
            specs: Distinct::default(),
            node_rules: Distinct::default(),
            requests,
            nodes: Vec::new(),
            pods: Vec::new(),
            groups: Vec::new(),
            budgets: Vec::new(),
            namespaces: FxHashMap::default(),
            queues: Vec::new(),
            dra: dra::Draft::default(),
            storage: storage::StorageDraft::default(),
            workloads: Vec::new(),
            kinds_read: BTreeSet::new(),
            kinds_refused: BTreeSet::new(),
            kinds_listed: BTreeSet::new(),
        }
    }

    /// Says that all objects of a kind were listed, even if there was none: owners of that kind without an object
    /// are gone.
    pub fn kind_read(&mut self, kind: Kind) {
        self.kinds_read.insert(kind);
    }

    /// Says that all objects of a kind were listed, without more to follow from it for owners that are only named: files
    /// and tests name owners that nobody made.
    pub fn kind_listed(&mut self, kind: Kind) {
        self.kinds_listed.insert(kind);
    }

    /// Says that a kind could not be listed: nothing is known about owners of that kind.
    pub fn kind_refused(&mut self, kind: Kind) {
        self.kinds_refused.insert(kind);
    }

    /// Resolves all references and makes the model.
    pub fn finish(self) -> Result<Snapshot, InputError> {
        finish::finish(self)
    }

    /// Extended resources that a pod so far asks for and that is not finished, by name.
    pub fn requested(&self) -> Vec<String> {
        self.requested_by(|draft| !draft.pod.phase.is_finished())
    }

    /// Extended resources that the pods ask for which are only asked about, by name.
    pub fn requested_by_candidates(&self) -> Vec<String> {
        self.requested_by(|draft| draft.candidate)
    }

    /// Extended resources that any node or pod so far names, in no order.
    pub fn named_resources(&self) -> impl Iterator<Item = &str> {
        self.resources.names().iter().map(|&name| self.symbols.text(name)).filter(|name| is_extended(name))
    }

    fn requested_by(&self, who: impl Fn(&DraftPod) -> bool) -> Vec<String> {
        let names = self.resources.names();
        let pods = self.pods.iter().filter(|draft| who(draft));
        let amounts = pods.flat_map(|draft| self.requests.values()[draft.pod.charged.at()].0.iter());
        let asked = amounts.filter(|(_, amount)| *amount > 0).map(|&(resource, _)| resource);
        let mut resources: Vec<_> = asked.collect::<BTreeSet<_>>().into_iter().collect();
        resources.retain(|resource| is_extended(self.symbols.text(names[resource.at()])));
        let mut texts: Vec<String> =
            resources.into_iter().map(|r| self.symbols.text(names[r.at()]).to_owned()).collect();
        texts.sort_unstable();
        texts
    }

    /// Adds a pod that is asked about: it is not bound, whatever node it names; naming one is a rule of the pod
    /// (plugin `NodeName`). It is listed in [`Snapshot::candidates`].
    pub fn candidate(&mut self, view: &PodView<'_>) -> Result<(), InputError> {
        self.draft_pod(view, true)
    }

    /// The namespace of a namespaced object: `default` when the file leaves it out, as kubectl does.
    fn namespace_of(&mut self, namespace: &str) -> Sym {
        if namespace.is_empty() { self.known.default_namespace } else { self.symbols.intern(namespace) }
    }

    fn labels(&mut self, pairs: &Pairs<'_>) -> Labels {
        Labels::new(pairs.iter().map(|(k, v)| (self.symbols.intern(k), self.symbols.intern(v))).collect())
    }

    /// The controlling owner among `references`; others do not recreate anything.
    fn owner_key(&mut self, namespace: Sym, references: &[OwnerRefView<'_>]) -> Option<OwnerKey> {
        let owner = references.iter().find(|r| r.controller == Some(true))?;
        Some(OwnerKey {
            namespace,
            api_version: self.symbols.intern(&owner.api_version),
            kind: self.symbols.intern(&owner.kind),
            name: self.symbols.intern(&owner.name),
            uid: self.symbols.intern(&owner.uid),
        })
    }
}

impl Sink for Builder {
    fn object(&mut self, object: Object<'_>, origin: &Origin) -> Result<(), InputError> {
        let done = match object {
            Object::Node(view) => self.node(&view),
            Object::Pod(view) => self.draft_pod(&view, false),
            Object::Namespace(view) => {
                self.namespace(&view);
                Ok(())
            }
            Object::PodGroup(view) => self.pod_group(&view),
            Object::Queue(view) => self.queue(&view),
            Object::PodDisruptionBudget(view) => self.budget(&view),
            Object::ResourceSlice(view) => self.resource_slice(&view),
            Object::DeviceClass(view) => self.device_class(&view),
            Object::ResourceClaim(view) => self.resource_claim(&view),
            Object::ResourceClaimTemplate(view) => self.claim_template(&view),
            Object::DeviceTaintRule(view) => self.device_taint_rule(&view),
            Object::PersistentVolumeClaim(view) => self.pvc(&view),
            Object::PersistentVolume(view) => self.pv(&view),
            Object::StorageClass(view) => self.storage_class(&view),
            Object::CsiNode(view) => self.csi_node(&view),
            Object::CsiDriver(view) => self.csi_driver(&view),
            Object::StorageCapacity(view) => self.storage_capacity(&view),
            Object::VolumeAttachment(view) => self.attachment(&view),
            Object::Deployment(view) => self.replicas_object(Kind::Deployment, &view),
            Object::ReplicaSet(view) => self.replicas_object(Kind::ReplicaSet, &view),
            Object::StatefulSet(view) => self.replicas_object(Kind::StatefulSet, &view),
            Object::DaemonSet(view) => self.replicas_object(Kind::DaemonSet, &view),
            Object::ReplicationController(view) => self.replicas_object(Kind::ReplicationController, &view),
            Object::Job(view) => self.job(&view),
            Object::CronJob(view) => self.owner_object(Kind::CronJob, &view),
            Object::VolcanoJob(view) => self.volcano_job(&view),
            Object::ModelServing(view) => self.model_serving(&view),
            Object::LeaderWorkerSet(view) => self.leader_worker_set(&view),
            Object::JobSet(view) => self.job_set(&view),
            Object::RayCluster(view) => self.ray_cluster(&view),
            Object::RayJob(view) => self.owner_object(Kind::RayJob, &view),
            Object::RayService(view) => self.owner_object(Kind::RayService, &view),
            Object::PyTorchJob(view) => self.training_job(Kind::PyTorchJob, &view),
            Object::TFJob(view) => self.training_job(Kind::TFJob, &view),
            Object::MPIJob(view) => self.training_job(Kind::MPIJob, &view),
            Object::XGBoostJob(view) => self.training_job(Kind::XGBoostJob, &view),
            Object::PaddleJob(view) => self.training_job(Kind::PaddleJob, &view),
            Object::JAXJob(view) => self.training_job(Kind::JAXJob, &view),
            Object::TrainJob(view) => self.owner_object(Kind::TrainJob, &view),
            Object::Unknown { .. } => Ok(()),
        };
        done.map_err(|e| e.at(origin))
    }
}

/// Makes a [`GroupOrigin::Missing`] or virtual group.
fn implied_group(
    namespace: super::model::NamespaceIdx,
    name: Sym,
    queue: Sym,
    origin: GroupOrigin,
) -> PodGroup {
    PodGroup {
        namespace,
        name,
        uid: Sym::EMPTY,
        labels: Labels::default(),
        annotations: Labels::default(),
        owner: None,
        min_member: 1,
        min_task_member: Box::default(),
        min_resources: None,
        queue,
        phase: Sym::EMPTY,
        hard_tier: None,
        origin,
        pods: Vec::new(),
    }
}
