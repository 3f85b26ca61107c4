//! What happens after a pod is evicted: which pods its controller takes down along, when and under which name they
//! come back, or why they do not (rulebook 2.13, 3.3, 4.7).
//!
//! The rules are those of the controller's kind and of its object where it was read; without the object the defaults
//! of the kind hold.
//!
//! May import: snapshot, `plan::types`, `plan::request`

use std::collections::BTreeSet;

use super::facts::Facts;
use super::finding::Check;
use crate::plan::request::Movability;
use crate::snapshot::model::workload::{
    FailureAction, FailureOn, JobRules, OwnerObject, PodEvent, PolicyAction, Reaction, Recovery,
    VolcanoJobRules, Workload,
};
use crate::snapshot::model::{OwnerIdx, PodIdx, Sym};
use crate::snapshot::names;
use crate::snapshot::view::object::Kind;

/// How pods come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Return {
    /// The evicted pod and all that its controller takes down along.
    pub unit: BTreeSet<PodIdx>,
    /// The replacement is made only when the old pod is gone; if not, while it terminates.
    pub after_gone: bool,
    /// Under the same name.
    pub same_name: bool,
    /// Eats up one of so many tolerated failures or restarts of its owner.
    pub costs: Option<i64>,
}

/// Why a pod may not be evicted, or how it comes back.
pub(super) type Answer = Result<Return, (Check, String)>;

const ENDS: &str = "the eviction ends its workload";
const MAY_END: &str = "the eviction may end its workload";

/// Asks about one pod. Flags of the request that accept a risk are taken into account.
pub(super) fn of(facts: &Facts<'_>, pod: PodIdx) -> Answer {
    let snapshot = facts.snapshot;
    let live = snapshot.pod(pod);
    if live.mirror {
        return Err((Check::BoundToNode, "is a static pod of its node".to_owned()));
    }
    let Some(owner) = live.owner else {
        return Err((Check::NoController, "has no controlling owner: nobody makes it again".to_owned()));
    };
    if live.template.is_some_and(|t| t.names_node) {
        return Err((Check::BoundToNode, "its template names a node".to_owned()));
    }
    let reference = &snapshot.owners[owner.at()];
    let named = || format!("{} {}", snapshot.text(reference.kind), snapshot.text(reference.name));
    if reference.known == Some(Kind::DaemonSet) || snapshot.text(reference.kind) == "Node" {
        return Err((Check::BoundToNode, format!("belongs to its node by {}", named())));
    }
    let rules = &facts.request.movability;
    let Some(kind) = reference.known else {
        return if rules.allow_custom_owners {
            Ok(alone(pod, true, false))
        } else {
            Err((Check::OwnerUnknown, format!("what {} does is not known", named())))
        };
    };
    match reference.object {
        OwnerObject::Gone => return Err((Check::OwnerGone, format!("{} does not exist", named()))),
        OwnerObject::Refused => {
            return Err((Check::OwnerUnknown, format!("{} could not be read", named())));
        }
        OwnerObject::NotRead | OwnerObject::Present(_) => {}
    }
    let object = facts.snapshot.workload_of(owner);
    for above in facts.chain(owner) {
        if above.deleting {
            return Err((Check::OwnerGone, format!("{} is being deleted", snapshot.text(above.name))));
        }
        if above.suspended || above.replicas == Some(0) {
            let text = format!("{} wants no pods any more", snapshot.text(above.name));
            return Err((Check::EndsWorkload, text));
        }
    }
    if let Some(group) = label(facts, pod, "leaderworkerset.sigs.k8s.io/name") {
        return Ok(leader_worker(facts, pod, group));
    }
    by_kind(facts, pod, owner, kind, object, rules)
}

fn by_kind(
    facts: &Facts<'_>,
    pod: PodIdx,
    owner: OwnerIdx,
    kind: Kind,
    object: Option<&Workload>,
    rules: &Movability,
) -> Answer {
    let reaction = object.map(|o| &o.reaction);
    match kind {
        Kind::ReplicaSet | Kind::ReplicationController => Ok(alone(pod, false, false)),
        Kind::StatefulSet => Ok(alone(pod, true, true)),
        Kind::Job => match reaction {
            Some(Reaction::Job(job)) => batch_job(facts, pod, owner, job, rules),
            _ => Ok(alone(pod, false, false)),
        },
        Kind::VolcanoJob => match reaction {
            Some(Reaction::VolcanoJob(job)) => volcano_job(facts, pod, owner, job, rules),
            _ => Ok(alone(pod, true, true)),
        },
        Kind::ModelServing => match reaction {
            Some(Reaction::ModelServing(recovery)) => model_serving(facts, pod, owner, *recovery, rules),
            _ => model_serving(facts, pod, owner, Recovery::Role, rules),
        },
        Kind::RayCluster => {
            let tolerant = matches!(reaction, Some(Reaction::RayCluster { fault_tolerant: true }));
            ray_cluster(facts, pod, owner, tolerant || rules.allow_may_terminate)
        }
        Kind::PyTorchJob | Kind::TFJob | Kind::MPIJob | Kind::XGBoostJob | Kind::PaddleJob | Kind::JAXJob => {
            match reaction {
                Some(Reaction::Training { fatal, exhausted }) => {
                    let part = label(facts, pod, "training.kubeflow.org/replica-type");
                    if *exhausted || part.is_some_and(|part| fatal.contains(&part)) {
                        Err((Check::EndsWorkload, ENDS.to_owned()))
                    } else {
                        Ok(alone(pod, true, true))
                    }
                }
                _ => Ok(alone(pod, true, true)),
            }
        }
        _ => Err((Check::OwnerUnknown, "its owner is of a kind that makes no pods itself".to_owned())),
    }
}

