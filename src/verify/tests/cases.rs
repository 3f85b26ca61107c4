//! The table: one change each, and the checks that catch it.
//!
//! May import: snapshot, api, `plan::types`, `plan::request`, `plan::testing`

use super::{
    BTreeSet, CARDS, Check, Plan, Request, Snapshot, World, check_plan, codes, good, json, moved, node, plan,
    pod, restated, world,
};
use crate::api::{ObjectSelection, Scope, ScopeRule};
use crate::plan::request::RecentMove;
use crate::plan::types::Reserved;

/// Changes the cluster or the request.
type Around = fn(World) -> World;
/// Changes the plan.
type Inside = fn(&Snapshot, &Request, Plan) -> Plan;

fn same(world: World) -> World {
    world
}

fn kept(_: &Snapshot, _: &Request, plan: Plan) -> Plan {
    plan
}

fn names(name: &str) -> ScopeRule {
    let names = vec![name.to_owned()];
    ScopeRule { include: None, exclude: Some(ObjectSelection { selector: None, names }) }
}

fn job(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {{namespace: t, name: {name}}}, \
         spec: {{{spec}}}}}"
    )
}

/// Job `a` as said, and the other jobs without policies.
fn jobs(mut world: World, a: &str) -> World {
    for (name, spec) in [("a", a), ("b", ""), ("c", ""), ("d", ""), ("e", "")] {
        world = world.yaml(&job(name, spec));
    }
    world
}

fn zones(world: World) -> World {
    let zone = |world: World, node, zone| {
        world.patch("Node", node, &json!({"metadata": {"labels": {"zone": zone}}}))
    };
    zone(zone(zone(world, "n1", "z1"), "n2", "z1"), "n3", "z2")
}

fn near_b() -> serde_json::Value {
    json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "b"}}}]}}}})
}

fn budget(status: &str) -> String {
    format!(
        "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{namespace: t, name: p}}, \
         spec: {{selector: {{matchLabels: {{app: a}}}}}}, status: {status}}}"
    )
}

fn labelled_a(world: World) -> World {
    world.patch("Pod", "a-0", &json!({"metadata": {"labels": {"app": "a"}}}))
}

/// `count` waiting pods `w-0`, `w-1`, … of so many cards, whose group needs `min` of them.
fn waiting(world: World, count: usize, min: usize, cards: usize) -> World {
    let group = format!(
        "{{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {{namespace: t, name: w}}, \
         spec: {{minMember: {min}}}}}"
    );
    (0..count).fold(world.yaml(&group), |world, at| world.pod(&format!("t/w-{at} - {cards} w"), &json!({})))
}

fn room(snapshot: &Snapshot, mut plan: Plan, name: &str, on: &str, replaces: bool) -> Plan {
    plan.reserved.push(Reserved { pod: pod(snapshot, name), node: node(snapshot, on), replaces });
    plan
}

