//! Controllers: from views to drafts, and the search for the object behind an owner reference.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::resources::Place;
use super::{Builder, OwnerKey};
use crate::snapshot::model::workload::{
    FailureAction, FailureOn, FailureRule, JobRules, Policy, PolicyAction, Reaction, Recovery, TemplateFacts,
    VolcanoJobRules, Workload,
};
use crate::snapshot::model::{NamespaceIdx, OwnerObject, SpecIdx, Sym, Symbols, WorkloadIdx};
use crate::snapshot::read::InputError;
use crate::snapshot::view::basic::{MetaView, Text};
use crate::snapshot::view::object::{Kind, group_of};
use crate::snapshot::view::pod::{ConditionView, PodView};
use crate::snapshot::view::workload::{
    FailureRuleView, JobSetView, JobView, LeaderWorkerSetView, ModelServingView, OwnerView, PolicyView,
    RayClusterView, ReplicasView, TrainingJobView, VolcanoJobView,
};

/// Failures that a Job tolerates when it does not say.
const DEFAULT_BACKOFF_LIMIT: i64 = 6;
/// Restarts of a Volcano Job when it does not say.
const DEFAULT_MAX_RETRY: i64 = 3;

/// The part of a RayCluster that is its head; groups of workers have names without a slash.
pub(super) const HEAD: &str = "/head";

/// A template of a controller and which of its pods are made of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DraftTemplate {
    /// Task, role, group or replica type; `EMPTY` = every pod.
    pub part: Sym,
    /// Its class.
    pub spec: SpecIdx,
    /// What it says besides.
    pub facts: TemplateFacts,
}

/// A controller before references are resolved.
#[derive(Debug)]
pub(super) struct DraftWorkload {
    pub workload: Workload,
    pub namespace: Sym,
    pub owner: Option<OwnerKey>,
    pub templates: Vec<DraftTemplate>,
    /// Pods of a StatefulSet with a smaller ordinal keep the template that they have.
    pub partition: i64,
    /// The revision of the template, where the controller tells; else `EMPTY`.
    pub revision: Sym,
}

impl Builder {
    fn add_workload(
        &mut self,
        kind: Kind,
        meta: &MetaView<'_>,
        reaction: Reaction,
    ) -> Result<&mut DraftWorkload, InputError> {
        self.kinds_read.insert(kind);
        if meta.name.is_empty() {
            let place = Place { kind: kind.name(), namespace: &meta.namespace, name: "" };
            return Err(place.error("metadata.name", "is missing"));
        }
        let namespace = self.namespace_of(&meta.namespace);
        let owner = self.owner_key(namespace, &meta.owner_references);
        let workload = Workload {
            kind,
            namespace: NamespaceIdx::UNSET,
            name: self.symbols.intern(&meta.name),
            uid: self.symbols.intern(&meta.uid),
            labels: self.labels(&meta.labels),
            annotations: self.labels(&meta.annotations),
            owner: None,
            deleting: meta.deletion_timestamp.is_some(),
            replicas: None,
            suspended: false,
            reaction,
        };
        self.workloads.push(DraftWorkload {
            workload,
            namespace,
            owner,
            templates: Vec::new(),
            partition: 0,
            revision: Sym::EMPTY,
        });
        Ok(self.workloads.last_mut().expect("one was just pushed"))
    }

    /// Reads one template of the controller that was added last.
    fn template(
        &mut self,
        kind: Kind,
        meta: &MetaView<'_>,
        part: &str,
        view: Option<&PodView<'_>>,
    ) -> Result<(), InputError> {
        let Some(view) = view else { return Ok(()) };
        let place = Place { kind: kind.name(), namespace: &meta.namespace, name: &meta.name };
        let namespace = self.namespace_of(&meta.namespace);
        let resources = self.pod_resources(view, place)?;
        let spec = self.spec(view, namespace, "", &resources, true);
        let facts = TemplateFacts {
            names_node: !view.spec.node_name.is_empty(),
            gated: !view.spec.scheduling_gates.is_empty(),
        };
        let part = self.symbols.intern(part);
        if let Some(draft) = self.workloads.last_mut() {
            draft.templates.push(DraftTemplate { part, spec, facts });
        }
        Ok(())
    }

