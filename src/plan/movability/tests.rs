use crate::snapshot::names;
use serde_json::json;

use super::*;
use crate::api::{LabelSelector, ObjectSelection, Scope, ScopeRule};
use crate::plan::request::RecentMove;
use crate::plan::testing::{CARDS, Cluster, pod};

fn request() -> Request {
    Request::for_resource(CARDS)
}

fn facts(snapshot: &Snapshot, request: &Request) -> Facts {
    Facts::of(snapshot, snapshot.resource_named(CARDS).unwrap(), request).unwrap()
}

fn why_with(snapshot: &Snapshot, name: &str, request: &Request) -> Option<Code> {
    facts(snapshot, request).movability.reason(pod(snapshot, name)).map(|reason| reason.code)
}

fn why(snapshot: &Snapshot, name: &str) -> Option<Code> {
    why_with(snapshot, name, &request())
}

/// One movable pod `p` with a patch.
fn one(patch: &serde_json::Value) -> Snapshot {
    Cluster::new().nodes(2, 8).group("a/g", 1).pod_with("a/p n1 1 g", patch).build()
}

fn options(change: impl FnOnce(&mut crate::plan::request::Movability)) -> Request {
    let mut request = request();
    change(&mut request.movability);
    request
}

#[test]
fn a_pod_of_a_group_under_an_enabled_scheduler_may_move() {
    let s = one(&json!({}));
    assert_eq!(why(&s, "p"), None);
    assert!(facts(&s, &request()).movability.derived_from_live_pods);
}

#[test]
fn f15_one_immovable_holder_keeps_the_node_and_a_card_less_pod_does_not() {
    let s = Cluster::new()
        .nodes(2, 8)
        .group("a/g", 1)
        .pod("a/p1 n1 1 g")
        .pod("a/p2 n1 1")
        .pod("a/q n2 1 g")
        .pod("a/cpu n2 0")
        .build();
    let facts = facts(&s, &request());
    let blocked = facts.node_block(&s, NodeIdx::new(0)).unwrap();
    assert_eq!((blocked.code(), blocked.pod()), ("UnmovablePod", Some(pod(&s, "p2"))));
    assert_eq!(facts.node_block(&s, NodeIdx::new(1)), None);
    assert_eq!(why(&s, "cpu"), Some(Code::NotRequesting));
}

#[test]
fn f32_pods_of_another_scheduler_stay_until_it_is_enabled() {
    let s = one(&json!({"spec": {"schedulerName": "other"}}));
    let f = facts(&s, &request());
    let reason = f.movability.reason(pod(&s, "p")).unwrap();
    assert_eq!(reason.sentence(&s), "is placed by a scheduler that is not enabled (other)");
    assert_eq!(reason.remedy(&s).as_deref(), Some("--schedulers other"));
    assert_eq!(why_with(&s, "p", &options(|o| o.schedulers.push("other".to_owned()))), None);
}