fn alone(pod: PodIdx, after_gone: bool, same_name: bool) -> Return {
    Return { unit: BTreeSet::from([pod]), after_gone, same_name, costs: None }
}

fn label(facts: &Facts<'_>, pod: PodIdx, key: &str) -> Option<Sym> {
    let key = facts.snapshot.symbols.find(key)?;
    facts.snapshot.spec_of(pod).labels.get(key)
}

/// Those of `pods` that stand, are not on their way out, and satisfy `like`.
fn standing(facts: &Facts<'_>, pods: &[PodIdx], like: impl Fn(PodIdx) -> bool) -> BTreeSet<PodIdx> {
    let here = |&pod: &PodIdx| {
        let live = facts.snapshot.pod(pod);
        live.stands() && !live.terminating && like(pod)
    };
    pods.iter().copied().filter(here).collect()
}

/// Members come back under their names once all of them are gone.
fn together(unit: BTreeSet<PodIdx>, same_name: bool) -> Return {
    Return { unit, after_gone: true, same_name, costs: None }
}

fn leader_worker(facts: &Facts<'_>, pod: PodIdx, set: Sym) -> Return {
    let key = |pod, key| label(facts, pod, key);
    let (name, index) = ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index");
    let namespace = facts.snapshot.pod(pod).namespace;
    let object = facts
        .snapshot
        .workloads
        .iter()
        .find(|w| w.kind == Kind::LeaderWorkerSet && w.namespace == namespace && w.name == set);
    let recreates =
        !matches!(object.map(|o| &o.reaction), Some(Reaction::LeaderWorkerSet { recreates_group: false }));
    // The workers' StatefulSet belongs to the leader. A pod that does not say which it is may be one.
    let worker = key(pod, "leaderworkerset.sigs.k8s.io/worker-index");
    let leads = worker.is_none_or(|w| facts.snapshot.text(w) == "0");
    if key(pod, index).is_none() || !(recreates || leads) {
        return alone(pod, true, true);
    }
    let same = |other| key(other, name) == Some(set) && key(other, index) == key(pod, index);
    together(standing(facts, facts.namespace_pods(namespace), same), true)
}

/// A Job counts the pod as failed unless its failure policy says otherwise; the first matching rule decides.
fn batch_job(facts: &Facts<'_>, pod: PodIdx, owner: OwnerIdx, job: &JobRules, rules: &Movability) -> Answer {
    let plain = alone(pod, job.replaces_after_end, false);
    let sure = job.rules.iter().find(|rule| rule.on == FailureOn::Disruption).map(|rule| rule.action);
    let first_sure = job.rules.iter().position(|rule| rule.on == FailureOn::Disruption);
    let possible = job.rules.iter().take(first_sure.unwrap_or(usize::MAX));
    let fails = |action| matches!(action, FailureAction::FailJob | FailureAction::FailIndex);
    let by_exit_code =
        possible.filter(|rule| rule.on == FailureOn::KillExitCodes).any(|rule| fails(rule.action));
    if sure.is_some_and(fails) {
        return job_fails(facts, pod, owner);
    }
    if by_exit_code && !rules.allow_may_terminate {
        return Err((Check::MayEndWorkload, MAY_END.to_owned()));
    }
    if sure == Some(FailureAction::Ignore) {
        return Ok(plain);
    }
    let index_failures = facts
        .annotation(pod, "batch.kubernetes.io/job-index-failure-count")
        .and_then(|text| text.parse::<i64>().ok())
        .unwrap_or(0);
    if job.limit_per_index.is_some_and(|limit| index_failures >= limit) {
        return job_fails(facts, pod, owner);
    }
    let left = job.limit.map(|limit| limit - job.failed);
    if left.is_some_and(|left| left < 1) {
        return job_fails(facts, pod, owner);
    }
    Ok(Return { costs: left, ..plain })
}