    pub(super) fn owner_object(&mut self, kind: Kind, view: &OwnerView<'_>) -> Result<(), InputError> {
        self.add_workload(kind, &view.metadata, Reaction::Plain).map(drop)
    }

    pub(super) fn replicas_object(&mut self, kind: Kind, view: &ReplicasView<'_>) -> Result<(), InputError> {
        let revision = self.symbols.intern(&view.status.update_revision);
        let draft = self.add_workload(kind, &view.metadata, Reaction::Plain)?;
        if kind != Kind::DaemonSet {
            draft.workload.replicas = Some(view.spec.replicas.unwrap_or(1));
        }
        let rolling = view.spec.update_strategy.as_ref().and_then(|s| s.rolling_update.as_ref());
        let first = view.spec.ordinals.as_ref().and_then(|o| o.start).unwrap_or(0);
        draft.partition = rolling.and_then(|r| r.partition).unwrap_or(0).saturating_add(first);
        draft.revision = revision;
        // Pods belong to ReplicaSets, and the many old ones with nothing to create need no template.
        if kind == Kind::Deployment || view.spec.replicas == Some(0) {
            return Ok(());
        }
        self.template(kind, &view.metadata, "", view.spec.template.as_deref())
    }

    pub(super) fn job(&mut self, view: &JobView<'_>) -> Result<(), InputError> {
        let spec = &view.spec;
        let policy = spec.pod_failure_policy.as_ref();
        let rules = JobRules {
            failed: view.status.failed.unwrap_or(0),
            limit: spec
                .backoff_limit
                .or_else(|| spec.backoff_limit_per_index.is_none().then_some(DEFAULT_BACKOFF_LIMIT)),
            limit_per_index: spec.backoff_limit_per_index,
            rules: policy.iter().flat_map(|p| p.rules.iter()).map(failure_rule).collect(),
            replaces_after_end: match &*spec.pod_replacement_policy {
                "" => policy.is_some(),
                policy => policy == "Failed",
            },
        };
        let ended = |c: &ConditionView<'_>| matches!(&*c.kind, "Complete" | "Failed") && &*c.status == "True";
        let draft = self.add_workload(Kind::Job, &view.metadata, Reaction::Job(rules))?;
        draft.workload.suspended = spec.suspend == Some(true) || view.status.conditions.iter().any(ended);
        self.template(Kind::Job, &view.metadata, "", spec.template.as_deref())
    }

    pub(super) fn volcano_job(&mut self, view: &VolcanoJobView<'_>) -> Result<(), InputError> {
        let tasks = view.spec.tasks.iter();
        let tasks = tasks.map(|t| (self.symbols.intern(&t.name), policies(&t.policies))).collect();
        let rules = VolcanoJobRules {
            policies: policies(&view.spec.policies),
            tasks,
            replicas: view.spec.tasks.iter().map(|task| task.replicas.unwrap_or(0)).collect(),
            retries: view.status.retry_count.unwrap_or(0),
            max_retry: view.spec.max_retry.filter(|&n| n > 0).unwrap_or(DEFAULT_MAX_RETRY),
        };
        let draft = self.add_workload(Kind::VolcanoJob, &view.metadata, Reaction::VolcanoJob(rules))?;
        // In these phases Volcano's controller deletes pods and makes none.
        draft.workload.suspended = matches!(
            &*view.status.state.phase,
            "Aborting" | "Aborted" | "Terminating" | "Terminated" | "Completing" | "Completed" | "Failed"
        );
        for task in view.spec.tasks.iter() {
            self.template(Kind::VolcanoJob, &view.metadata, &task.name, task.template.as_deref())?;
        }
        Ok(())
    }

    pub(super) fn model_serving(&mut self, view: &ModelServingView<'_>) -> Result<(), InputError> {
        let recovery = match &*view.spec.recovery_policy {
            "ServingGroupRecreate" => Recovery::Group,
            "None" => Recovery::None,
            _ => Recovery::Role,
        };
        let kind = Kind::ModelServing;
        let draft = self.add_workload(kind, &view.metadata, Reaction::ModelServing(recovery))?;
        draft.workload.replicas = Some(view.spec.replicas.unwrap_or(1));
        for role in view.spec.template.roles.iter() {
            let entry = format!("{}/entry", &*role.name);
            self.template(kind, &view.metadata, &entry, role.entry_template.as_deref())?;
            self.template(kind, &view.metadata, &role.name, role.worker_template.as_deref())?;
        }
        Ok(())
    }