#[test]
fn a_cluster_without_volcano_is_told_both_flags_at_once() {
    let patch = json!({"spec": {"schedulerName": null}, "metadata": {"annotations": null, "ownerReferences":
        [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u", "controller": true}]}});
    let s = Cluster::new().nodes(1, 8).pod_with("a/p n1 3 g", &patch).build();
    let f = facts(&s, &request());
    let held = &f.movability.summary(&s, f.resource, &request())[0];
    assert_eq!((held.code, held.pods, held.cards), (Code::SchedulerNotEnabled, 1, 3));
    assert_eq!(held.remedy.as_deref(), Some("--schedulers default-scheduler --allow-ungrouped"));
    let enabled = options(|o| o.schedulers = vec!["default-scheduler".to_owned()]);
    assert_eq!(why_with(&s, "p", &enabled), Some(Code::Ungrouped));
    let both = options(|o| {
        o.schedulers = vec!["default-scheduler".to_owned()];
        o.allow_ungrouped = true;
    });
    assert_eq!(why_with(&s, "p", &both), None);
    assert_eq!(facts(&s, &both).scope.group_count, 1);
    assert_eq!(facts(&s, &request()).scope.group_count, 0);
}

#[test]
fn a_volcano_pod_needs_a_pod_group_that_is_there() {
    let patch = json!({"metadata": {"annotations": null}});
    assert_eq!(why(&one(&patch), "p"), Some(Code::NoPodGroup));
    let s = Cluster::new().nodes(1, 8).pod("a/p n1 1 g").build();
    assert_eq!(why(&s, "p"), Some(Code::PodGroupNotRead));
}

#[test]
fn f43_only_what_is_marked_preemptable() {
    let only = options(|o| o.only_preemptable = true);
    assert_eq!(why_with(&one(&json!({})), "p", &only), Some(Code::NotPreemptable));
    let marked = json!({"metadata": {"annotations": {"volcano.sh/preemptable": "true"}}});
    assert_eq!(why_with(&one(&marked), "p", &only), None);
    let refused = json!({"metadata": {"labels": {"volcano.sh/preemptable": "false", "x": "true"}}});
    assert_eq!(why_with(&one(&refused), "p", &only), Some(Code::NotPreemptable));
}

#[test]
fn f51_a_pod_that_is_leaving_is_no_victim_and_its_node_waits() {
    let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let s =
        Cluster::new().nodes(2, 8).group("a/g", 1).pod_with("a/p n1 1 g", &leaving).pod("a/q n1 1 g").build();
    let f = facts(&s, &request());
    assert_eq!(why(&s, "p"), Some(Code::Terminating));
    assert!(!f.movability.blocks(pod(&s, "p")));
    assert_eq!(f.victims(&s, NodeIdx::new(0)).collect::<Vec<_>>(), [pod(&s, "q")]);
    assert_eq!(f.node_block(&s, NodeIdx::new(0)), None);
    let s = one(&leaving);
    let f = facts(&s, &request());
    assert_eq!(f.node_block(&s, NodeIdx::new(0)).unwrap().code(), "Emptying");
    assert!(f.scope.node(NodeIdx::new(0)).not_receiving.is_some());
}

#[test]
fn f55_bare_static_and_daemon_pods_stay_and_finished_ones_are_ignored() {
    assert_eq!(why(&one(&json!({"metadata": {"ownerReferences": null}})), "p"), Some(Code::BarePod));
    let loose = json!({"metadata": {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs"}]}});
    assert_eq!(why(&one(&loose), "p"), Some(Code::BarePod), "an owner that does not control");
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}});
    assert_eq!(why(&one(&mirror), "p"), Some(Code::StaticPod));
    let daemon = json!({"metadata": {"ownerReferences":
        [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": true}]}});
    let s = one(&daemon);
    assert_eq!(why(&s, "p"), Some(Code::DaemonSetPod));
    assert_eq!(facts(&s, &request()).node_block(&s, NodeIdx::new(0)).unwrap().code(), "UnmovablePod");
    let s = Cluster::new().nodes(1, 8).pod("a/p n1 1 - Succeeded").build();
    assert!(!facts(&s, &request()).movability.blocks(pod(&s, "p")));
}

#[test]
fn f56_opt_outs_of_others_count_on_pods_and_are_a_hint_on_controllers() {
    for (key, value) in [
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
        ("karpenter.sh/do-not-disrupt", "true"),
        ("karpenter.sh/do-not-evict", "true"),
    ] {
        let s = one(&json!({"metadata": {"annotations": {key: value}}}));
        let f = facts(&s, &request());
        let reason = f.movability.reason(pod(&s, "p")).unwrap();
        assert_eq!(reason.sentence(&s), format!("carries a do-not-evict mark ({key})"));
        let other = if value == "true" { "false" } else { "true" };
        assert_eq!(why(&one(&json!({"metadata": {"annotations": {key: other}}})), "p"), None);
    }
    let s = Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 1 g").yaml(
        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job,
          metadata: {namespace: a, name: g, annotations: {karpenter.sh/do-not-disrupt: 'true'}}}",
    );
    let s = s.build();
    assert_eq!(why(&s, "p"), None);
    assert_eq!(
        facts(&s, &request()).movability.warnings,
        [
            "Job a/g carries karpenter.sh/do-not-disrupt=true, which counts only on pods: put it into the pod template"
        ]
    );
}

#[test]
fn our_opt_out_counts_on_pod_group_owner_and_namespace_as_label_or_annotation() {
    let mark = json!({"repack.volcano.sh/protected": "true"});
    let base = || Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 1 g");
    let owner = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job,
        metadata: {namespace: a, name: g, labels: {repack.volcano.sh/protected: 'true'}}}";
    let space = "{apiVersion: v1, kind: Namespace,
        metadata: {name: a, annotations: {repack.volcano.sh/protected: 'true'}}}";
    let group = json!({"metadata": {"annotations": mark}});
    for (place, s) in [
        ("on the pod", base().patch("Pod", "p", &json!({"metadata": {"labels": mark}}))),
        ("on its PodGroup", base().patch("PodGroup", "g", &group)),
        ("on a pod of its PodGroup", base().pod_with("a/q n1 1 g", &json!({"metadata": {"labels": mark}}))),
        ("on its owner", base().yaml(owner)),
        ("on its namespace", base().yaml(space)),
    ] {
        let s = s.build();
        let f = facts(&s, &request());
        let reason = *f.movability.reason(pod(&s, "p")).unwrap();
        assert_eq!(reason, Reason::new(Code::Protected, Detail::Clause(place)));
    }
    let off = json!({"metadata": {"labels": {"repack.volcano.sh/protected": "false"}}});
    assert_eq!(why(&one(&off), "p"), None);
}

#[test]
fn f57_empty_dir_moves_and_host_path_needs_a_flag() {
    let volumes = |volume: serde_json::Value| one(&json!({"spec": {"volumes": [volume]}}));
    assert_eq!(why(&volumes(json!({"name": "v", "emptyDir": {}})), "p"), None);
    let s = volumes(json!({"name": "v", "hostPath": {"path": "/x"}}));
    assert_eq!(why(&s, "p"), Some(Code::HostPath));
    assert_eq!(why_with(&s, "p", &options(|o| o.allow_host_path = true)), None);
}

#[test]
fn f69_pods_that_another_system_admits_need_a_flag() {
    let label = json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}});
    assert_eq!(why(&one(&label), "p"), Some(Code::ManagedElsewhere));
    assert_eq!(why_with(&one(&label), "p", &options(|o| o.allow_managed_elsewhere = true)), None);
}

#[test]
fn f81_young_pods_and_pods_moved_not_long_ago_stay() {
    let s = one(&json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}));
    let born = i64::from(s.pods[0].created);
    let at = |now: Option<i64>, moves: Vec<RecentMove>| {
        let mut request = options(|o| {
            o.min_pod_age_seconds = 1800;
            o.pod_cooldown_seconds = 7200;
            o.recent_moves = moves;
        });
        request.now = now;
        why_with(&s, "p", &request)
    };
    assert_eq!(at(Some(born + 600), vec![]), Some(Code::TooYoung));
    assert_eq!(at(Some(born + 1800), vec![]), None);
    assert_eq!(at(None, vec![]), None, "without a clock ages are unknown");
    let request = options(|o| o.min_pod_age_seconds = 1800);
    assert!(
        facts(&s, &request).movability.warnings[0].starts_with("no pod counts as too young"),
        "and it says so"
    );
    let born_when = one(&json!({}));
    let mut request = Request { now: Some(born + 600), ..request };
    assert_eq!(why_with(&born_when, "p", &request), Some(Code::AgeUnknown));
    request.movability.min_pod_age_seconds = 0;
    assert_eq!(why_with(&born_when, "p", &request), None);
    let same = RecentMove {
        namespace: "a".to_owned(),
        owner_kind: "Job".to_owned(),
        owner_name: "g".to_owned(),
        pod_name: "p".to_owned(),
        at: born,
        ..RecentMove::default()
    };
    assert_eq!(at(Some(born + 3600), vec![same.clone()]), Some(Code::MovedRecently));
    assert_eq!(at(Some(born + 7200), vec![same.clone()]), None);
    let other_owner = RecentMove { owner_name: "h".to_owned(), ..same.clone() };
    assert_eq!(at(Some(born + 3600), vec![other_owner]), None);
    let by_uid = RecentMove { pod_name: "was-q".to_owned(), replacement_uid: "uid-a-p".to_owned(), ..same };
    assert_eq!(at(Some(born + 3600), vec![by_uid]), Some(Code::MovedRecently));
}

