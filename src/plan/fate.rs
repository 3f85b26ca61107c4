//! What the controller does when one of its pods is evicted: which pods come back with it, when, and what could go
//! wrong for the workload.
//!
//! Rules: rulebook 2.13 (Volcano Job), 3.3 (`ModelServing`), 4.7 (all others). Where the object was not read, the kind's
//! default reaction is taken.
//!
//! May import: snapshot, plan

use rustc_hash::FxHashMap;

use super::reason::Code;
use crate::snapshot::Snapshot;
use crate::snapshot::model::workload::{
    FailureAction, FailureOn, JobRules, PodEvent, PolicyAction, Reaction, Recovery, VolcanoJobRules,
};
use crate::snapshot::model::{NamespaceIdx, Owner, OwnerIdx, Pod, PodIdx, Sym, WorkloadIdx};
use crate::snapshot::names;
use crate::snapshot::view::object::Kind;

/// When a controller creates the replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timing {
    /// As soon as the victim has its deletionTimestamp: both exist side by side.
    WhileTerminating,
    /// When the victim's object is gone.
    AfterGone,
}

/// A set of pods that a controller may recreate together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Together {
    /// All pods of an owner.
    Owner(OwnerIdx),
    /// A task of a Volcano Job, a serving group, a replica of a multi-host Ray group.
    Part(OwnerIdx, Sym),
    /// A partition of a task, a role replica of a serving group.
    SubPart(OwnerIdx, Sym, Sym),
    /// A group of a `LeaderWorkerSet`.
    LeaderGroup(NamespaceIdx, Sym, Sym),
    /// All Jobs of a `JobSet`.
    JobSet(NamespaceIdx, Sym),
}

/// What happens when a pod is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Pods that are recreated along; `None` = this one only.
    pub together: Option<Together>,
    /// What speaks against evicting it, with a clause.
    pub trouble: Option<(Code, &'static str)>,
    /// When the replacement is created.
    pub timing: Timing,
}

const fn alone(timing: Timing) -> Fate {
    Fate { together: None, trouble: None, timing }
}

/// Label keys that controllers put on their pods, as symbols of the snapshot where it has them.
#[derive(Clone, Copy, Debug)]
struct Keys {
    partition: Option<Sym>,
    group_name: Option<Sym>,
    role_id: Option<Sym>,
    leader_set: Option<Sym>,
    leader_group: Option<Sym>,
    worker_index: Option<Sym>,
    job_set: Option<Sym>,
    ray_node_type: Option<Sym>,
    ray_replica: Option<Sym>,
    replica_type: Option<Sym>,
    index_failures: Option<Sym>,
}

/// Answers for all pods of a snapshot.
#[derive(Debug)]
pub struct Fates<'s> {
    snapshot: &'s Snapshot,
    keys: Keys,
    /// `LeaderWorkerSet`s and `JobSet`s by name: pods name them in labels, not in owner references.
    by_name: FxHashMap<(Kind, NamespaceIdx, Sym), WorkloadIdx>,
}

impl<'s> Fates<'s> {
    /// Prepares the answers.
    pub fn new(snapshot: &'s Snapshot) -> Self {
        let key = |text: &str| snapshot.symbols.find(text);
        let keys = Keys {
            partition: key("volcano.sh/partition-id"),
            group_name: key("modelserving.volcano.sh/group-name"),
            role_id: key("modelserving.volcano.sh/role-id"),
            leader_set: key("leaderworkerset.sigs.k8s.io/name"),
            leader_group: key("leaderworkerset.sigs.k8s.io/group-index"),
            worker_index: key("leaderworkerset.sigs.k8s.io/worker-index"),
            job_set: key("jobset.sigs.k8s.io/jobset-name"),
            ray_node_type: key("ray.io/node-type"),
            ray_replica: key("ray.io/worker-group-replica-name"),
            replica_type: key("training.kubeflow.org/replica-type"),
            index_failures: key("batch.kubernetes.io/job-index-failure-count"),
        };
        let named = snapshot.workloads.iter().enumerate();
        let by_name = named
            .filter(|(_, w)| matches!(w.kind, Kind::LeaderWorkerSet | Kind::JobSet))
            .map(|(at, w)| ((w.kind, w.namespace, w.name), WorkloadIdx::new(at)))
            .collect();
        Self { snapshot, keys, by_name }
    }

