use serde_json::json;

use super::*;
use crate::plan::reason::Code;
use crate::plan::testing::{Cluster, pod};

/// Two tasks of two pods each on two nodes, with policies of the job and of task `b`.
fn volcano_job(policies: &str, of_b: &str, status: &str) -> Snapshot {
    let mut cluster = Cluster::new().nodes(2, 8).group("a/j", 1);
    for name in ["a-0", "a-1", "b-0", "b-1"] {
        cluster = cluster.pod(&format!("a/j-{name} n1 1 j"));
    }
    let yaml = format!(
        "apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{namespace: a, name: j}}
spec:
  policies: {policies}
  tasks: [{{name: a, replicas: 9}}, {{name: b, replicas: 9, policies: {of_b}}}]
status: {status}
"
    );
    cluster.yaml(&yaml).build()
}

fn names(snapshot: &Snapshot, victim: &str) -> Vec<String> {
    let units = Units::of(snapshot);
    units.members(pod(snapshot, victim)).iter().map(|&p| snapshot.pod_name(p).to_owned()).collect()
}

fn trouble(snapshot: &Snapshot, victim: &str) -> Option<Code> {
    Fates::new(snapshot).of(pod(snapshot, victim)).trouble.map(|(code, _)| code)
}

#[test]
fn f35_a_job_that_restarts_on_eviction_takes_all_its_pods_along() {
    let s = volcano_job("[{event: PodEvicted, action: RestartJob}]", "[]", "{}");
    assert_eq!(names(&s, "j-a-0"), ["j-a-0", "j-a-1", "j-b-0", "j-b-1"]);
    assert_eq!(trouble(&s, "j-a-0"), None);
    for action in ["AbortJob", "TerminateJob", "CompleteJob"] {
        let s = volcano_job(&format!("[{{event: PodEvicted, action: {action}}}]"), "[]", "{}");
        assert_eq!(trouble(&s, "j-a-0"), Some(Code::OwnerEnds), "{action}");
    }
}

#[test]
fn f37_two_pods_of_a_task_that_restarts_need_one_eviction() {
    let s = volcano_job("[{event: PodEvicted, action: RestartTask}]", "[]", "{}");
    assert_eq!(names(&s, "j-a-0"), ["j-a-0", "j-a-1"]);
    let units = Units::of(&s);
    let both = [pod(&s, "j-a-1"), pod(&s, "j-a-0"), pod(&s, "j-b-0")];
    assert_eq!(units.evictions(&both), [both[0], both[2]]);
    assert_eq!(units.closure([both[0]]).len(), 2);
}

#[test]
fn f38_a_job_that_ends_when_a_pod_fails_may_end_when_one_is_evicted() {
    let policies = "[{event: PodFailed, action: TerminateJob}, {event: PodEvicted, action: RestartJob}]";
    let s = volcano_job(policies, "[]", "{}");
    assert_eq!(trouble(&s, "j-a-0"), Some(Code::OwnerMayEnd));
    assert_eq!(names(&s, "j-a-0").len(), 4, "and if not, it restarts");
    let s = volcano_job("[{exitCode: 143, action: AbortJob}]", "[]", "{}");
    assert_eq!(trouble(&s, "j-a-0"), Some(Code::OwnerMayEnd));
}

#[test]
fn policies_of_the_task_come_first_and_units_need_not_be_mutual() {
    let s =
        volcano_job("[{event: PodEvicted, action: RestartJob}]", "[{event: '*', action: RestartPod}]", "{}");
    assert_eq!(names(&s, "j-a-0").len(), 4);
    assert_eq!(names(&s, "j-b-0"), ["j-b-0"]);
}

#[test]
fn a_job_without_a_policy_or_without_its_object_recreates_that_pod_only() {
    let s = volcano_job("[]", "[]", "{}");
    assert_eq!(names(&s, "j-a-0"), ["j-a-0"]);
    let s = Cluster::new().nodes(1, 8).group("a/j", 1).pod("a/j-a-0 n1 1 j").build();
    assert_eq!((names(&s, "j-a-0"), trouble(&s, "j-a-0")), (vec!["j-a-0".to_owned()], None));
    assert_eq!(Units::of(&s).timing(pod(&s, "j-a-0")), Timing::AfterGone);
}

#[test]
fn a_job_out_of_restarts_would_fail() {
    let restart = "[{event: PodEvicted, action: RestartJob}]";
    assert_eq!(trouble(&volcano_job(restart, "[]", "{retryCount: 1}"), "j-a-0"), None);
    let s = volcano_job(restart, "[]", "{retryCount: 2}");
    assert_eq!(trouble(&s, "j-a-0"), Some(Code::RetriesExhausted));
    let s = volcano_job("[{event: PodFailed, action: RestartJob}]", "[]", "{retryCount: 2}");
    assert_eq!(trouble(&s, "j-a-0"), Some(Code::OwnerMayEnd), "only if the process exits with a fault");
}

