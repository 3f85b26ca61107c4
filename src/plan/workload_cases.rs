//! Field cases about workloads, planned from end to end.

use serde_json::json;

use super::testing::{CARDS, Cluster, pod};
use super::{Planned, Request, make};
use crate::snapshot::Snapshot;

fn plan(snapshot: &Snapshot, change: impl FnOnce(&mut Request)) -> Planned {
    let mut request = Request::for_resource(CARDS);
    change(&mut request);
    make(snapshot, &request).unwrap()
}

/// `name: from -> to` of every move, cascades marked with `*`.
fn moves(snapshot: &Snapshot, planned: &Planned) -> Vec<String> {
    let name = |m: &super::Move| {
        let mark = if m.cascade { "*" } else { "" };
        let (from, to) = (snapshot.node_name(m.from), snapshot.node_name(m.to));
        format!("{}{mark}: {from} -> {to}", snapshot.pod_name(m.pod))
    };
    planned.plan.moves.iter().map(name).collect()
}

fn kept(snapshot: &Snapshot, planned: &Planned, node: &str) -> &'static str {
    planned.report.kept(snapshot.node_named(node).unwrap()).unwrap().code()
}

/// n1 holds one pod of job `j`, n2 the other seven with one card free, n3 stays; policies of the job.
fn job(policies: &str) -> Snapshot {
    let mut cluster = Cluster::new().nodes(3, 8).group("a/j", 6).pod("a/j-w-0 n1 1 j");
    for at in 1..8 {
        cluster = cluster.pod(&format!("a/j-w-{at} n2 1 j"));
    }
    cluster
        .pod("a/bare n3 7")
        .yaml(&format!(
            "{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {{namespace: a, name: j}},
               spec: {{tasks: [{{name: w, replicas: 9}}], policies: {policies}}}}}"
        ))
        .build()
}

#[test]
fn f35_one_eviction_that_restarts_eight_pods_counts_eight() {
    let policies = "[{event: PodEvicted, action: RestartJob}]";
    let s = job(policies);
    let planned = plan(&s, |_| {});
    assert_eq!(planned.plan.disruption.array(), [1, 1, 8, 8, 8]);
    assert_eq!(planned.plan.moves.iter().filter(|m| m.cascade).count(), 7);
    let tight = plan(&s, |r| r.budget.resources = [(CARDS.to_owned(), 7)].into());
    assert!(tight.plan.is_empty());
    assert_eq!(kept(&s, &tight, "n1"), "ResourceBudget");
    let alone = job("[]");
    assert_eq!(plan(&alone, |_| {}).plan.disruption.array(), [1, 0, 1, 1, 1]);
}

#[test]
fn f35_a_job_that_aborts_on_eviction_is_never_moved() {
    let s = job("[{event: PodEvicted, action: AbortJob}]");
    let planned = plan(&s, |_| {});
    assert!(planned.plan.is_empty());
    assert_eq!(kept(&s, &planned, "n1"), "UnmovablePod");
}

#[test]
fn f34_only_the_pods_on_the_emptied_node_are_evicted() {
    let mut cluster = Cluster::new().nodes(3, 8).group("a/g", 1).pod("a/g-w-0 n1 1 g");
    for at in 1..11 {
        cluster = cluster.pod(&format!("a/g-w-{at} n{} 1 g", if at < 8 { 2 } else { 3 }));
    }
    let s = cluster.build();
    assert_eq!(moves(&s, &plan(&s, |_| {})).len(), 1);
}

#[test]
fn f64_a_serving_group_that_comes_back_whole_needs_room_for_all_at_once() {
    let build = |policy: &str| {
        let mut cluster = Cluster::new().nodes(3, 8).group("a/ms-0", 6);
        for at in 0..6 {
            let patch = json!({"metadata": {
                "labels": {"modelserving.volcano.sh/group-name": "ms-0",
                    "modelserving.volcano.sh/role-id": format!("decode-{}", at / 2)},
                "ownerReferences": [{"apiVersion": "workload.serving.volcano.sh/v1alpha1", "kind": "ModelServing",
                    "name": "ms", "controller": true}],
            }});
            let node = if at < 2 { 1 } else { 2 };
            cluster = cluster.pod_with(&format!("a/ms-0-{at} n{node} 1 ms-0"), &patch);
        }
        cluster
            .group("a/k", 1)
            .pod("a/k n3 7 k")
            .yaml(&format!(
                "{{apiVersion: workload.serving.volcano.sh/v1alpha1, kind: ModelServing,
                   metadata: {{namespace: a, name: ms}}, spec: {{recoveryPolicy: {policy}}}}}"
            ))
            .build()
    };
    let whole = build("ServingGroupRecreate");
    let planned = plan(&whole, |r| r.max_freed_nodes = Some(1));
    assert_eq!(planned.plan.disruption.moved_pods, 6);
    assert_eq!(planned.plan.freed.len(), 1);
    let role = build("RoleRecreate");
    let planned = plan(&role, |_| {});
    assert_eq!(
        planned.plan.moves.iter().map(|m| role.pod_name(m.pod)).collect::<Vec<_>>(),
        ["ms-0-0", "ms-0-1"]
    );
    let none = build("None");
    assert_eq!(kept(&none, &plan(&none, |_| {}), "n1"), "UnmovablePod");
    assert_eq!(moves(&none, &plan(&none, |r| r.movability.allow_late_recovery = true)).len(), 2);
}

