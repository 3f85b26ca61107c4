//! Rules with more than one side.
//!
//! May import: snapshot, api, `plan::types`, `plan::request`, `plan::testing`

use std::collections::BTreeSet;

use super::{Check, World, found, json, world};
use crate::api::{LabelSelector, ObjectSelection, Scope, ScopeRule};
use crate::plan::testing::pod;
use crate::plan::types::{Plan, Reserved};

fn none() -> BTreeSet<Check> {
    BTreeSet::new()
}

fn only(check: Check) -> BTreeSet<Check> {
    BTreeSet::from([check])
}

const FREED: &[&str] = &["n1"];
const MOVES: &[&str] = &["a-0 n2", "b-0 n3"];

fn selector(text: &str) -> ObjectSelection {
    ObjectSelection { selector: Some(text.parse().unwrap()), names: vec![] }
}

fn group_scope(include: Option<ObjectSelection>, exclude: Option<ObjectSelection>) -> World {
    let pods = json!({"metadata": {"labels": {"team": "red"}}});
    let scope = Scope { pod_groups: Some(ScopeRule { include, exclude }), ..Scope::default() };
    world().patch("Pod", "a-0", &pods).patch("Pod", "b-0", &pods).ask(|r| r.scope = scope)
}

#[test]
fn groups_are_included_by_what_all_their_pods_carry_and_excluded_by_any() {
    assert_eq!(found(group_scope(Some(selector("team=red")), None), FREED, MOVES), none());
    let second = |world: World| world.pod("t/a-9 n3 1 a", &json!({}));
    let world = second(group_scope(Some(selector("team=red")), None));
    assert_eq!(found(world, FREED, MOVES), only(Check::GroupOutOfScope), "not all pods carry the label");
    let world = second(group_scope(None, Some(selector("team=red"))));
    assert_eq!(found(world, FREED, MOVES), only(Check::GroupOutOfScope), "one pod is enough");
}

#[test]
fn the_labels_of_the_group_are_stronger_than_those_of_its_pods() {
    let blue = json!({"metadata": {"labels": {"team": "blue"}}});
    let world = group_scope(Some(selector("team=red")), None).patch("PodGroup", "a", &blue);
    assert_eq!(found(world, FREED, MOVES), only(Check::GroupOutOfScope));
}

#[test]
fn the_owner_of_a_groups_owner_counts_and_the_nearest_owner_is_stronger() {
    let owner = |kind: &str, name: &str| {
        json!({"metadata": {"ownerReferences":
            [{"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": true}]}})
    };
    let set = |labels: &str| {
        let scope = Scope {
            pod_groups: Some(ScopeRule { include: Some(selector("team=red")), exclude: None }),
            ..Scope::default()
        };
        world()
            .yaml("{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: t, name: d, labels: {team: red}}}")
            .yaml(&format!(
                "{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{namespace: t, name: r, labels: {labels}}}}}"
            ))
            .patch("ReplicaSet", "r", &owner("Deployment", "d"))
            .patch("PodGroup", "a", &owner("ReplicaSet", "r"))
            .patch("PodGroup", "b", &json!({"metadata": {"labels": {"team": "red"}}}))
            .ask(|request| request.scope = scope)
    };
    assert_eq!(found(set("{}"), FREED, MOVES), none());
    assert_eq!(found(set("{team: blue}"), FREED, MOVES), only(Check::GroupOutOfScope));
}

#[test]
fn an_empty_selection_says_nothing_and_an_empty_selector_everything() {
    let nothing = || Some(ObjectSelection::default());
    let everything = || Some(ObjectSelection { selector: Some(LabelSelector::default()), names: vec![] });
    assert_eq!(found(group_scope(nothing(), nothing()), FREED, MOVES), none());
    assert_eq!(found(group_scope(everything(), None), FREED, MOVES), none());
    assert_eq!(found(group_scope(None, everything()), FREED, MOVES), only(Check::GroupOutOfScope));
}

