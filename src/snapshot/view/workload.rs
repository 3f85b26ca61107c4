//! Views of the controllers that own pods: what they want, the templates they create from, and the rules by which
//! they react when a pod goes.
//!
//! May import: snapshot

use std::collections::BTreeMap;

use serde::Deserialize;

use super::basic::{List, MetaView, Text};
use super::pod::{ConditionView, PodView};

/// An owner of which only the metadata counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OwnerView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
}

/// A controller of equal pods: Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ReplicasView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: ReplicasSpecView<'a>,
    /// Status.
    #[serde(borrow)]
    pub status: ReplicasStatusView<'a>,
}

/// `status` of a controller of equal pods.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicasStatusView<'a> {
    /// The revision that the template of a StatefulSet is, as its pods carry it in `controller-revision-hash`.
    #[serde(borrow)]
    pub update_revision: Text<'a>,
}

/// `spec` of a controller of equal pods.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicasSpecView<'a> {
    /// Pods wanted; absent is 1.
    pub replicas: Option<i64>,
    /// What pods are made of.
    #[serde(borrow)]
    pub template: Option<Box<PodView<'a>>>,
    /// How a StatefulSet changes over to a new template.
    pub update_strategy: Option<UpdateStrategyView>,
    /// How a StatefulSet numbers its pods.
    pub ordinals: Option<OrdinalsView>,
}

/// `spec.ordinals` of a StatefulSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OrdinalsView {
    /// Number of the first pod; absent is 0.
    pub start: Option<i64>,
}

/// `spec.updateStrategy` of a StatefulSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateStrategyView {
    /// Parameters of a rolling update.
    pub rolling_update: Option<RollingUpdateView>,
}

/// `spec.updateStrategy.rollingUpdate` of a StatefulSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdateView {
    /// Pods with a smaller ordinal keep the old template.
    pub partition: Option<i64>,
}

/// A Job of Kubernetes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JobView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: JobSpecView<'a>,
    /// Status.
    #[serde(borrow)]
    pub status: JobStatusView<'a>,
}

/// `spec` of a Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSpecView<'a> {
    /// Suspended.
    pub suspend: Option<bool>,
    /// Pods at the same time; absent is 1.
    pub parallelism: Option<i64>,
    /// Pods that have to succeed; absent: one of them.
    pub completions: Option<i64>,
    /// Failures tolerated; absent is 6, or no limit with a limit per index.
    pub backoff_limit: Option<i64>,
    /// Failures tolerated per index.
    pub backoff_limit_per_index: Option<i64>,
    /// `TerminatingOrFailed` or `Failed`; absent depends on the failure policy.
    #[serde(borrow)]
    pub pod_replacement_policy: Text<'a>,
    /// Which failures count.
    #[serde(borrow)]
    pub pod_failure_policy: Option<FailurePolicyView<'a>>,
    /// What pods are made of.
    #[serde(borrow)]
    pub template: Option<Box<PodView<'a>>>,
}

/// `spec.podFailurePolicy` of a Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FailurePolicyView<'a> {
    /// Rules, the first that matches decides.
    #[serde(borrow)]
    pub rules: List<FailureRuleView<'a>>,
}

/// One rule of a pod failure policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureRuleView<'a> {
    /// `FailJob`, `FailIndex`, `Ignore`, `Count`.
    #[serde(borrow)]
    pub action: Text<'a>,
    /// Matches exit codes.
    #[serde(borrow)]
    pub on_exit_codes: Option<ExitCodesView<'a>>,
    /// Matches conditions of the pod.
    #[serde(borrow)]
    pub on_pod_conditions: List<ConditionView<'a>>,
}

/// `onExitCodes` of a rule.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExitCodesView<'a> {
    /// `In` or `NotIn`.
    #[serde(borrow)]
    pub operator: Text<'a>,
    /// Exit codes.
    pub values: List<i64>,
}

/// `status` of a Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JobStatusView<'a> {
    /// Pods that have failed.
    pub failed: Option<i64>,
    /// Conditions.
    #[serde(borrow)]
    pub conditions: List<ConditionView<'a>>,
}

/// A Job of Volcano.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct VolcanoJobView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: VolcanoJobSpecView<'a>,
    /// Status.
    #[serde(borrow)]
    pub status: VolcanoJobStatusView<'a>,
}

/// `spec` of a Volcano Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolcanoJobSpecView<'a> {
    /// Restarts before the job fails; absent or 0 is 3.
    pub max_retry: Option<i64>,
    /// Pods needed to run; absent or 0: the sum over the tasks.
    pub min_available: Option<i64>,
    /// Scheduler of pods whose template names none; empty is Volcano.
    #[serde(borrow)]
    pub scheduler_name: Text<'a>,
    /// Queue; empty is `default`.
    #[serde(borrow)]
    pub queue: Text<'a>,
    /// Policies of the job, behind those of the task.
    #[serde(borrow)]
    pub policies: List<PolicyView<'a>>,
    /// Tasks.
    #[serde(borrow)]
    pub tasks: List<TaskView<'a>>,
}

/// A lifecycle policy of a Volcano Job or task.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyView<'a> {
    /// What is done.
    #[serde(borrow)]
    pub action: Text<'a>,
    /// On which event.
    #[serde(borrow)]
    pub event: Text<'a>,
    /// On which events.
    #[serde(borrow)]
    pub events: List<Text<'a>>,
    /// On which exit code.
    pub exit_code: Option<i64>,
}

/// A task of a Volcano Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskView<'a> {
    /// Name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Pods; absent is 0.
    pub replicas: Option<i64>,
    /// Pods needed to run; absent: all.
    pub min_available: Option<i64>,
    /// Policies of the task.
    #[serde(borrow)]
    pub policies: List<PolicyView<'a>>,
    /// What pods are made of.
    #[serde(borrow)]
    pub template: Option<Box<PodView<'a>>>,
}

