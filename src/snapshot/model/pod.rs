//! Pods and pod specs of the model.
//!
//! May import: snapshot

use std::sync::LazyLock;

use super::ids::{
    BudgetIdx, GroupIdx, NamespaceIdx, NodeIdx, NodeRulesIdx, OwnerIdx, RequestsIdx, ResourceIdx, SpecIdx,
    Sym,
};
use super::node::{Effect, Taint};
use super::selector::{Labels, NodeSelector, Requirement, Selector};
use super::workload::TemplateFacts;

/// Requested amounts, sorted by resource. kube amounts leave zeros out; Volcano's keep what is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requests(pub Box<[(ResourceIdx, i64)]>);

impl Requests {
    /// The amount of one resource; 0 when absent.
    pub fn get(&self, resource: ResourceIdx) -> i64 {
        self.0.iter().find(|(r, _)| *r == resource).map_or(0, |&(_, amount)| amount)
    }
}

/// Operator of a toleration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TolerationOp {
    /// The values are equal.
    Equal,
    /// Any value.
    Exists,
    /// Comparison operators (`Lt`, `Gt`), behind a gate that is off by default, and unknown ones.
    Other,
}

/// A toleration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// Key; empty = every key.
    pub key: Sym,
    /// Operator.
    pub op: TolerationOp,
    /// Value.
    pub value: Sym,
    /// Effect; `None` = every effect.
    pub effect: Option<Effect>,
    /// A finite time of toleration was given.
    pub finite: bool,
}

impl Toleration {
    /// True when this toleration covers `taint` (rulebook 1.3).
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && (self.key == Sym::EMPTY || self.key == taint.key)
            && match self.op {
                TolerationOp::Exists => true,
                TolerationOp::Equal => self.value == taint.value,
                TolerationOp::Other => false,
            }
    }
}

/// The rules of a pod that look at one node only. Equal for most pods of a cluster, so evaluated once per class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeRules {
    /// `spec.nodeName` of a pod that names its node by itself (empty for bound pods).
    pub node_name: Sym,
    /// `spec.nodeSelector`, sorted by symbol.
    pub node_selector: Box<[(Sym, Sym)]>,
    /// Required node affinity.
    pub affinity: Option<NodeSelector>,
    /// Tolerations.
    pub tolerations: Box<[Toleration]>,
    /// Features that the node must declare, sorted by symbol.
    pub features: Box<[Sym]>,
}

/// A host port, normalised: no address is `0.0.0.0`, no protocol is `TCP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// Port number, > 0.
    pub port: i32,
    /// Protocol.
    pub protocol: Sym,
    /// Address.
    pub ip: Sym,
}

/// A required pod (anti-)affinity term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodTerm {
    /// Which pods; `None` matches none.
    pub selector: Option<Selector>,
    /// Namespaces by name, sorted by symbol. Holds the pod's own when the term names none.
    pub namespaces: Box<[Sym]>,
    /// Namespaces by label; present and empty = all.
    pub namespace_selector: Option<Selector>,
    /// Domain label.
    pub topology_key: Sym,
}

/// A `DoNotSchedule` spread constraint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spread {
    /// Allowed difference.
    pub max_skew: i32,
    /// Domain label.
    pub topology_key: Sym,
    /// Which pods count; `None` counts none. `matchLabelKeys` are merged in.
    pub selector: Option<Selector>,
    /// Least number of domains (default 1).
    pub min_domains: i32,
    /// Leave out nodes that the pod's node selector and affinity refuse.
    pub honor_affinity: bool,
    /// Leave out nodes with untolerated taints.
    pub honor_taints: bool,
}

/// An inline disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Disk {
    /// GCE persistent disk.
    Gce(Sym),
    /// AWS EBS volume.
    Aws(Sym),
    /// iSCSI by IQN.
    Iscsi(Sym),
    /// Ceph RBD: monitors sorted by symbol, pool, image.
    Rbd(Box<[Sym]>, Sym, Sym),
}

/// A volume of a pod, as far as a rule reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Volume {
    /// A named claim of the pod's namespace.
    Claim(Sym),
    /// A generic ephemeral volume by its name in the pod; its claim is `POD-VOLUME`.
    Ephemeral(Sym),
    /// An inline disk and whether it is mounted read-only.
    Disk(Disk, bool),
    /// A directory of the host.
    HostPath,
    /// Scratch space that does not move along.
    EmptyDir,
}

/// Where a device claim of a pod comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimSource {
    /// A claim of that name.
    Named(Sym),
    /// Made from a template of that name.
    Template(Sym),
}

/// An entry of `spec.resourceClaims`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PodClaim {
    /// Name inside the pod.
    pub name: Sym,
    /// Where it comes from.
    pub source: ClaimSource,
}

/// What a container is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContainerRole {
    /// An init container that ends.
    Init,
    /// An init container that stays.
    Sidecar,
    /// An app container.
    App,
}