#[test]
fn f26_f85_nodes_that_leave_or_do_not_answer_neither_give_nor_take() {
    let base = || Cluster::new().nodes(2, 8).group("a/g", 1).pod("a/p n1 1 g").pod("a/q n2 1 g");
    let not_ready = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
    let taint = |key: &str| json!({"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}});
    for (code, patch) in [
        ("NodeNotReady", not_ready),
        ("NodeLeavingCluster", taint("ToBeDeletedByClusterAutoscaler")),
        ("NodeLeavingCluster", taint("karpenter.sh/disrupted")),
        ("NodeLeavingCluster", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})),
    ] {
        let s = base().patch("Node", "n1", &patch).build();
        let policy = facts(&s, &request()).scope.node(NodeIdx::new(0)).clone();
        assert_eq!(policy.not_emptied.map(|k| k.code()), Some(code));
        assert_eq!(policy.not_receiving.map(|k| k.code()), Some(code));
    }
}

fn node_scope(include: Option<&str>, names: &[&str]) -> Request {
    let selector = include.map(|text| text.parse::<LabelSelector>().unwrap());
    let names = names.iter().map(|&n| n.to_owned()).collect();
    let include = Some(ObjectSelection { selector, names });
    let rule = ScopeRule { include, exclude: None };
    Request { scope: Scope { nodes: Some(rule), pod_groups: None }, ..request() }
}

