//! Controllers that own pods, as far as their reaction to a lost pod and the spec of a replacement go.
//!
//! May import: snapshot

use super::ids::{NamespaceIdx, OwnerIdx, Sym, WorkloadIdx};
use super::selector::Labels;
use crate::snapshot::view::object::Kind;

/// A controller whose object was read.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Kind.
    pub kind: Kind,
    /// Namespace.
    pub namespace: NamespaceIdx,
    /// Name.
    pub name: Sym,
    /// UID, empty when the file has none.
    pub uid: Sym,
    /// Labels.
    pub labels: Labels,
    /// Allow-listed annotations.
    pub annotations: Labels,
    /// Its own controlling owner.
    pub owner: Option<OwnerIdx>,
    /// Has a deletionTimestamp: nothing is created any more.
    pub deleting: bool,
    /// Pods wanted (serving groups of a `ModelServing`, groups of a `LeaderWorkerSet`); `None` for kinds without.
    pub replicas: Option<i64>,
    /// Suspended, or finished.
    pub suspended: bool,
    /// How it reacts when a pod is evicted.
    pub reaction: Reaction,
}

/// How a controller reacts when a pod is evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It creates that pod again.
    Plain,
    /// Job of Kubernetes.
    Job(JobRules),
    /// Job of Volcano.
    VolcanoJob(VolcanoJobRules),
    /// `ModelServing` of Kthena.
    ModelServing(Recovery),
    /// `LeaderWorkerSet`: a lost pod takes its group along.
    LeaderWorkerSet {
        /// Policy `RecreateGroupOnPodRestart`; if not, only a lost leader does.
        recreates_group: bool,
    },
    /// `JobSet`, when one of its Jobs fails.
    JobSet {
        /// It restarts as a whole and has restarts left.
        restarts: bool,
    },
    /// `RayCluster`.
    RayCluster {
        /// The state of the cluster outlives its head.
        fault_tolerant: bool,
    },
    /// Job of training-operator v1: replica types (lower case) that are not restarted.
    Training {
        /// Types with restart policy `Never`, or all when no restart is left.
        fatal: Box<[Sym]>,
        /// No restart is left.
        exhausted: bool,
    },
}

/// Rules of a Job of Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRules {
    /// Pods that have failed.
    pub failed: i64,
    /// Failures tolerated; `None` = no limit.
    pub limit: Option<i64>,
    /// Failures tolerated per index.
    pub limit_per_index: Option<i64>,
    /// Pod failure policy, in order.
    pub rules: Box<[FailureRule]>,
    /// Replacements are created only when the old pod has ended (policy `Failed`).
    pub replaces_after_end: bool,
}

/// A rule of a pod failure policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureRule {
    /// When it matches.
    pub on: FailureOn,
    /// What it does.
    pub action: FailureAction,
}

/// When a failure rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureOn {
    /// Condition `DisruptionTarget`: always for an evicted pod.
    Disruption,
    /// Exit codes with which a process usually ends when it is told to (137, 143).
    KillExitCodes,
    /// Something an eviction does not bring about.
    Other,
}

/// What a failure rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureAction {
    /// The Job fails.
    FailJob,
    /// The index fails.
    FailIndex,
    /// The failure is not counted.
    Ignore,
    /// The failure is counted.
    Count,
}

/// Rules of a Volcano Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolcanoJobRules {
    /// Policies of the job.
    pub policies: Box<[Policy]>,
    /// Policies of each task.
    pub tasks: Box<[(Sym, Box<[Policy]>)]>,
    /// Pods of each task, in the same order.
    pub replicas: Box<[i64]>,
    /// Restarts so far.
    pub retries: i64,
    /// Restarts before the job fails.
    pub max_retry: i64,
}

impl VolcanoJobRules {
    /// The first action for `event`: policies of the task, then of the job (rulebook 2.13).
    pub fn action(&self, task: Sym, event: PodEvent) -> PolicyAction {
        let of_task =
            self.tasks.iter().find(|(name, _)| *name == task).map(|(_, p)| &**p).unwrap_or_default();
        let matching = of_task.iter().chain(&*self.policies).find(|policy| policy.matches(event));
        matching.map_or(PolicyAction::Sync, |policy| policy.action)
    }

    /// How many pods the task has, whose indices are all below; `None` for a task that the job does not have.
    pub fn replicas_of(&self, task: Sym) -> Option<i64> {
        let at = self.tasks.iter().position(|(name, _)| *name == task)?;
        self.replicas.get(at).copied()
    }
}

/// A lifecycle policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// On `PodEvicted`.
    pub evicted: bool,
    /// On `PodFailed`.
    pub failed: bool,
    /// On an exit code other than 0.
    pub exit_code: bool,
    /// What is done.
    pub action: PolicyAction,
}

impl Policy {
    const fn matches(&self, event: PodEvent) -> bool {
        match event {
            PodEvent::Evicted => self.evicted,
            PodEvent::Failed => self.failed || self.exit_code,
        }
    }
}

/// An event that an eviction raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodEvent {
    /// The object disappeared.
    Evicted,
    /// The process ended with a fault before.
    Failed,
}

/// What a policy does, by reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyAction {
    /// Only that pod is created again, without counting as a retry.
    Sync,
    /// Only that pod is created again.
    RestartPod,
    /// Its partition.
    RestartPartition,
    /// Its task.
    RestartTask,
    /// The job.
    RestartJob,
    /// The job ends.
    End,
}

/// Recovery policy of a `ModelServing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// The role replica.
    #[default]
    Role,
    /// The serving group.
    Group,
    /// Nothing before the next reconcile.
    None,
}

/// What is known about the object behind an owner reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnerObject {
    /// It was read.
    Present(WorkloadIdx),
    /// Its kind was read, and it is not among the objects.
    Gone,
    /// No object of its kind is in the input: the kind's default reaction is taken.
    #[default]
    NotRead,
    /// Its kind could not be listed.
    Refused,
}

/// What the template of a pod says besides the spec of the replacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TemplateFacts {
    /// It names a node: a replacement would be bound without a scheduler.
    pub names_node: bool,
    /// It has scheduling gates, which somebody else removes.
    pub gated: bool,
}