fn emptying_n4(world: World) -> World {
    world.pod("t/c-9 n4 1 c", &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
}

/// The checks that catch a change, the named one first, and the change.
#[rustfmt::skip]
const TABLE: &[(&[Check], Around, Inside)] = {
    use Check as C;
    &[
        (&[C::OtherResource], |w| w.ask(|r| r.resource = "x.io/other".into()), kept),
        (&[C::NothingFreed, C::NeedlessMove], same, |_, _, p| Plan { freed: vec![], ..p }),
        (&[C::FreedTwice], same, |_, _, mut p| { p.freed.push(p.freed[0]); p }),
        (&[C::FreedProvidesNothing],
            |w| w.patch("Node", "n1", &json!({"status": {"allocatable": {CARDS: null}}})), kept),
        (&[C::FreedIdle], same, |s, _, mut p| { p.freed.push(node(s, "n4")); p }),
        (&[C::FreedEmptying, C::ReplacementWithoutRoom], emptying_n4, |s, _, mut p| { p.freed.push(node(s, "n4")); p }),
        (&[C::FreedOutOfScope],
            |w| w.ask(|r| r.scope = Scope { nodes: Some(names("n1")), ..Scope::default() }), kept),
        (&[C::FreedNotReady],
            |w| w.patch("Node", "n1", &json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})), kept),
        (&[C::FreedCordoned], |w| w.patch("Node", "n1", &json!({"spec": {"unschedulable": true}})), kept),
        (&[C::FreedLeaving],
            |w| w.patch("Node", "n1", &json!({"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}})), kept),
        (&[C::LeftBehind], same, |s, r, mut p| { p.moves.pop(); restated(s, r, p) }),
        (&[C::MovedTwice], same, |s, _, mut p| { p.moves.push(moved(s, "b-0 n2")); p }),
        (&[C::WrongSource], same, |s, _, mut p| { p.moves[0].from = node(s, "n3"); p }),
        (&[C::NeedlessMove], same, |s, r, mut p| { p.moves.push(moved(s, "e-0 n2")); restated(s, r, p) }),
        (&[C::MovedTerminating],
            |w| w.patch("Pod", "a-0", &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})), kept),
        (&[C::WrongSpec], same, |s, _, mut p| { p.moves[0].spec = s.pod(pod(s, "b-0")).spec; p }),
        (&[C::WrongOrder], same, |s, r, _| plan(s, r, &["n5", "n1"], &["a-0 n2", "b-0 n3", "e-0 n2"])),
        (&[C::MovedToItself, C::ReceiverFreed], same, |s, _, mut p| { p.moves[0].to = node(s, "n1"); p }),
        (&[C::ReceiverFreed], same, |s, r, _| plan(s, r, &["n1", "n5"], &["a-0 n5", "b-0 n3", "e-0 n2"])),
        (&[C::ReceiverIdle], same, |s, _, mut p| { p.moves[0].to = node(s, "n4"); p }),
        (&[C::ReceiverEmptying], emptying_n4, |s, _, mut p| { p.moves[0].to = node(s, "n4"); p }),
        (&[C::ReceiverProvidesNothing, C::RefusedInTheEnd, C::RefusedAtItsTurn], same,
            |s, _, mut p| { p.moves[0].to = node(s, "n6"); p }),
        (&[C::ReceiverNotReady],
            |w| w.patch("Node", "n2", &json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})), kept),
        (&[C::ReceiverCordoned, C::RefusedInTheEnd, C::RefusedAtItsTurn],
            |w| w.patch("Node", "n2", &json!({"spec": {"unschedulable": true}})), kept),
        (&[C::ReceiverLeaving],
            |w| w.patch("Node", "n2", &json!({"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "PreferNoSchedule"}]}})), kept),
        (&[C::NoController], |w| w.patch("Pod", "a-0", &json!({"metadata": {"ownerReferences": []}})), kept),
        (&[C::OwnerGone], |w| w.yaml(&job("z", "")), kept),
        (&[C::OwnerUnknown],
            |w| w.patch("Pod", "a-0", &json!({"metadata": {"ownerReferences": [
                {"apiVersion": "x.io/v1", "kind": "Widget", "name": "a", "controller": true}]}})), kept),
        (&[C::BoundToNode],
            |w| w.patch("Pod", "a-0", &json!({"metadata": {"ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "controller": true}]}})), kept),
        (&[C::EndsWorkload], |w| jobs(w, "policies: [{event: PodEvicted, action: AbortJob}]"), kept),
        (&[C::MayEndWorkload], |w| jobs(w, "policies: [{event: PodFailed, action: TerminateJob}]"), kept),
        (&[C::LateRecovery],
            |w| w.yaml("{apiVersion: workload.serving.volcano.sh/v1alpha1, kind: ModelServing, \
                         metadata: {namespace: t, name: m}, spec: {recoveryPolicy: None}}")
                .patch("Pod", "a-0", &json!({"metadata": {"ownerReferences": [
                    {"apiVersion": "workload.serving.volcano.sh/v1alpha1", "kind": "ModelServing", "name": "m",
                     "controller": true}]}})), kept),
        (&[C::SchedulerDisabled], |w| w.patch("Pod", "a-0", &json!({"spec": {"schedulerName": "mine"}})), kept),
        (&[C::Ungrouped], |w| w.patch("Pod", "a-0", &json!({"metadata": {"annotations": null}})), kept),
        (&[C::GroupOutOfScope],
            |w| w.ask(|r| r.scope = Scope { pod_groups: Some(names("t/a")), ..Scope::default() }), kept),
        (&[C::Protected],
            |w| w.patch("Pod", "a-0", &json!({"metadata": {"labels": {"repack.volcano.sh/protected": "true"}}})), kept),
        (&[C::HostPath],
            |w| w.patch("Pod", "a-0", &json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}})), kept),
        (&[C::ManagedElsewhere],
            |w| w.patch("Pod", "a-0", &json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})), kept),
        (&[C::TooYoung],
            |w| w.patch("Pod", "a-0", &json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}))
                .ask(|r| { r.movability.min_pod_age_seconds = 60; r.now = Some(1_767_225_630); }), kept),
        (&[C::TooYoung],
            |w| w.ask(|r| { r.movability.min_pod_age_seconds = 60; r.now = Some(1_767_225_630); }), kept),
        (&[C::MovedRecently],
            |w| w.ask(|r| {
                r.now = Some(1_000);
                let before = RecentMove { replacement_uid: "uid-t-a-0".into(), at: 900, ..RecentMove::default() };
                r.movability.recent_moves = vec![before];
            }), kept),
        (&[C::NotPreemptable], |w| w.ask(|r| r.movability.only_preemptable = true), kept),
        (&[C::BudgetNever],
            |w| labelled_a(w).yaml(&budget("{disruptionsAllowed: 0, desiredHealthy: 1, expectedPods: 1, currentHealthy: 1}")), kept),
        (&[C::BudgetNow],
            |w| labelled_a(w).yaml(&budget("{disruptionsAllowed: 0, desiredHealthy: 1, expectedPods: 2, currentHealthy: 1}")), kept),
        // One disruption at a time, and both of its pods in the first wave.
        (&[C::WrongWaves],
            |w| labelled_a(w).patch("Pod", "b-0", &json!({"metadata": {"labels": {"app": "a"}}}))
                .yaml(&budget("{disruptionsAllowed: 1, desiredHealthy: 1, expectedPods: 2, currentHealthy: 2}")),
            |_, _, p| Plan { waves: vec![0, 0], ..p }),
        (&[C::CascadeMissing],
            |w| jobs(w, "policies: [{event: PodEvicted, action: RestartJob}]").pod("t/a-1 n3 1 a", &json!({})), kept),
        (&[C::CascadeInvented], same, |s, r, mut p| { p.moves.push(moved(s, "+e-0 n5")); restated(s, r, p) }),
        (&[C::UnitEvictedTwice],
            |w| jobs(w, "policies: [{event: PodEvicted, action: RestartJob}]").pod("t/a-1 n1 1 a", &json!({})),
            |s, r, mut p| { p.moves.push(moved(s, "a-1 n3")); restated(s, r, p) }),
        (&[C::GroupBudget], |w| w.ask(|r| r.budget.pod_groups = Some(1)), kept),
        (&[C::ResourceBudget], |w| w.ask(|r| { r.budget.resources.insert(CARDS.into(), 2); }), kept),
        (&[C::TooManyFreed], |w| w.ask(|r| r.max_freed_nodes = Some(0)), kept),
        // One of five nodes that provide cards is freed: 20 points exactly.
        (&[C::TooLittleImprovement], |w| w.ask(|r| r.min_improvement_percent = 21), kept),
        // n1 has at most eight cards, and three are damaged.
        (&[C::TooLittleBenefit], |w| w.ask(|r| r.min_benefit = Some(3)), kept),
        // a-0 follows b-0 in its zone, and b-0 leaves the zone afterwards.
        (&[C::RefusedInTheEnd],
            |w| zones(w).patch("Pod", "b-0", &json!({"metadata": {"labels": {"app": "b"}}})).patch("Pod", "a-0", &near_b()), kept),
        // a-0 needs b-0 in the zone where it only comes afterwards.
        (&[C::RefusedAtItsTurn],
            |w| zones(w).patch("Pod", "b-0", &json!({"metadata": {"labels": {"app": "b"}}})).patch("Pod", "a-0", &near_b()),
            |s, _, mut p| { p.moves[0].to = node(s, "n3"); p }),
        (&[C::RoomForNobody], same, |s, _, p| room(s, p, "e-0", "n3", false)),
        (&[C::RoomOnFreedNode], |w| w.pod("t/w-0 - 1 c", &json!({})), |s, _, p| room(s, p, "w-0", "n1", false)),
        (&[C::RoomForPartOfGroup], |w| waiting(w, 2, 2, 1), |s, _, p| room(s, p, "w-0", "n3", false)),
        (&[C::WaitingWithoutRoom], |w| w.pod("t/w-0 - 1 c", &json!({})), kept),
        (&[C::ReplacementWithoutRoom],
            |w| w.pod("t/c-9 n1 1 c", &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})), kept),
        (&[C::RoomTaken], |w| w.pod("t/w-0 - 1 c", &json!({})), |s, _, p| room(s, p, "w-0", "n6", false)),
        // Seven holes of three cards, eight once n1 is empty; one of them is on n2, and leaves one card for a-0.
        (&[C::TakerInTheWay], |w| waiting(w, 8, 8, 3), kept),
        (&[C::HardTopology],
            |w| w.patch("PodGroup", "a", &json!({"spec": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}})), kept),
        (&[C::WrongDisruption], same, |_, _, mut p| { p.disruption.damaged_cards += 1; p }),
    ]
};