    pub(super) fn leader_worker_set(&mut self, view: &LeaderWorkerSetView<'_>) -> Result<(), InputError> {
        let policy = &*view.spec.leader_worker_template.restart_policy;
        let recreates_group = !matches!(policy, "None" | "NoneRestartPolicy");
        let reaction = Reaction::LeaderWorkerSet { recreates_group };
        let draft = self.add_workload(Kind::LeaderWorkerSet, &view.metadata, reaction)?;
        draft.workload.replicas = Some(view.spec.replicas.unwrap_or(1));
        Ok(())
    }

    pub(super) fn job_set(&mut self, view: &JobSetView<'_>) -> Result<(), InputError> {
        let restarts = view.status.restarts_count_towards_max.or(view.status.restarts).unwrap_or(0);
        let restarts = view.spec.failure_policy.as_ref().is_some_and(|policy| {
            policy.max_restarts.unwrap_or(0) > restarts
                && !policy.rules.iter().any(|rule| &*rule.action == "FailJobSet")
        });
        let draft = self.add_workload(Kind::JobSet, &view.metadata, Reaction::JobSet { restarts })?;
        draft.workload.suspended = view.spec.suspend == Some(true);
        Ok(())
    }

    pub(super) fn ray_cluster(&mut self, view: &RayClusterView<'_>) -> Result<(), InputError> {
        let kind = Kind::RayCluster;
        let annotated = view.metadata.annotations.get("ray.io/ft-enabled") == Some("true");
        let fault_tolerant = annotated || view.spec.gcs_fault_tolerance_options.is_some();
        let draft = self.add_workload(kind, &view.metadata, Reaction::RayCluster { fault_tolerant })?;
        draft.workload.suspended = view.spec.suspend == Some(true);
        self.template(kind, &view.metadata, HEAD, view.spec.head_group_spec.template.as_deref())?;
        for group in view.spec.worker_group_specs.iter() {
            self.template(kind, &view.metadata, &group.group_name, group.template.as_deref())?;
        }
        Ok(())
    }

    pub(super) fn training_job(&mut self, kind: Kind, view: &TrainingJobView<'_>) -> Result<(), InputError> {
        let policy = view.spec.run_policy.as_ref();
        let replicas = || view.spec.replica_specs.iter().flatten();
        let fatal = replicas()
            .filter(|(_, spec)| &*spec.restart_policy == "Never")
            .map(|(part, _)| self.symbols.intern(&part.to_ascii_lowercase()));
        let reaction = Reaction::Training {
            fatal: fatal.collect(),
            exhausted: policy.and_then(|p| p.backoff_limit) == Some(0),
        };
        let draft = self.add_workload(kind, &view.metadata, reaction)?;
        draft.workload.suspended = policy.and_then(|p| p.suspend) == Some(true);
        for (part, spec) in replicas() {
            self.template(kind, &view.metadata, &part.to_ascii_lowercase(), spec.template.as_deref())?;
        }
        Ok(())
    }
}

fn policies(views: &[PolicyView<'_>]) -> Box<[Policy]> {
    let policy = |view: &PolicyView<'_>| {
        let on = |name: &str| {
            let names = |text: &Text<'_>| matches!(&**text, "*") || &**text == name;
            names(&view.event) || view.events.iter().any(names)
        };
        Policy {
            evicted: on("PodEvicted"),
            failed: on("PodFailed"),
            exit_code: view.exit_code.is_some_and(|code| code != 0),
            action: match &*view.action {
                "RestartJob" => PolicyAction::RestartJob,
                "RestartTask" => PolicyAction::RestartTask,
                "RestartPartition" => PolicyAction::RestartPartition,
                "RestartPod" => PolicyAction::RestartPod,
                "AbortJob" | "TerminateJob" | "CompleteJob" => PolicyAction::End,
                _ => PolicyAction::Sync,
            },
        }
    };
    views.iter().map(policy).collect()
}