#[test]
fn f26_a_cordoned_node_is_emptied_only_when_the_scope_selects_it() {
    let cordoned = || world().patch("Node", "n1", &json!({"spec": {"unschedulable": true}}));
    let nodes = |include| ScopeRule { include: Some(include), exclude: None };
    let asked =
        |include| cordoned().ask(|r| r.scope = Scope { nodes: Some(nodes(include)), ..Scope::default() });
    let named = ObjectSelection { selector: None, names: vec!["n1".to_owned()] };
    assert_eq!(found(asked(named), FREED, MOVES), none());
    assert_eq!(found(asked(selector("pool=a")), FREED, MOVES), none());
    assert_eq!(found(asked(ObjectSelection::default()), FREED, MOVES), only(Check::FreedCordoned));
}

/// `c-9` leaves n1 by itself; its Job makes it again, which needs room elsewhere.
#[test]
fn f51_terminating_pods_do_not_block_their_node_but_their_replacements_need_room() {
    let gone = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let with_room = |world: World, room: &str| {
        let (snapshot, request) = (world.cluster.build(), world.request);
        let mut plan = super::plan(&snapshot, &request, FREED, MOVES);
        let (pod, node) = (pod(&snapshot, "c-9"), super::node(&snapshot, room));
        plan.reserved.push(Reserved { pod, node, replaces: true });
        super::codes(&super::check_plan(&snapshot, &request, &plan))
    };
    let world = |cards: u32| world().pod(&format!("t/c-9 n1 {cards} c"), &gone);
    assert_eq!(found(world(1), FREED, MOVES), only(Check::ReplacementWithoutRoom));
    assert_eq!(with_room(world(1), "n2"), none());
    assert_eq!(with_room(world(1), "n1"), only(Check::RoomOnFreedNode));
    let both = BTreeSet::from([Check::RoomTaken, Check::RefusedInTheEnd]);
    assert_eq!(with_room(world(3), "n2"), both, "a-0 takes two of four cards");
}

#[test]
fn the_room_of_a_waiting_pod_is_not_taken_by_a_move() {
    let world = world().pod("t/w-0 - 4 c", &json!({}));
    let (snapshot, request) = (world.cluster.build(), world.request);
    let mut plan = super::plan(&snapshot, &request, FREED, MOVES);
    let (pod, node) = (pod(&snapshot, "w-0"), super::node(&snapshot, "n2"));
    plan.reserved.push(Reserved { pod, node, replaces: false });
    let both = BTreeSet::from([Check::RefusedInTheEnd, Check::RefusedAtItsTurn]);
    assert_eq!(super::codes(&super::check_plan(&snapshot, &request, &plan)), both, "a-0 finds n2 full");
}

#[test]
fn a_replacement_that_is_there_already_needs_no_room() {
    let leaving = |kind: &str| {
        let owner = json!([{"apiVersion": "apps/v1", "kind": kind, "name": "c", "controller": true}]);
        let gone =
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": owner}});
        world().pod("t/c-9 n1 1 c", &gone)
    };
    assert_eq!(found(leaving("StatefulSet"), FREED, MOVES), only(Check::ReplacementWithoutRoom));
    assert_eq!(found(leaving("ReplicaSet"), FREED, MOVES), none());
    let set = |replicas: usize| {
        leaving("StatefulSet").yaml(&format!(
            "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{namespace: t, name: c}}, \
             spec: {{replicas: {replicas}}}}}"
        ))
    };
    assert_eq!(found(set(1), FREED, MOVES), only(Check::ReplacementWithoutRoom));
    assert_eq!(found(set(0), FREED, MOVES), none(), "it was taken away for good");
}

/// `c-9` leaves n2, which stays, and comes back there with as many cards as its template says.
#[test]
fn a_replacement_that_grows_needs_room_even_at_home() {
    let rollout = |cards: u32| {
        let owner =
            json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "c", "controller": true}]);
        let gone =
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": owner}});
        world().pod("t/c-9 n2 1 c", &gone).yaml(&format!(
            "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{namespace: t, name: c}}, \
             spec: {{replicas: 1, template: {{spec: {{schedulerName: volcano, containers: [{{name: main, \
             resources: {{requests: {{x.io/npu: '{cards}'}}}}}}]}}}}}}}}"
        ))
    };
    assert_eq!(found(rollout(1), FREED, MOVES), none());
    assert_eq!(found(rollout(2), FREED, MOVES), only(Check::ReplacementWithoutRoom));
}