#[test]
fn a_good_plan_has_no_findings() {
    let (snapshot, request) = (world().cluster.build(), world().request);
    let good = good(&snapshot, &request);
    assert_eq!(check_plan(&snapshot, &request, &good), []);
    assert_eq!(good.disruption.array(), [2, 2, 3, 3, 2], "two groups of one pod are breached");
    assert_eq!(check_plan(&snapshot, &request, &Plan::empty(good.resource)), []);
}

#[test]
fn each_change_is_caught_by_its_check() {
    for (at, &(expected, around, inside)) in TABLE.iter().enumerate() {
        let World { cluster, request } = around(world());
        let snapshot = cluster.build();
        let honest = Request { resource: CARDS.to_owned(), ..request.clone() };
        let changed = inside(&snapshot, &request, good(&snapshot, &honest));
        let findings = check_plan(&snapshot, &request, &changed);
        let lines: Vec<String> = findings.iter().map(|f| f.line(&snapshot)).collect();
        let expected: BTreeSet<Check> = expected.iter().copied().collect();
        assert_eq!(codes(&findings), expected, "row {at}: {lines:#?}");
    }
}

#[test]
fn every_check_has_a_row() {
    let rows: BTreeSet<Check> = TABLE.iter().map(|(expected, ..)| expected[0]).collect();
    let missing: Vec<_> = Check::ALL.iter().filter(|check| !rows.contains(check)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_finding_is_one_line_with_its_code_and_subject() {
    let World { cluster, request } = world().ask(|r| r.budget.pod_groups = Some(1));
    let snapshot = cluster.build();
    let mut plan = good(&snapshot, &request);
    plan.moves.pop();
    let lines: Vec<String> = check_plan(&snapshot, &request, &restated(&snapshot, &request, plan))
        .iter()
        .map(|f| f.line(&snapshot))
        .collect();
    assert_eq!(lines, ["LeftBehind pod t/b-0: holds 1 of the resource on freed node n1"]);
}