#[test]
fn f26_a_cordoned_node_receives_nothing_and_is_emptied_only_when_selected() {
    let s = Cluster::new().nodes(2, 8).group("a/g", 1).pod("a/p n1 1 g").pod("a/q n2 1 g");
    let s = s.patch("Node", "n1", &json!({"spec": {"unschedulable": true}})).build();
    let policy = |request: &Request| facts(&s, request).scope.node(NodeIdx::new(0)).clone();
    assert_eq!(policy(&request()).not_emptied.map(|k| k.code()), Some("NodeCordoned"));
    for request in [request(), node_scope(Some("pool=a"), &[]), node_scope(None, &["n1"])] {
        assert_eq!(policy(&request).not_receiving.map(|k| k.code()), Some("NodeCordoned"));
    }
    assert_eq!(policy(&node_scope(Some("pool=a"), &[])).not_emptied, None);
    assert_eq!(policy(&node_scope(None, &["n1"])).not_emptied, None);
    assert_eq!(policy(&node_scope(None, &["n2"])).not_emptied.map(|k| k.code()), Some("NodeOutOfScope"));
}

#[test]
fn a_pod_whose_unit_holds_a_protected_pod_stays() {
    let s = Cluster::new()
        .nodes(2, 8)
        .group("a/g", 1)
        .pod("a/g-w-0 n1 1 g")
        .pod_with("a/g-w-1 n2 0 g", &json!({"metadata": {"annotations": {names::SAFE_TO_EVICT: "false"}}}))
        .yaml(
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {namespace: a, name: g},
              spec: {tasks: [{name: w, replicas: 9}], policies: [{event: PodEvicted, action: RestartJob}]}}",
        )
        .build();
    let f = facts(&s, &request());
    let reason = f.movability.reason(pod(&s, "g-w-0")).unwrap();
    let sentence = reason.sentence(&s);
    let start = "would be recreated together with a pod that may not move (a/g-w-1 ";
    assert!(sentence.starts_with(start), "{sentence}");
}

