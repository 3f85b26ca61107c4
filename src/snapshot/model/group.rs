//! Groups, owners, namespaces, queues and disruption budgets of the model.
//!
//! May import: snapshot

use super::ids::{GroupIdx, NamespaceIdx, OwnerIdx, PodIdx, Sym};
use super::intern::Symbols;
use super::selector::{Labels, Selector};
use super::workload::OwnerObject;
use crate::snapshot::view::object::Kind;

/// A namespace, of an object of the file or only named by others.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Name.
    pub name: Sym,
    /// Labels; the API server always sets `kubernetes.io/metadata.name`.
    pub labels: Labels,
    /// Allow-listed annotations.
    pub annotations: Labels,
    /// The Namespace object was read. If not, its labels are unknown but for the name.
    pub read: bool,
}

impl Namespace {
    /// Whether a selector selects it; `None` where labels decide that were not read.
    pub fn selected(&self, selector: &Selector, symbols: &Symbols) -> Option<bool> {
        let told = |key: Sym| self.read || self.labels.get(key).is_some();
        let mut open = false;
        for requirement in &selector.0 {
            if !told(requirement.key) {
                open = true;
            } else if !requirement.matches(&self.labels, symbols) {
                return Some(false);
            }
        }
        (!open).then_some(true)
    }
}

/// A `PodGroup` of Volcano, or a virtual one made of a controlling owner.
#[derive(Clone, Debug)]
pub struct PodGroup {
    /// Namespace.
    pub namespace: NamespaceIdx,
    /// Name.
    pub name: Sym,
    /// UID; empty for virtual groups and hand-written files.
    pub uid: Sym,
    /// Labels of the object.
    pub labels: Labels,
    /// Allow-listed annotations of the object.
    pub annotations: Labels,
    /// Controlling owner of the object.
    pub owner: Option<OwnerIdx>,
    /// `spec.minMember`; 1 for virtual groups.
    pub min_member: i64,
    /// `spec.minTaskMember`, sorted by task name.
    pub min_task_member: Box<[(Sym, i64)]>,
    /// `spec.minResources` in Volcano's units; `None` when it says nothing, and then no queue refuses the group.
    pub min_resources: Option<super::pod::Requests>,
    /// Queue; `default` when empty.
    pub queue: Sym,
    /// `status.phase`, `EMPTY` when absent.
    pub phase: Sym,
    /// Hard network topology: the highest tier allowed.
    pub hard_tier: Option<i64>,
    /// How it came into the model.
    pub origin: GroupOrigin,
    /// Members, bound or not, finished or not, by namespace and name.
    pub pods: Vec<PodIdx>,
}

/// How a group came into the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupOrigin {
    /// The `PodGroup` object was read.
    Object,
    /// A pod names it, but no such object was read.
    Missing,
    /// Made of the controlling owner of pods without a group (schedulers without `PodGroups`).
    Virtual,
}

/// A controlling owner, as pods and groups reference it.
#[derive(Clone, Debug)]
pub struct Owner {
    /// API version of the reference.
    pub api_version: Sym,
    /// Kind.
    pub kind: Sym,
    /// Namespace.
    pub namespace: NamespaceIdx,
    /// Name.
    pub name: Sym,
    /// UID of the reference.
    pub uid: Sym,
    /// Its kind, if planning knows how that kind reacts.
    pub known: Option<Kind>,
    /// The object behind the reference.
    pub object: OwnerObject,
    /// Pods whose controlling owner it is.
    pub pods: Vec<PodIdx>,
    /// `PodGroups` whose controlling owner it is.
    pub groups: Vec<GroupIdx>,
}

/// A Volcano queue. Amounts are in Volcano's units (cpu milli, memory bytes, others milli-units).
#[derive(Clone, Debug)]
pub struct Queue {
    /// Name.
    pub name: Sym,
    /// `status.state` is Open, or absent.
    pub open: bool,
    /// `spec.capability`; resources not listed are unlimited.
    pub capability: super::pod::Requests,
    /// `spec.deserved`.
    pub deserved: super::pod::Requests,
    /// `spec.guarantee.resource`.
    pub guarantee: super::pod::Requests,
    /// Parent queue, `EMPTY` = root.
    pub parent: Sym,
    /// Weight.
    pub weight: i32,
}

/// A `PodDisruptionBudget` and what its status says.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Namespace.
    pub namespace: NamespaceIdx,
    /// Name.
    pub name: Sym,
    /// Covered pods; `None` covers none.
    pub selector: Option<Selector>,
    /// `spec.minAvailable` as written.
    pub min_available: Option<Sym>,
    /// `spec.maxUnavailable` as written.
    pub max_unavailable: Option<Sym>,
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`.
    pub always_allow_unhealthy: bool,
    /// Status, if there is one.
    pub status: Option<BudgetStatus>,
    /// Pods it selects that are neither finished nor lost, by namespace and name.
    pub pods: Vec<PodIdx>,
}

/// Status of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetStatus {
    /// Evictions allowed now.
    pub disruptions_allowed: i64,
    /// Healthy pods now.
    pub current_healthy: i64,
    /// Healthy pods needed.
    pub desired_healthy: i64,
    /// Pods the budget counts.
    pub expected_pods: i64,
    /// `DisruptionAllowed` is False with reason `SyncFailed`: expected pods can not be computed.
    pub sync_failed: bool,
    /// The status is older than the spec.
    pub stale: bool,
}