fn failure_rule(view: &FailureRuleView<'_>) -> FailureRule {
    let disruption =
        |c: &ConditionView<'_>| &*c.kind == "DisruptionTarget" && matches!(&*c.status, "" | "True");
    let kills = view.on_exit_codes.as_ref().is_some_and(|codes| {
        let listed = |code: i64| codes.values.contains(&code);
        if &*codes.operator == "NotIn" { !listed(137) || !listed(143) } else { listed(137) || listed(143) }
    });
    FailureRule {
        on: if view.on_pod_conditions.iter().any(disruption) {
            FailureOn::Disruption
        } else if kills {
            FailureOn::KillExitCodes
        } else {
            FailureOn::Other
        },
        action: match &*view.action {
            "FailJob" => FailureAction::FailJob,
            "FailIndex" => FailureAction::FailIndex,
            "Ignore" => FailureAction::Ignore,
            _ => FailureAction::Count,
        },
    }
}

/// Finds the object behind an owner reference.
pub(super) struct WorkloadIndex {
    by_name: FxHashMap<(Kind, Sym, Sym), Vec<WorkloadIdx>>,
}

impl WorkloadIndex {
    /// Sorts the drafts by namespace, kind and name, and indexes them.
    pub(super) fn new(drafts: &mut [DraftWorkload], symbols: &Symbols) -> Self {
        drafts.sort_by(|a, b| {
            let key = |d: &DraftWorkload| {
                (
                    symbols.text(d.namespace),
                    d.workload.kind,
                    symbols.text(d.workload.name),
                    symbols.text(d.workload.uid),
                )
            };
            key(a).cmp(&key(b))
        });
        let mut by_name: FxHashMap<_, Vec<WorkloadIdx>> = FxHashMap::default();
        for (at, draft) in drafts.iter().enumerate() {
            let key = (draft.workload.kind, draft.namespace, draft.workload.name);
            by_name.entry(key).or_default().push(WorkloadIdx::new(at));
        }
        Self { by_name }
    }

    /// What is known about the owner. Of objects with its name only one with its UID is meant, unless one of the
    /// two does not say its UID.
    pub(super) fn find(
        &self,
        kind: Option<Kind>,
        key: &OwnerKey,
        drafts: &[DraftWorkload],
        builder: &Builder,
    ) -> OwnerObject {
        let Some(kind) = kind else { return OwnerObject::NotRead };
        let same = |at: &&WorkloadIdx| {
            let uid = drafts[at.at()].workload.uid;
            uid == key.uid || uid == Sym::EMPTY || key.uid == Sym::EMPTY
        };
        let near = self.by_name.get(&(kind, key.namespace, key.name));
        match near.and_then(|near| near.iter().find(same)) {
            Some(&at) => OwnerObject::Present(at),
            None if builder.kinds_read.contains(&kind) => OwnerObject::Gone,
            None if builder.kinds_refused.contains(&kind) => OwnerObject::Refused,
            None => OwnerObject::NotRead,
        }
    }
}

/// The kind of an owner reference, if planning knows it as a controller. Hand-written files may leave the API
/// version out: then Kubernetes' own kind of that name is meant.
pub(super) fn controller_kind(key: &OwnerKey, symbols: &Symbols) -> Option<Kind> {
    let (api_version, name) = (symbols.text(key.api_version), symbols.text(key.kind));
    let kind = if api_version.is_empty() {
        Kind::ALL.iter().copied().find(|k| k.name() == name)
    } else {
        Kind::of(group_of(api_version), name)
    };
    kind.filter(|&k| is_controller(k))
}

/// Kinds that own pods or the owners of pods.
fn is_controller(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Deployment
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::DaemonSet
            | Kind::ReplicationController
            | Kind::Job
            | Kind::CronJob
            | Kind::VolcanoJob
            | Kind::ModelServing
            | Kind::LeaderWorkerSet
            | Kind::JobSet
            | Kind::RayCluster
            | Kind::RayJob
            | Kind::RayService
            | Kind::PyTorchJob
            | Kind::TFJob
            | Kind::MPIJob
            | Kind::XGBoostJob
            | Kind::PaddleJob
            | Kind::JAXJob
            | Kind::TrainJob
    )
}