#[test]
fn restart_partition_takes_the_pods_of_the_partition() {
    let mut cluster = Cluster::new().nodes(1, 8).group("a/j", 1);
    for (name, partition) in [("w-0", "0"), ("w-1", "0"), ("w-2", "1")] {
        let labels = json!({"metadata": {"labels":
            {"volcano.sh/task-spec": "w", "volcano.sh/partition-id": partition}}});
        cluster = cluster.pod_with(&format!("a/j-{name} n1 1 j"), &labels);
    }
    let job = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {namespace: a, name: j},
        spec: {tasks: [{name: w, replicas: 9, policies: [{event: PodEvicted, action: RestartPartition}]}]}}";
    let s = cluster.yaml(job).build();
    assert_eq!(names(&s, "j-w-0"), ["j-w-0", "j-w-1"]);
    assert_eq!(names(&s, "j-w-2"), ["j-w-2"]);
}

/// A serving group of two role replicas with three pods each.
fn serving(policy: Option<&str>) -> Snapshot {
    let mut cluster = Cluster::new().nodes(1, 8).group("a/ms-0", 6);
    for at in 0..6 {
        let role = format!("decode-{}", at / 3);
        let patch = json!({"metadata": {
            "labels": {"modelserving.volcano.sh/group-name": "ms-0", "modelserving.volcano.sh/role-id": role},
            "ownerReferences": [{"apiVersion": "workload.serving.volcano.sh/v1alpha1", "kind": "ModelServing",
                "name": "ms", "controller": true}],
        }});
        cluster = cluster.pod_with(&format!("a/ms-0-{role}-{at} n1 1 ms-0"), &patch);
    }
    if let Some(policy) = policy {
        cluster = cluster.yaml(&format!(
            "{{apiVersion: workload.serving.volcano.sh/v1alpha1, kind: ModelServing,
              metadata: {{namespace: a, name: ms}}, spec: {{recoveryPolicy: {policy}}}}}"
        ));
    }
    cluster.build()
}

#[test]
fn f64_a_serving_group_comes_back_whole_by_role_or_late() {
    let victim = "ms-0-decode-0-1";
    assert_eq!(names(&serving(Some("ServingGroupRecreate")), victim).len(), 6);
    let role = ["ms-0-decode-0-0", "ms-0-decode-0-1", "ms-0-decode-0-2"];
    assert_eq!(names(&serving(Some("RoleRecreate")), victim), role);
    assert_eq!(names(&serving(None), victim), role, "the default where the object was not read");
    let none = serving(Some("None"));
    assert_eq!((names(&none, victim).len(), trouble(&none, victim)), (1, Some(Code::LateRecovery)));
}

#[test]
fn a_leader_takes_its_workers_along_and_by_default_a_worker_does_so_too() {
    let build = |policy: &str| {
        let mut cluster = Cluster::new().nodes(1, 8).group("a/g", 1);
        for (group, worker) in [(0, 0), (0, 1), (1, 0)] {
            let patch = json!({"metadata": {
                "labels": {"leaderworkerset.sigs.k8s.io/name": "l",
                    "leaderworkerset.sigs.k8s.io/group-index": group.to_string(),
                    "leaderworkerset.sigs.k8s.io/worker-index": worker.to_string()},
                "ownerReferences":
                    [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "l", "controller": true}],
            }});
            cluster = cluster.pod_with(&format!("a/l-{group}-{worker} n1 1 g"), &patch);
        }
        let set = format!(
            "{{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {{namespace: a, name: l}},
               spec: {{leaderWorkerTemplate: {{restartPolicy: {policy}}}}}}}"
        );
        cluster.yaml(&set).build()
    };
    let group = ["l-0-0", "l-0-1"];
    let default = build("RecreateGroupOnPodRestart");
    assert_eq!(names(&default, "l-0-1"), group);
    assert_eq!(names(&default, "l-1-0"), ["l-1-0"]);
    let none = build("None");
    assert_eq!(names(&none, "l-0-0"), group);
    assert_eq!(names(&none, "l-0-1"), ["l-0-1"]);
}