#[test]
fn a_node_that_is_a_candidate_for_removal_may_be_emptied_and_receives_nothing() {
    let taint = json!({"spec": {"taints": [
        {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}]}});
    assert_eq!(found(world().patch("Node", "n1", &taint), FREED, MOVES), none());
    assert_eq!(found(world().patch("Node", "n2", &taint), FREED, MOVES), only(Check::ReceiverLeaving));
}

fn owned_by(kind: &str, world: World) -> World {
    let owner = json!([{"apiVersion": "apps/v1", "kind": kind, "name": "a", "controller": true}]);
    let apart = json!([{"topologyKey": "pool", "labelSelector": {"matchLabels": {"app": "a"}}}]);
    let patch = json!({"metadata": {"labels": {"app": "a"}, "ownerReferences": owner},
        "spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}}});
    world.patch("Pod", "a-0", &patch)
}

/// All nodes are one domain, so the victim keeps its own replacement away until it is gone.
#[test]
fn f16_a_replacement_made_while_its_victim_ends_must_pass_beside_it_or_be_gated() {
    assert_eq!(found(owned_by("StatefulSet", world()), FREED, MOVES), none());
    assert_eq!(found(owned_by("ReplicaSet", world()), FREED, MOVES), only(Check::RefusedAtItsTurn));
    assert_eq!(found(owned_by("ReplicaSet", world()), FREED, &["!a-0 n2", "b-0 n3"]), none());
}

#[test]
fn f28_each_fits_alone_together_they_do_not() {
    let full = || world().pod("t/c-1 n2 2 c", &json!({}));
    assert_eq!(found(full(), FREED, &["a-0 n2", "b-0 n3"]), none());
    let both = BTreeSet::from([Check::RefusedInTheEnd, Check::RefusedAtItsTurn]);
    assert_eq!(found(full(), FREED, &["a-0 n2", "b-0 n2"]), both);
}

fn restarting(action: &str, retries: u32) -> World {
    let mut world = world().pod("t/a-1 n3 1 a", &json!({}));
    for name in ["a", "b", "c", "d", "e"] {
        let policies =
            if name == "a" { format!("[{{event: PodEvicted, action: {action}}}]") } else { "[]".to_owned() };
        world = world.yaml(&format!(
            "{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {{namespace: t, name: {name}}}, \
             spec: {{maxRetry: 3, policies: {policies}}}, status: {{retryCount: {retries}}}}}"
        ));
    }
    world
}

#[test]
fn f35_a_cascade_is_listed_and_may_come_back_where_it_was() {
    assert_eq!(found(restarting("RestartJob", 0), FREED, &["a-0 n2", "+a-1 n3", "b-0 n3"]), none());
    assert_eq!(found(restarting("RestartJob", 0), FREED, MOVES), only(Check::CascadeMissing));
    let alone = found(restarting("RestartPod", 0), FREED, &["a-0 n2", "+a-1 n3", "b-0 n3"]);
    assert_eq!(alone, only(Check::CascadeInvented));
}

#[test]
fn restarts_of_a_job_add_up() {
    assert_eq!(found(restarting("RestartPod", 1), FREED, MOVES), none());
    assert_eq!(found(restarting("RestartPod", 2), FREED, MOVES), only(Check::EndsWorkload));
    let second = |retries| restarting("RestartPod", retries).pod("t/a-2 n1 1 a", &json!({}));
    let moves = &["a-0 n2", "a-2 n2", "b-0 n3"];
    assert_eq!(found(second(0), FREED, moves), none());
    assert_eq!(found(second(1), FREED, moves), only(Check::EndsWorkload));
}

fn covered(pod: &serde_json::Value, status: &str, count: usize) -> World {
    let mut world = world().patch("Pod", "a-0", &json!({"metadata": {"labels": {"app": "a"}}}));
    world = world.patch("Pod", "a-0", pod);
    for at in 0..count {
        world = world.yaml(&format!(
            "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{namespace: t, name: p{at}}}, \
             spec: {{selector: {{matchLabels: {{app: a}}}}}}, status: {status}}}"
        ));
    }
    world
}

#[test]
fn f44_two_budgets_on_one_pod_never_let_it_go() {
    let allows = "{disruptionsAllowed: 1, desiredHealthy: 1, currentHealthy: 2, expectedPods: 2}";
    assert_eq!(found(covered(&json!({}), allows, 1), FREED, MOVES), none());
    assert_eq!(found(covered(&json!({}), allows, 2), FREED, MOVES), only(Check::BudgetNever));
}

#[test]
fn f45_unready_pods_pass_a_budget_that_has_enough_without_them() {
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let enough = "{disruptionsAllowed: 0, desiredHealthy: 2, currentHealthy: 2, expectedPods: 3}";
    let short = "{disruptionsAllowed: 0, desiredHealthy: 2, currentHealthy: 1, expectedPods: 3}";
    assert_eq!(found(covered(&unready, enough, 1), FREED, MOVES), none());
    assert_eq!(found(covered(&json!({}), enough, 1), FREED, MOVES), only(Check::BudgetNow));
    assert_eq!(found(covered(&unready, short, 1), FREED, MOVES), only(Check::BudgetNow));
    let starting = json!({"status": {"phase": "Pending"}});
    assert_eq!(found(covered(&starting, short, 1), FREED, MOVES), none());
}

/// `a-0` and `b-0` under one budget that lets one go at a time.
#[test]
fn f48_waves_keep_to_the_budget_and_to_the_order() {
    let status = "{disruptionsAllowed: 1, desiredHealthy: 1, currentHealthy: 2, expectedPods: 2}";
    let waves = |waves: &[usize]| {
        let app = json!({"metadata": {"labels": {"app": "a"}}});
        let world = covered(&json!({}), status, 1).patch("Pod", "b-0", &app);
        let (snapshot, request) = (world.cluster.build(), world.request);
        let plan = super::plan(&snapshot, &request, FREED, MOVES);
        super::codes(&super::check_plan(&snapshot, &request, &Plan { waves: waves.to_vec(), ..plan }))
    };
    assert_eq!(waves(&[0, 1]), none());
    assert_eq!(waves(&[]), none(), "none are stated");
    for wrong in [&[0, 0][..], &[1, 0], &[0, 2], &[1, 2], &[0], &[0, 1, 2]] {
        assert_eq!(waves(wrong), only(Check::WrongWaves), "{wrong:?}");
    }
}

#[test]
fn f47_a_budget_that_can_not_count_its_pods_is_never_not_now() {
    let broken = "{disruptionsAllowed: 0, desiredHealthy: 0, currentHealthy: 0, expectedPods: 0, \
                  conditions: [{type: DisruptionAllowed, status: \"False\", reason: SyncFailed}]}";
    assert_eq!(found(covered(&json!({}), broken, 1), FREED, MOVES), only(Check::BudgetNever));
}

#[test]
fn f40_succeeded_members_count_as_running() {
    let (snapshot, request) = {
        let world = world()
            .patch("PodGroup", "a", &json!({"spec": {"minMember": 4}}))
            .pod("t/a-1 n2 1 a", &json!({}))
            .pod("t/a-2 n2 1 a", &json!({}))
            .pod("t/a-3 n2 1 a Succeeded", &json!({}));
        (world.cluster.build(), world.request)
    };
    let breached = super::plan(&snapshot, &request, FREED, MOVES).disruption;
    assert_eq!(breached.array(), [2, 2, 5, 3, 2], "no slack: the group's 4 cards and b-0's one are damaged");
}

/// Budgets of hand-written files are counted as the disruption controller would.
#[test]
fn a_budget_without_a_status_is_counted() {
    let budget = |spec: &str| {
        world()
            .patch("Pod", "a-0", &json!({"metadata": {"labels": {"app": "a"}}}))
            .pod("t/a-1 n3 1 a", &json!({"metadata": {"labels": {"app": "a"}}}))
            .yaml(&format!(
                "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{namespace: t, name: p}}, \
                 spec: {{{spec}, selector: {{matchLabels: {{app: a}}}}}}}}"
            ))
    };
    assert_eq!(found(budget("minAvailable: 1"), FREED, MOVES), none());
    assert_eq!(found(budget("minAvailable: 2"), FREED, MOVES), only(Check::BudgetNever));
    assert_eq!(
        found(budget("maxUnavailable: 1"), FREED, MOVES),
        only(Check::BudgetNever),
        "jobs have no scale"
    );
}