/// A failed Job ends, or takes its `JobSet` through a restart.
fn job_fails(facts: &Facts<'_>, pod: PodIdx, owner: OwnerIdx) -> Answer {
    let ends = || Err((Check::EndsWorkload, ENDS.to_owned()));
    let Some(set) = facts.snapshot.workload_of(owner).and_then(|job| job.owner) else { return ends() };
    let restarts = facts
        .snapshot
        .workload_of(set)
        .is_some_and(|o| matches!(o.reaction, Reaction::JobSet { restarts: true }));
    if !restarts {
        return ends();
    }
    let in_set = |owner: OwnerIdx| facts.snapshot.workload_of(owner).and_then(|job| job.owner) == Some(set);
    let near = facts.namespace_pods(facts.snapshot.pod(pod).namespace);
    let unit = standing(facts, near, |other| facts.snapshot.pod(other).owner.is_some_and(in_set));
    Ok(together(unit, false))
}

/// `PodEvicted` fires when the object is gone; `PodFailed` may fire before, when the process ends with a fault. The
/// action that reaches further counts.
fn volcano_job(
    facts: &Facts<'_>,
    pod: PodIdx,
    owner: OwnerIdx,
    job: &VolcanoJobRules,
    rules: &Movability,
) -> Answer {
    let name = facts.snapshot.owners[owner.at()].name;
    let task_of = |pod: PodIdx| {
        let live = facts.snapshot.pod(pod);
        names::task_of(&facts.snapshot.symbols, &facts.snapshot.spec_of(pod).labels, live, name)
    };
    let task = task_of(pod);
    let index = names::index_of(facts.snapshot.pod_name(pod));
    let replicas = task.and_then(|task| job.replicas_of(task));
    if let (Some(index), Some(replicas)) = (index, replicas)
        && replicas <= index
    {
        return Err((
            Check::EndsWorkload,
            format!("its task has {replicas} pods, and this is number {index}"),
        ));
    }
    let action = |event| job.action(task.unwrap_or_default(), event);
    let (evicted, failed) = (action(PodEvent::Evicted), action(PodEvent::Failed));
    if evicted == PolicyAction::End {
        return Err((Check::EndsWorkload, ENDS.to_owned()));
    }
    if failed == PolicyAction::End && !rules.allow_may_terminate {
        return Err((Check::MayEndWorkload, MAY_END.to_owned()));
    }
    let reach = if failed == PolicyAction::End { evicted } else { evicted.max(failed) };
    let left = job.max_retry - job.retries - 1;
    if reach > PolicyAction::Sync && left < 1 {
        if evicted > PolicyAction::Sync {
            return Err((Check::EndsWorkload, format!("{ENDS}: no restart is left")));
        } else if !rules.allow_may_terminate {
            return Err((Check::MayEndWorkload, format!("{MAY_END}: no restart is left")));
        }
    }
    let partition = |pod| label(facts, pod, "volcano.sh/partition-id");
    let unit = standing(facts, facts.owned(owner), |other| match reach {
        PolicyAction::RestartJob => true,
        PolicyAction::RestartTask => task_of(other) == task,
        PolicyAction::RestartPartition => task_of(other) == task && partition(other) == partition(pod),
        _ => other == pod,
    });
    let costs = (reach > PolicyAction::Sync).then_some(left);
    Ok(Return { costs, ..together(unit, true) })
}

fn model_serving(
    facts: &Facts<'_>,
    pod: PodIdx,
    owner: OwnerIdx,
    recovery: Recovery,
    rules: &Movability,
) -> Answer {
    let same = |other, key: &str| {
        let key = format!("modelserving.volcano.sh/{key}");
        label(facts, other, &key) == label(facts, pod, &key)
    };
    let unit = match recovery {
        Recovery::None if rules.allow_late_recovery => return Ok(alone(pod, true, true)),
        Recovery::None => {
            return Err((
                Check::LateRecovery,
                "its controller makes it again only some time later".to_owned(),
            ));
        }
        Recovery::Group => standing(facts, facts.owned(owner), |o| same(o, "group-name")),
        Recovery::Role => standing(facts, facts.owned(owner), |o| {
            same(o, "group-name") && same(o, "role") && same(o, "role-id")
        }),
    };
    Ok(together(unit, true))
}

/// Without the state outside, a lost head is the end of everything that runs. Replicas of several hosts come back as
/// a whole.
fn ray_cluster(facts: &Facts<'_>, pod: PodIdx, owner: OwnerIdx, tolerant: bool) -> Answer {
    let node_type = label(facts, pod, "ray.io/node-type");
    if node_type.is_some_and(|t| facts.snapshot.text(t) == "head") && !tolerant {
        return Err((Check::MayEndWorkload, format!("{MAY_END}: it is the head of a Ray cluster")));
    }
    let key = "ray.io/worker-group-replica-name";
    let Some(replica) = label(facts, pod, key) else { return Ok(alone(pod, true, false)) };
    let unit = standing(facts, facts.owned(owner), |other| label(facts, other, key) == Some(replica));
    Ok(together(unit, false))
}