/// A Job with one pod; `spec` and `status` of the Job as YAML, `labels` of the pod.
fn job(spec: &str, status: &str, labels: &serde_json::Value, more: &str) -> Snapshot {
    let patch = json!({"metadata": {"labels": labels, "ownerReferences":
        [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": true}]}});
    let mut cluster = Cluster::new().nodes(1, 8).group("a/g", 1).pod_with("a/p n1 1 g", &patch).yaml(&format!(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{namespace: a, name: j}}, spec: {spec}, status: {status}}}"
    ));
    if !more.is_empty() {
        cluster = cluster.yaml(more);
    }
    cluster.build()
}

#[test]
fn f61_a_job_that_tolerates_no_further_failure_is_left_alone() {
    let of = |spec: &str, status: &str| trouble(&job(spec, status, &json!({}), ""), "p");
    let ignore = "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}";
    let fail = "podFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: DisruptionTarget}]}]}";
    assert_eq!(of("{backoffLimit: 0}", "{}"), Some(Code::RetriesExhausted));
    assert_eq!(of("{backoffLimit: 3}", "{failed: 3}"), Some(Code::RetriesExhausted));
    assert_eq!(of("{backoffLimit: 3}", "{failed: 2}"), None);
    assert_eq!(of("{}", "{failed: 5}"), None, "the default is six");
    assert_eq!(of(&format!("{{backoffLimit: 0, {ignore}}}"), "{}"), None);
    assert_eq!(of(&format!("{{backoffLimit: 6, {fail}}}"), "{}"), Some(Code::OwnerEnds));
    let codes =
        "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: NotIn, values: [42]}}]}";
    assert_eq!(of(&format!("{{{codes}}}"), "{}"), Some(Code::OwnerMayEnd));
    assert_eq!(of("{backoffLimitPerIndex: 0}", "{failed: 9}"), Some(Code::RetriesExhausted));
    assert_eq!(of("{backoffLimitPerIndex: 1}", "{failed: 9}"), None);
    let s = job("{backoffLimit: 3}", "{failed: 1}", &json!({}), "");
    assert_eq!(Fates::new(&s).evictions_tolerated(s.pods[0].owner.unwrap()), Some(2));
}

#[test]
fn a_job_set_restarts_as_a_whole_where_its_job_may_not_fail() {
    let set = |restarts: u32| {
        format!(
            "{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {{namespace: a, name: s}},
               spec: {{failurePolicy: {{maxRestarts: 2}}}}, status: {{restarts: {restarts}}}}}"
        )
    };
    let labels = json!({"jobset.sigs.k8s.io/jobset-name": "s"});
    let s = job("{backoffLimit: 0}", "{}", &labels, &set(1));
    assert_eq!(trouble(&s, "p"), None);
    assert!(matches!(Units::of(&s).unit(pod(&s, "p")), UnitIdx::Shared(_)));
    // The one eviction of the set is none that its Job has to survive.
    assert_eq!(Fates::new(&s).evictions_tolerated(s.pods[0].owner.unwrap()), None);
    let s = job("{backoffLimit: 0}", "{}", &labels, &set(2));
    assert_eq!(Fates::new(&s).evictions_tolerated(s.pods[0].owner.unwrap()), Some(0));
    assert_eq!(trouble(&s, "p"), Some(Code::RetriesExhausted));
}

#[test]
fn replacements_of_replica_sets_and_jobs_come_while_the_victim_terminates() {
    let s = job("{}", "{}", &json!({}), "");
    assert_eq!(Units::of(&s).timing(pod(&s, "p")), Timing::WhileTerminating);
    let s = job("{podReplacementPolicy: Failed}", "{}", &json!({}), "");
    assert_eq!(Units::of(&s).timing(pod(&s, "p")), Timing::AfterGone);
}

#[test]
fn a_ray_head_without_fault_tolerance_may_not_go_and_hosts_of_one_replica_go_together() {
    let build = |options: &str| {
        let mut cluster = Cluster::new().nodes(1, 8).group("a/g", 1);
        for (name, labels) in [
            ("head", json!({"ray.io/node-type": "head"})),
            ("w-0", json!({"ray.io/node-type": "worker", "ray.io/worker-group-replica-name": "r"})),
            ("w-1", json!({"ray.io/node-type": "worker", "ray.io/worker-group-replica-name": "r"})),
        ] {
            let patch = json!({"metadata": {"labels": labels, "ownerReferences":
                [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "c", "controller": true}]}});
            cluster = cluster.pod_with(&format!("a/{name} n1 1 g"), &patch);
        }
        let object = format!(
            "{{apiVersion: ray.io/v1, kind: RayCluster, metadata: {{namespace: a, name: c}}, spec: {options}}}"
        );
        cluster.yaml(&object).build()
    };
    let s = build("{}");
    assert_eq!(trouble(&s, "head"), Some(Code::OwnerMayEnd));
    assert_eq!(names(&s, "w-0"), ["w-0", "w-1"]);
    assert_eq!(trouble(&build("{gcsFaultToleranceOptions: {redisAddress: r}}"), "head"), None);
}