/// Everything of a pod that scheduling rules read except where it is: what a replacement copies.
///
/// Pods with equal specs are one class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodSpec {
    /// Namespace, as a symbol.
    pub namespace: Sym,
    /// Labels.
    pub labels: Labels,
    /// Scheduler; never empty.
    pub scheduler: Sym,
    /// Priority.
    pub priority: i32,
    /// Rules that look at one node only, interned.
    pub node_rules: NodeRulesIdx,
    /// What a new pod of this spec is charged by kube-scheduler.
    pub requests: RequestsIdx,
    /// What it is charged by Volcano.
    pub volcano_requests: RequestsIdx,
    /// Extended resources per container, init containers first (DRA maps them container by container), zeros left out.
    pub container_extended: Box<[(ContainerRole, Requests)]>,
    /// Host ports, sorted.
    pub host_ports: Box<[HostPort]>,
    /// Required pod affinity.
    pub affinity: Box<[PodTerm]>,
    /// Required pod anti-affinity.
    pub anti_affinity: Box<[PodTerm]>,
    /// Spread constraints that filter.
    pub spread: Box<[Spread]>,
    /// Volumes.
    pub volumes: Box<[Volume]>,
    /// Device claims.
    pub claims: Box<[PodClaim]>,
    /// Scheduling gates.
    pub gates: Box<[Sym]>,
    /// Carries a reference of native gang scheduling.
    pub native_group: bool,
}

/// Phase of a pod. Succeeded and Failed pods hold nothing and never reach a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Accepted, containers not all started.
    Pending,
    /// Running.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// The node does not answer, or the phase is not written.
    Unknown,
}

impl Phase {
    /// Succeeded or Failed.
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// A live pod: 64 bytes, since everything that looks at many of them pays for their size.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Name.
    pub name: Sym,
    /// Namespace.
    pub namespace: NamespaceIdx,
    /// UID, empty when the file has none.
    pub uid: Sym,
    /// Its scheduling class.
    pub spec: SpecIdx,
    /// What kube-scheduler charges for it where it is (resize taken into account).
    pub charged: RequestsIdx,
    /// What Volcano charges for it where it is.
    pub charged_volcano: RequestsIdx,
    /// Node it is bound to. `None` when Pending, or when its node is not in the snapshot (then
    /// [`Pod::lost`] is set).
    pub node: Option<NodeIdx>,
    /// Bound to a node that is not in the snapshot: counts nowhere.
    pub lost: bool,
    /// Phase.
    pub phase: Phase,
    /// Has a deletionTimestamp.
    pub terminating: bool,
    /// `status.nominatedNodeName`, if that node exists.
    pub nominated: Option<NodeIdx>,
    /// The Ready condition is True.
    pub ready: bool,
    /// Creation time, seconds since 1970 (until 2106); 0 when absent.
    pub created: u32,
    /// Controlling owner.
    pub owner: Option<OwnerIdx>,
    /// `PodGroup`, real or virtual.
    pub group: Option<GroupIdx>,
    /// Class of the replacement that its controller will make, where it differs from its own.
    pub replacement: Option<SpecIdx>,
    /// What its controller's template says besides, if the template is known.
    pub template: Option<TemplateFacts>,
    /// Owned by a node: a mirror (static) pod.
    pub mirror: bool,
    /// What few pods have; see [`Pod::details`].
    pub rare: Option<Box<PodDetails>>,
}

/// What few pods have, or few questions need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDetails {
    /// Budgets that select it.
    pub budgets: Box<[BudgetIdx]>,
    /// Annotations on the allow-list, as symbols.
    pub annotations: Labels,
    /// Generated names of template claims: (name in the pod, claim; `EMPTY` = none needed).
    pub claim_names: Box<[(Sym, Sym)]>,
}

/// Of a pod that has none of it.
static PLAIN: LazyLock<PodDetails> = LazyLock::new(PodDetails::default);

impl Pod {
    /// What few pods have.
    pub fn details(&self) -> &PodDetails {
        self.rare.as_deref().unwrap_or(&PLAIN)
    }

    /// Class of the pod that its controller makes when this one is evicted.
    pub fn replacement_spec(&self) -> SpecIdx {
        self.replacement.unwrap_or(self.spec)
    }

    /// Bound, not finished: it stands on [`Pod::node`] and holds what it requested.
    pub const fn stands(&self) -> bool {
        self.node.is_some() && !self.phase.is_finished()
    }
}

/// Merges `matchLabelKeys` (as `In`) into requirements, as the API server and the spread plugin do: keys that the
/// pod does not carry are ignored.
pub fn merge_label_keys(
    requirements: &mut Vec<Requirement>,
    keys: &[Sym],
    labels: &Labels,
    op: super::selector::Op,
) {
    for &key in keys {
        if let Some(value) = labels.get(key) {
            requirements.push(Requirement { key, op, values: Box::new([value]) });
        }
    }
}
