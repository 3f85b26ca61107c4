use serde_json::json;

use super::*;
use crate::plan::testing::{Cluster, pod};

/// Pods `p0`… of a StatefulSet `s` (three replicas) under a budget; `ready` says which are Ready.
fn cluster(spec: &str, status: &str, ready: &[bool]) -> Snapshot {
    let mut cluster = Cluster::new().nodes(2, 8).group("a/g", 1);
    for (at, ready) in ready.iter().enumerate() {
        let status = if *ready { "True" } else { "False" };
        let patch = json!({
            "metadata": {"labels": {"app": "x"}, "ownerReferences":
                [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": true}]},
            "status": {"conditions": [{"type": "Ready", "status": status}]},
        });
        cluster = cluster.pod_with(&format!("a/p{at} n{} 1 g", at % 2 + 1), &patch);
    }
    let status = if status.is_empty() { String::new() } else { format!(", status: {status}") };
    cluster
        .yaml("{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: a, name: s}, spec: {replicas: 3}}")
        .yaml(&format!(
            "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{namespace: a, name: b}},
               spec: {{selector: {{matchLabels: {{app: x}}}}, {spec}}}{status}}}"
        ))
        .build()
}

fn grip(snapshot: &Snapshot, name: &str) -> Grip {
    Forecast::of(snapshot).grip(snapshot, pod(snapshot, name))
}

const B: BudgetIdx = BudgetIdx::new(0);

#[test]
fn f45_an_unhealthy_pod_passes_a_budget_that_is_met_or_does_not_care() {
    let broken = "{disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2, expectedPods: 3}";
    let s = cluster("minAvailable: 2", broken, &[false, true, true]);
    assert_eq!(grip(&s, "p0"), Grip::ExhaustedNow(B));
    let s = cluster("minAvailable: 2, unhealthyPodEvictionPolicy: AlwaysAllow", broken, &[false, true, true]);
    assert_eq!(grip(&s, "p0"), Grip::Free);
    let met = "{disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2, expectedPods: 3}";
    let s = cluster("minAvailable: 2", met, &[false, true, true]);
    assert_eq!((grip(&s, "p0"), grip(&s, "p1")), (Grip::Free, Grip::ExhaustedNow(B)));
    let pending =
        Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p0 n1 1 g Pending").pod("a/p1 n1 1 g").yaml(
            "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: a, name: b},
          spec: {selector: {}, minAvailable: 9}}",
        );
    let s = pending.build();
    assert_eq!(grip(&s, "p0"), Grip::Free, "a pending pod has no budget check");
    assert!(matches!(grip(&s, "p1"), Grip::Never(..)));
}

#[test]
fn f44_two_budgets_on_one_pod_are_an_error_for_ever() {
    let two = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: a, name: c},
        spec: {selector: {}, minAvailable: 0}}";
    let s = Cluster::new()
        .nodes(1, 8)
        .group("a/g", 1)
        .pod("a/p n1 1 g")
        .yaml(two)
        .yaml(&two.replace("name: c", "name: b"))
        .build();
    assert_eq!(grip(&s, "p"), Grip::Several(BudgetIdx::new(0), BudgetIdx::new(1)));
}

#[test]
fn f47_a_budget_over_a_kind_without_scale_is_misconfigured_not_waited_for() {
    let budget = |spec: &str, status: &str| {
        let s =
            Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 1 g").pod("a/q n1 1 g").yaml(&format!(
                "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{namespace: a, name: b}},
               spec: {{selector: {{}}, {spec}}}{status}}}"
            ));
        let s = s.build();
        grip(&s, "p")
    };
    let failed = ", status: {disruptionsAllowed: 0, expectedPods: 0, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed}]}";
    assert_eq!(budget("maxUnavailable: 1", failed), Grip::Never(B, SYNC_FAILED));
    assert_eq!(budget("maxUnavailable: 1", ""), Grip::Never(B, SYNC_FAILED), "computed from the owners");
    assert_eq!(budget("minAvailable: 50%", ""), Grip::Never(B, SYNC_FAILED));
    assert_eq!(budget("minAvailable: 1", ""), Grip::Allowed(B), "an integer needs no scale");
    assert_eq!(budget("minAvailable: 2", ""), Grip::Never(B, WANTS_ALL));
}

#[test]
fn a_budget_without_a_status_is_computed_as_the_controller_would() {
    let allowance = |spec: &str, ready: &[bool]| *Forecast::of(&cluster(spec, "", ready)).allowance(B);
    let all = [true; 3];
    let now = |spec: &str, ready: &[bool]| (allowance(spec, ready).desired, allowance(spec, ready).now);
    assert_eq!(now("maxUnavailable: 1", &all), (2, 1));
    assert_eq!(now("maxUnavailable: 50%", &all), (1, 2), "percentages round up");
    assert_eq!(now("minAvailable: 50%", &all), (2, 1));
    assert_eq!(now("minAvailable: 1", &all), (1, 2));
    assert_eq!(now("maxUnavailable: 1", &[true, true, false]), (2, 0));
    assert_eq!(now("maxUnavailable: 1", &[true, true]), (2, 0), "the controller wants three");
    assert_eq!(allowance("maxUnavailable: 0", &all).never, Some(WANTS_ALL));
    let blank = "{disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0}";
    let s = cluster("maxUnavailable: 1", blank, &all);
    assert_eq!(Forecast::of(&s).allowance(B).now, 1, "a status that nobody has written yet");
}

#[test]
fn f48_victims_under_one_budget_go_in_waves_of_what_it_allows() {
    let one = "{disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3}";
    let s = cluster("minAvailable: 2", one, &[true; 3]);
    let victims = [[pod(&s, "p0")], [pod(&s, "p1")], [pod(&s, "p2")]];
    let steps: Vec<&[PodIdx]> = victims.iter().map(<[PodIdx; 1]>::as_slice).collect();
    assert_eq!(Forecast::of(&s).waves(&s, &steps), [0, 1, 2]);
    let s = cluster("minAvailable: 1", "", &[true; 3]);
    assert_eq!(Forecast::of(&s).waves(&s, &steps), [0, 0, 1]);
}

#[test]
fn pods_that_go_together_need_a_budget_that_allows_all_of_them_at_once() {
    let unit = |s: &Snapshot| Forecast::of(s).grip_of_unit(s, &[pod(s, "p0"), pod(s, "p1")]);
    assert_eq!(unit(&cluster("minAvailable: 1", "", &[true; 3])), Grip::Allowed(B));
    assert!(matches!(unit(&cluster("minAvailable: 2", "", &[true; 3])), Grip::Never(B, _)));
    let soon = "{disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 3}";
    assert_eq!(unit(&cluster("minAvailable: 1", soon, &[true; 3])), Grip::ExhaustedNow(B));
}

#[test]
fn f78_in_a_file_without_conditions_running_pods_count_as_ready() {
    let s = Cluster::new()
        .nodes(1, 8)
        .group("a/g", 1)
        .pod_with("a/p n1 1 g", &json!({"status": {"conditions": null}}));
    let s = s.yaml(
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: a, name: b},
          spec: {selector: {}, minAvailable: 0}}",
    );
    assert_eq!(Forecast::of(&s.build()).allowance(B).healthy, 1);
}