#[test]
fn owners_that_are_gone_end_or_are_unknown() {
    let owned = |reference: serde_json::Value| json!({"metadata": {"ownerReferences": [reference]}});
    let custom = owned(json!({"apiVersion": "x.io/v1", "kind": "Thing", "name": "t", "controller": true}));
    let s = one(&custom);
    assert_eq!(why(&s, "p"), Some(Code::CustomOwner));
    assert_eq!(why_with(&s, "p", &options(|o| o.allow_custom_owners = true)), None);
    let other = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {namespace: a, name: other}}";
    let s = Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 1 g").yaml(other).build();
    assert_eq!(why(&s, "p"), Some(Code::OwnerGone));
    let ends = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {namespace: a, name: g},
        spec: {policies: [{event: PodFailed, action: AbortJob}]}}";
    let s = Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 1 g").yaml(ends).build();
    assert_eq!(why(&s, "p"), Some(Code::OwnerMayEnd));
    assert_eq!(why_with(&s, "p", &options(|o| o.allow_may_terminate = true)), None);
}

#[test]
fn f67_a_controller_that_wants_fewer_pods_would_not_recreate_this_one() {
    let patch = json!({"metadata": {"ownerReferences":
        [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": true}]}});
    let set = |n: u32| {
        let yaml = format!(
            "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{namespace: a, name: s}}, spec: {{replicas: {n}}}}}"
        );
        Cluster::new().nodes(1, 8).group("a/g", 1).pod_with("a/p n1 1 g", &patch).yaml(&yaml).build()
    };
    assert_eq!(why(&set(1), "p"), None);
    assert_eq!(why(&set(0), "p"), Some(Code::OwnerScalingDown));
}

#[test]
fn f67_a_volcano_job_that_ends_recreates_nothing() {
    let job = |phase: &str| {
        let yaml = format!(
            "{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {{namespace: a, name: g}}, \
             status: {{state: {{phase: {phase}}}}}}}"
        );
        Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 1 g").yaml(&yaml).build()
    };
    for phase in ["Running", "Pending", "Restarting"] {
        assert_eq!(why(&job(phase), "p"), None, "{phase}");
    }
    for phase in ["Aborting", "Aborted", "Terminating", "Completing", "Completed", "Failed"] {
        assert_eq!(why(&job(phase), "p"), Some(Code::OwnerScalingDown), "{phase}");
    }
}

#[test]
fn a_budget_that_allows_nothing_now_is_waited_for_only_when_asked() {
    let s = Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 1 g").pod("a/q n1 1 g").yaml(
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: a, name: b},
          spec: {selector: {}, minAvailable: 1},
          status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2}}",
    );
    let s = s.build();
    assert_eq!(why(&s, "p"), Some(Code::BudgetExhaustedNow));
    assert_eq!(why_with(&s, "p", &options(|o| o.on_blocked_pdb = OnBlockedPdb::Wait)), None);
}

fn group_scope(include: Option<ObjectSelection>, exclude: Option<ObjectSelection>) -> Request {
    let rule = ScopeRule { include, exclude };
    Request { scope: Scope { pod_groups: Some(rule), nodes: None }, ..request() }
}

fn by_label(text: &str) -> ObjectSelection {
    ObjectSelection { selector: Some(text.parse().unwrap()), names: Vec::new() }
}

fn by_name(names: &[&str]) -> ObjectSelection {
    ObjectSelection { selector: None, names: names.iter().map(|&n| n.to_owned()).collect() }
}

#[test]
fn include_looks_at_group_owner_and_common_pod_labels_and_exclude_at_any() {
    let labels = |text: &str| json!({"metadata": {"labels": {"team": text, "size": "l"}}});
    let s = Cluster::new()
        .nodes(1, 8)
        .group("a/g", 1)
        .pod_with("a/p n1 1 g", &labels("x"))
        .pod_with("a/q n1 1 g", &labels("y"))
        .patch("PodGroup", "g", &json!({"metadata": {"labels": {"tier": "gold"}}}))
        .yaml(
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job,
              metadata: {namespace: a, name: g, labels: {tier: lead, own: 'yes'}}}",
        )
        .patch(
            "PodGroup",
            "g",
            &json!({"metadata": {"ownerReferences":
                [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "g", "controller": true}]}}),
        )
        .build();
    let included = |text: &str| why_with(&s, "p", &group_scope(Some(by_label(text)), None)).is_none();
    assert!(
        included("size=l")
            && included("own=yes")
            && included("tier=gold")
            && included("size,tier notin (lead)")
    );
    assert!(!included("team=x"), "not common to all pods");
    assert!(!included("tier=lead"), "the group is stronger than its owner");
    let excluded = |text: &str| {
        why_with(&s, "p", &group_scope(Some(by_label("size=l")), Some(by_label(text))))
            == Some(Code::PodGroupExcluded)
    };
    assert!(excluded("team=y") && excluded("tier=lead") && excluded("tier=gold") && !excluded("team=z"));
    let everything = Some(ObjectSelection { selector: Some(LabelSelector::default()), names: Vec::new() });
    assert_eq!(why_with(&s, "p", &group_scope(None, everything)), Some(Code::PodGroupExcluded));
    let nothing_said = Some(ObjectSelection::default());
    assert_eq!(why_with(&s, "p", &group_scope(nothing_said.clone(), nothing_said)), None);
}