#[test]
fn f48_one_budget_over_several_nodes_makes_waves() {
    let labels = json!({"metadata": {"labels": {"app": "x"}}});
    let s = Cluster::new()
        .nodes(4, 8)
        .group("a/g", 1)
        .pod_with("a/g-w-0 n1 1 g", &labels)
        .pod_with("a/g-w-1 n2 1 g", &labels)
        .pod_with("a/g-w-2 n3 4 g", &labels)
        .yaml(
            "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: a, name: b},
              spec: {selector: {matchLabels: {app: x}}, minAvailable: 2}}",
        )
        .build();
    let planned = plan(&s, |_| {});
    assert_eq!(planned.plan.freed.len(), 2);
    let cards = s.resource_named(CARDS).unwrap();
    let facts = super::movability::Facts::of(&s, cards, &Request::for_resource(CARDS)).unwrap();
    assert_eq!(facts.waves(&s, &planned.plan.moves), [0, 1]);
}

#[test]
fn f61_a_workload_is_not_evicted_more_often_than_it_tolerates() {
    let of_job = json!({"metadata": {"ownerReferences":
        [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": true}]}});
    let s = Cluster::new()
        .nodes(3, 8)
        .group("a/g", 1)
        .pod_with("a/p n1 1 g", &of_job)
        .pod_with("a/q n2 2 g", &of_job)
        .pod_with("a/r n3 3 g", &of_job)
        .yaml("{apiVersion: batch/v1, kind: Job, metadata: {namespace: a, name: j}, spec: {backoffLimit: 1}}")
        .build();
    let planned = plan(&s, |_| {});
    assert_eq!(planned.plan.moves.len(), 1);
    assert_eq!(planned.plan.freed.len(), 1);
    let refused = planned.report.kept.iter().filter(|k| k.why.code() == "RetryBudget").count();
    assert_eq!(refused, 1, "{:?}", planned.report.kept);
}

#[test]
fn f37_pods_of_one_unit_on_one_node_are_one_eviction() {
    let mut cluster = Cluster::new().nodes(3, 8).group("a/j", 1);
    for at in 0..3 {
        cluster = cluster.pod(&format!("a/j-w-{at} n1 1 j"));
    }
    let s = cluster
        .pod("a/bare n2 4")
        .yaml(
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {namespace: a, name: j},
              spec: {tasks: [{name: w, replicas: 9}], policies: [{event: PodEvicted, action: RestartTask}]},
              status: {retryCount: 1}}",
        )
        .build();
    let planned = plan(&s, |_| {});
    assert_eq!(moves(&s, &planned), ["j-w-0: n1 -> n2", "j-w-1*: n1 -> n2", "j-w-2*: n1 -> n2"]);
}

#[test]
fn f68_the_replacement_needs_the_room_of_the_template() {
    let of_set = json!({"metadata": {"ownerReferences":
        [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": true}]}});
    let s = |cards: u32| {
        Cluster::new()
            .nodes(2, 8)
            .group("a/g", 1)
            .pod_with("a/p n1 1 g", &of_set)
            .group("a/k", 1)
            .pod("a/k n2 7 k")
            .pod_with("a/bare n2 0", &json!({}))
            .yaml(&format!(
                "{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{namespace: a, name: rs}}, spec: {{replicas: 1,
                   template: {{spec: {{containers: [{{name: main, resources: {{requests: {{{CARDS}: {cards}}}}}}}]}}}}}}}}"
            ))
            .build()
    };
    let same = s(1);
    assert_eq!(moves(&same, &plan(&same, |_| {})), ["p: n1 -> n2"]);
    let more = s(2);
    assert_eq!(
        more.requests(more.spec(more.pod(pod(&more, "p")).replacement_spec()).requests)
            .get(more.resource_named(CARDS).unwrap()),
        2
    );
    assert!(plan(&more, |_| {}).plan.moves.iter().all(|m| m.pod != pod(&more, "p")));
}