/// `status` of a Volcano Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolcanoJobStatusView<'a> {
    /// Restarts so far.
    pub retry_count: Option<i64>,
    /// Where the job is.
    #[serde(borrow)]
    pub state: VolcanoJobStateView<'a>,
}

/// `status.state` of a Volcano Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct VolcanoJobStateView<'a> {
    /// `Running`, `Aborting`, `Completed`, …
    #[serde(borrow)]
    pub phase: Text<'a>,
}

/// A ModelServing of Kthena.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModelServingView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: ModelServingSpecView<'a>,
}

/// `spec` of a ModelServing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelServingSpecView<'a> {
    /// Serving groups wanted; absent is 1.
    pub replicas: Option<i64>,
    /// `ServingGroupRecreate`, `RoleRecreate` (default), `None`.
    #[serde(borrow)]
    pub recovery_policy: Text<'a>,
    /// Roles of a serving group.
    #[serde(borrow)]
    pub template: ServingTemplateView<'a>,
}

/// `spec.template` of a ModelServing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServingTemplateView<'a> {
    /// Roles.
    #[serde(borrow)]
    pub roles: List<RoleView<'a>>,
}

/// A role of a ModelServing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleView<'a> {
    /// Name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What the entry pod is made of.
    #[serde(borrow)]
    pub entry_template: Option<Box<PodView<'a>>>,
    /// What workers are made of.
    #[serde(borrow)]
    pub worker_template: Option<Box<PodView<'a>>>,
}

/// A LeaderWorkerSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LeaderWorkerSetView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: LeaderWorkerSetSpecView<'a>,
}

/// `spec` of a LeaderWorkerSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderWorkerSetSpecView<'a> {
    /// Groups wanted; absent is 1.
    pub replicas: Option<i64>,
    /// Rules of a group.
    #[serde(borrow)]
    pub leader_worker_template: LeaderWorkerTemplateView<'a>,
}

/// `spec.leaderWorkerTemplate` of a LeaderWorkerSet; its pod templates live in its `StatefulSet` objects.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderWorkerTemplateView<'a> {
    /// `RecreateGroupOnPodRestart` (default) or `None`.
    #[serde(borrow)]
    pub restart_policy: Text<'a>,
}

/// A JobSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JobSetView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: JobSetSpecView<'a>,
    /// Status.
    pub status: JobSetStatusView,
}

/// `spec` of a JobSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetSpecView<'a> {
    /// Suspended.
    pub suspend: Option<bool>,
    /// What happens when one of its Jobs fails; absent: the JobSet fails.
    #[serde(borrow)]
    pub failure_policy: Option<JobSetFailureView<'a>>,
}

/// `spec.failurePolicy` of a JobSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetFailureView<'a> {
    /// Restarts before the JobSet fails.
    pub max_restarts: Option<i64>,
    /// Rules before the default, which restarts the JobSet.
    #[serde(borrow)]
    pub rules: List<JobSetRuleView<'a>>,
}

/// One rule of a JobSet's failure policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JobSetRuleView<'a> {
    /// `FailJobSet`, `RestartJobSet` and others.
    #[serde(borrow)]
    pub action: Text<'a>,
}

/// `status` of a JobSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetStatusView {
    /// Restarts so far.
    pub restarts: Option<i64>,
    /// Restarts so far that count.
    pub restarts_count_towards_max: Option<i64>,
}

/// A RayCluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RayClusterView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: RayClusterSpecView<'a>,
}

/// `spec` of a RayCluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RayClusterSpecView<'a> {
    /// Suspended.
    pub suspend: Option<bool>,
    /// The cluster's state outlives its head.
    pub gcs_fault_tolerance_options: Option<serde::de::IgnoredAny>,
    /// Head.
    #[serde(borrow)]
    pub head_group_spec: RayGroupView<'a>,
    /// Workers.
    #[serde(borrow)]
    pub worker_group_specs: List<RayGroupView<'a>>,
}

/// The head or a group of workers of a RayCluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RayGroupView<'a> {
    /// Name; empty for the head.
    #[serde(borrow)]
    pub group_name: Text<'a>,
    /// Pods per replica; absent is 1.
    pub num_of_hosts: Option<i64>,
    /// What pods are made of.
    #[serde(borrow)]
    pub template: Option<Box<PodView<'a>>>,
}

/// A job of training-operator v1: PyTorchJob, TFJob and their likes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TrainingJobView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: TrainingJobSpecView<'a>,
}

/// `spec` of a training job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TrainingJobSpecView<'a> {
    /// Rules of the run.
    pub run_policy: Option<RunPolicyView>,
    /// Replicas by type; each kind has its own name for them.
    #[serde(
        borrow,
        alias = "pytorchReplicaSpecs",
        alias = "tfReplicaSpecs",
        alias = "mpiReplicaSpecs",
        alias = "xgbReplicaSpecs",
        alias = "paddleReplicaSpecs",
        alias = "jaxReplicaSpecs"
    )]
    pub replica_specs: Option<BTreeMap<String, ReplicaSpecView<'a>>>,
}

/// `spec.runPolicy` of a training job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunPolicyView {
    /// Suspended.
    pub suspend: Option<bool>,
    /// Restarts before the job fails.
    pub backoff_limit: Option<i64>,
}

/// Replicas of one type of a training job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSpecView<'a> {
    /// `Always`, `OnFailure`, `Never`, `ExitCode`.
    #[serde(borrow)]
    pub restart_policy: Text<'a>,
    /// What pods are made of.
    #[serde(borrow)]
    pub template: Option<Box<PodView<'a>>>,
}