/// Volcano makes a group without labels per ReplicaSet, and a ReplicaSet has the labels of its pods only.
#[test]
fn the_labels_of_a_deployment_are_those_of_its_group() {
    let owner = |kind: &str, name: &str| {
        json!({"metadata": {"ownerReferences":
            [{"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": true}]}})
    };
    let s = Cluster::new()
        .nodes(1, 8)
        .group("a/g", 1)
        .pod("a/p n1 1 g")
        .yaml("{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: a, name: d, labels: {team: blue, size: l}}}")
        .yaml("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: a, name: r, labels: {size: s}}}")
        .patch("ReplicaSet", "r", &owner("Deployment", "d"))
        .patch("PodGroup", "g", &owner("ReplicaSet", "r"))
        .patch("Pod", "p", &owner("ReplicaSet", "r"))
        .build();
    let why = |include: &str, exclude: Option<&str>| {
        why_with(&s, "p", &group_scope(Some(by_label(include)), exclude.map(by_label)))
    };
    assert_eq!(why("team=blue", None), None);
    assert_eq!(why("size=s", None), None);
    assert_eq!(why("size=l", None), Some(Code::PodGroupNotIncluded), "the nearest owner is the strongest");
    assert_eq!(why("team=blue", Some("size=l")), Some(Code::PodGroupExcluded), "any owner is enough");
}

#[test]
fn names_and_selector_are_a_union_and_names_that_match_nothing_are_told() {
    let s = Cluster::new()
        .nodes(2, 8)
        .group("a/g", 1)
        .group("a/h", 1)
        .pod("a/p n1 1 g")
        .pod("a/q n2 1 h")
        .build();
    let named = group_scope(Some(by_name(&["a/g", "a/gone"])), None);
    assert_eq!(
        (why_with(&s, "p", &named), why_with(&s, "q", &named)),
        (None, Some(Code::PodGroupNotIncluded))
    );
    let f = facts(&s, &named);
    assert_eq!(f.scope.warnings, ["scope.podGroups.include lists a/gone, and there is no such PodGroup"]);
    assert_eq!((f.scope.group_count, f.scope.node_count), (1, 2));
    let cards = s.resource_named(CARDS).unwrap();
    let error = Facts::of(&s, cards, &group_scope(Some(by_name(&["a/gone"])), None)).unwrap_err();
    assert_eq!(error, "scope.podGroups.include lists only names that do not exist: a/gone");
    let by_both = node_scope(Some("pool=b"), &["n2"]);
    let f = facts(&s, &by_both);
    assert_eq!(f.scope.node_count, 1);
    assert!(f.scope.node(NodeIdx::new(1)).not_emptied.is_none());
}

#[test]
fn selectors_are_read_as_kubectl_spells_them() {
    let selector = crate::plan::scope::parse_selector("a=b,c in (x,y),!d,e!=f").unwrap();
    let labels = |key: &str| match key {
        "a" => Some("b"),
        "c" => Some("y"),
        _ => None,
    };
    assert!(selector.matches(labels));
    let fault = crate::plan::scope::parse_selector("a in x").unwrap_err();
    assert!(fault.starts_with("selector \"a in x\": "), "{fault}");
}