    fn label(&self, pod: &Pod, key: Option<Sym>) -> Option<Sym> {
        self.snapshot.spec(pod.spec).labels.get(key?)
    }

    fn named(&self, kind: Kind, namespace: NamespaceIdx, name: Sym) -> Option<&'s Reaction> {
        let at = self.by_name.get(&(kind, namespace, name))?;
        Some(&self.snapshot.workloads[at.at()].reaction)
    }

    /// What happens when a pod is evicted. Pods without a controlling owner do not come back: ask before.
    pub fn of(&self, pod: PodIdx) -> Fate {
        let pod = self.snapshot.pod(pod);
        let Some(at) = pod.owner else { return alone(Timing::AfterGone) };
        let owner = &self.snapshot.owners[at.at()];
        let reaction = self.snapshot.workload_of(at).map(|workload| &workload.reaction);
        match owner.known {
            Some(Kind::StatefulSet) => self.of_stateful(pod),
            Some(Kind::ReplicaSet | Kind::ReplicationController | Kind::Deployment) => {
                alone(Timing::WhileTerminating)
            }
            Some(Kind::Job) => match reaction {
                Some(Reaction::Job(rules)) => self.of_job(pod, rules),
                _ => alone(Timing::WhileTerminating),
            },
            Some(Kind::VolcanoJob) => match reaction {
                Some(Reaction::VolcanoJob(rules)) => self.of_volcano_job(pod, at, owner, rules),
                _ => alone(Timing::AfterGone),
            },
            Some(Kind::ModelServing) => self.of_serving(pod, at, reaction),
            Some(Kind::RayCluster) => self.of_ray(pod, at, reaction),
            _ => match reaction {
                Some(Reaction::Training { fatal, exhausted }) => self.of_training(pod, fatal, *exhausted),
                _ => alone(Timing::AfterGone),
            },
        }
    }

    /// Every set that a pod belongs to, whether or not its own eviction recreates it.
    pub fn sets_of(&self, pod: PodIdx) -> impl Iterator<Item = Together> {
        let pod = self.snapshot.pod(pod);
        let mut sets = [None; 5];
        if let Some(at) = pod.owner {
            let owner = &self.snapshot.owners[at.at()];
            match owner.known {
                Some(Kind::VolcanoJob) => {
                    let task = self.task(pod, owner);
                    let partition = self.label(pod, self.keys.partition).unwrap_or_default();
                    sets[0] = Some(Together::Owner(at));
                    sets[1] = Some(Together::Part(at, task));
                    sets[2] = Some(Together::SubPart(at, task, partition));
                }
                Some(Kind::ModelServing) => {
                    let group = self.label(pod, self.keys.group_name).unwrap_or_default();
                    let role = self.label(pod, self.keys.role_id).unwrap_or_default();
                    sets[0] = Some(Together::Part(at, group));
                    sets[1] = Some(Together::SubPart(at, group, role));
                }
                Some(Kind::RayCluster) => {
                    sets[0] = self.label(pod, self.keys.ray_replica).map(|name| Together::Part(at, name));
                }
                _ => {}
            }
        }
        sets[3] = self.leader_group(pod);
        sets[4] = self.label(pod, self.keys.job_set).map(|name| Together::JobSet(pod.namespace, name));
        sets.into_iter().flatten()
    }

    /// How many more evictions the retries of an owner tolerate; `None` = no limit is known. Each evicted pod of a
    /// Job, and each evicted unit of a Volcano Job that restarts something, takes one.
    pub fn evictions_tolerated(&self, owner: OwnerIdx) -> Option<i64> {
        match &self.snapshot.workload_of(owner)?.reaction {
            Reaction::Job(rules) if counted(rules) => {
                let left = (rules.limit? - rules.failed).max(0);
                // The failure that the Job does not survive restarts its set.
                (left > 0 || !self.restarts_its_set(owner)).then_some(left)
            }
            Reaction::VolcanoJob(rules) => {
                let all = rules.policies.iter().chain(rules.tasks.iter().flat_map(|(_, p)| &**p));
                let restarts = |action| (PolicyAction::RestartPod..PolicyAction::End).contains(&action);
                let any = all.filter(|p| p.evicted || p.failed || p.exit_code).any(|p| restarts(p.action));
                any.then(|| (rules.max_retry - 1 - rules.retries).max(0))
            }
            _ => None,
        }
    }

    fn restarts_its_set(&self, owner: OwnerIdx) -> bool {
        let pods = &self.snapshot.owners[owner.at()].pods;
        pods.iter().any(|&pod| matches!(self.of(pod).together, Some(Together::JobSet(..))))
    }

    fn task(&self, pod: &Pod, job: &Owner) -> Sym {
        let labels = &self.snapshot.spec(pod.spec).labels;
        names::task_of(&self.snapshot.symbols, labels, pod, job.name).unwrap_or_default()
    }

    fn leader_group(&self, pod: &Pod) -> Option<Together> {
        let set = self.label(pod, self.keys.leader_set)?;
        let group = self.label(pod, self.keys.leader_group)?;
        Some(Together::LeaderGroup(pod.namespace, set, group))
    }

    /// A lost pod of a `LeaderWorkerSet` takes its group along by default; a lost leader always does, since the
    /// workers' StatefulSet belongs to it.
    fn of_stateful(&self, pod: &Pod) -> Fate {
        let Some(group) = self.leader_group(pod) else { return alone(Timing::AfterGone) };
        let set = self.label(pod, self.keys.leader_set).unwrap_or_default();
        let recreates = match self.named(Kind::LeaderWorkerSet, pod.namespace, set) {
            Some(Reaction::LeaderWorkerSet { recreates_group }) => *recreates_group,
            _ => true,
        };
        let index = self.label(pod, self.keys.worker_index).map(|index| self.snapshot.text(index));
        let leads = index.is_none_or(|index| index == "0");
        Fate { together: (recreates || leads).then_some(group), ..alone(Timing::AfterGone) }
    }

    fn of_job(&self, pod: &Pod, rules: &JobRules) -> Fate {
        let timing = if rules.replaces_after_end { Timing::AfterGone } else { Timing::WhileTerminating };
        let mut fate = alone(timing);
        for rule in &rules.rules {
            match (rule.on, rule.action) {
                (FailureOn::KillExitCodes, FailureAction::FailJob | FailureAction::FailIndex) => {
                    fate.trouble =
                        Some((Code::OwnerMayEnd, "a pod failure policy on exit codes fails the Job"));
                }
                (FailureOn::Disruption, FailureAction::FailJob | FailureAction::FailIndex) => {
                    let clause = "its pod failure policy fails the Job on DisruptionTarget";
                    return Fate { trouble: Some((Code::OwnerEnds, clause)), ..fate };
                }
                (FailureOn::Disruption, _) => break,
                _ => {}
            }
        }
        if !counted(rules) {
            return fate;
        }
        let of_index = self.keys.index_failures.and_then(|key| pod.details().annotations.get(key));
        let of_index = of_index.and_then(|n| self.snapshot.text(n).parse::<i64>().ok()).unwrap_or(0);
        let used_up = if rules.limit_per_index.is_some_and(|limit| of_index >= limit) {
            Some("the retries of its index are used up")
        } else if rules.limit.is_some_and(|limit| rules.failed >= limit) {
            Some("the retries of the Job are used up")
        } else {
            None
        };
        let Some(clause) = used_up else { return fate };
        let set = self.label(pod, self.keys.job_set);
        let restarts = set.and_then(|name| self.named(Kind::JobSet, pod.namespace, name));
        match (set, restarts) {
            (Some(name), Some(Reaction::JobSet { restarts: true })) => Fate {
                together: Some(Together::JobSet(pod.namespace, name)),
                trouble: None,
                timing: Timing::AfterGone,
            },
            _ => Fate { trouble: Some((Code::RetriesExhausted, clause)), ..fate },
        }
    }

    fn of_volcano_job(&self, pod: &Pod, at: OwnerIdx, owner: &Owner, rules: &VolcanoJobRules) -> Fate {
        let task = self.task(pod, owner);
        let (evicted, failed) = (rules.action(task, PodEvent::Evicted), rules.action(task, PodEvent::Failed));
        let mut fate = alone(Timing::AfterGone);
        let index = names::index_of(self.snapshot.text(pod.name));
        if rules.replicas_of(task).zip(index).is_some_and(|(replicas, index)| index >= replicas) {
            fate.trouble = Some((Code::OwnerScalingDown, "its task has fewer replicas than its index needs"));
            return fate;
        }
        if evicted == PolicyAction::End {
            fate.trouble = Some((Code::OwnerEnds, "its policy on PodEvicted ends the job"));
            return fate;
        }
        // A process that exits with a fault when it is told to end fires PodFailed first.
        let reach = if failed == PolicyAction::End {
            fate.trouble = Some((Code::OwnerMayEnd, "its policy on PodFailed ends the job"));
            evicted
        } else {
            evicted.max(failed)
        };
        if reach >= PolicyAction::RestartPod && rules.retries + 1 >= rules.max_retry {
            let clause = "the restarts of the job are used up";
            let code = if evicted == PolicyAction::Sync { Code::OwnerMayEnd } else { Code::RetriesExhausted };
            fate.trouble = Some((code, clause));
        }
        fate.together = match reach {
            PolicyAction::RestartJob => Some(Together::Owner(at)),
            PolicyAction::RestartTask => Some(Together::Part(at, task)),
            PolicyAction::RestartPartition => {
                let partition = self.label(pod, self.keys.partition).unwrap_or_default();
                Some(Together::SubPart(at, task, partition))
            }
            PolicyAction::Sync | PolicyAction::RestartPod | PolicyAction::End => None,
        };
        fate
    }

    fn of_serving(&self, pod: &Pod, at: OwnerIdx, reaction: Option<&Reaction>) -> Fate {
        let group = self.label(pod, self.keys.group_name).unwrap_or_default();
        let recovery = match reaction {
            Some(Reaction::ModelServing(recovery)) => *recovery,
            _ => Recovery::default(),
        };
        let mut fate = alone(Timing::AfterGone);
        match recovery {
            Recovery::Role => {
                let role = self.label(pod, self.keys.role_id).unwrap_or_default();
                fate.together = Some(Together::SubPart(at, group, role));
            }
            Recovery::Group => fate.together = Some(Together::Part(at, group)),
            Recovery::None => fate.trouble = Some((Code::LateRecovery, "recoveryPolicy None")),
        }
        fate
    }

    fn of_ray(&self, pod: &Pod, at: OwnerIdx, reaction: Option<&Reaction>) -> Fate {
        let mut fate = alone(Timing::AfterGone);
        let fault_tolerant = matches!(reaction, Some(Reaction::RayCluster { fault_tolerant: true }));
        let node_type = self.label(pod, self.keys.ray_node_type).map(|t| self.snapshot.text(t));
        if node_type == Some("head") && !fault_tolerant {
            fate.trouble = Some((Code::OwnerMayEnd, "the head holds the state of the cluster"));
        }
        fate.together = self.label(pod, self.keys.ray_replica).map(|name| Together::Part(at, name));
        fate
    }

    fn of_training(&self, pod: &Pod, fatal: &[Sym], exhausted: bool) -> Fate {
        let mut fate = alone(Timing::AfterGone);
        let part = self.label(pod, self.keys.replica_type).map(|t| self.snapshot.text(t));
        let listed = |part: &str| fatal.iter().any(|&f| self.snapshot.text(f).eq_ignore_ascii_case(part));
        if exhausted {
            fate.trouble = Some((Code::OwnerMayEnd, "the restarts of the job are used up"));
        } else if part.map_or(!fatal.is_empty(), listed) {
            fate.trouble = Some((Code::OwnerMayEnd, "its restart policy is Never"));
        }
        fate
    }
}

/// Whether a Job counts an evicted pod as a failure: unless its failure policy ignores disruptions.
fn counted(rules: &JobRules) -> bool {
    let disruption = rules.rules.iter().find(|rule| rule.on == FailureOn::Disruption);
    disruption.is_none_or(|rule| rule.action != FailureAction::Ignore)
}
