//! Rates and reports of small clusters.

use serde_json::{Value, json};

use super::pools::NO_LABEL;
use super::{FragmentationReport, Load, Movability, Rate, Relocation, ReportOptions, resources_in_use};
use crate::snapshot::model::{PodIdx, ResourceIdx};
use crate::snapshot::read::read_all;
use crate::snapshot::{BuildOptions, Builder, Snapshot};

const NPU: &str = "x.io/npu";

fn node(name: &str, cards: i64) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {}}, "spec": {},
        "status": {"allocatable": {"cpu": "8", NPU: cards.to_string()},
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(name: &str, node: &str, cards: i64) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "a", "name": name, "annotations": {"scheduling.k8s.io/group-name": name[..1]}},
        "spec": {"nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {NPU: cards.to_string()}}}]},
        "status": {"phase": "Running"}})
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key] = value;
    object
}

fn snapshot(items: &[Value]) -> Snapshot {
    let mut builder = Builder::new(BuildOptions { refuse_unknown_nodes: false, ..BuildOptions::default() });
    let text = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    read_all(text.as_bytes(), "test.json", &mut builder).unwrap();
    builder.finish().unwrap()
}

fn cards(snapshot: &Snapshot) -> ResourceIdx {
    snapshot.resource_named(NPU).unwrap()
}

fn rate(items: &[Value]) -> (i64, i64, i64, i32) {
    let snapshot = snapshot(items);
    let rate = Rate::of(&snapshot, cards(&snapshot));
    assert!(rate.optimum_exact);
    (rate.providing, rate.occupied, rate.optimum, rate.percent())
}

#[test]
fn three_nodes_one_of_them_needless_are_33_percent() {
    let items = [
        node("n1", 8),
        node("n2", 8),
        node("n3", 8),
        pod("a1", "n1", 1),
        pod("a2", "n1", 1),
        pod("b1", "n2", 7),
        pod("c1", "n3", 7),
    ];
    assert_eq!(rate(&items), (3, 3, 2, 33));
}

#[test]
fn f14_three_five_card_pods_need_three_nodes() {
    let nodes = [node("n1", 8), node("n2", 8), node("n3", 8), node("n4", 8)];
    let pods = [pod("a1", "n1", 5), pod("b1", "n2", 5), pod("c1", "n3", 5)];
    assert_eq!(rate(&[&nodes[..], &pods[..]].concat()), (4, 3, 3, 0));
    let mixed = [node("n1", 8), node("n2", 8), node("n3", 4), pod("a1", "n1", 4), pod("b1", "n2", 4)];
    assert_eq!(rate(&[&mixed[..], &[pod("c1", "n3", 1)]].concat()), (3, 3, 2, 33), "9 cards on 8, 8, 4");
}

#[test]
fn f11_a_key_left_at_zero_provides_nothing() {
    let mut items = vec![node("n1", 8), node("n2", 8), node("n3", 8), node("n4", 0), pod("a1", "n1", 1)];
    assert_eq!(rate(&items), (3, 1, 1, 0));
    items = vec![node("n1", 0), node("n2", 0), node("n3", 0), node("n4", 0)];
    assert_eq!(rate(&items), (0, 0, 0, 0));
    let snapshot = snapshot(&items);
    let asked = [NPU.to_owned()];
    let report =
        FragmentationReport::new(&snapshot, &ReportOptions { resources: &asked, ..ReportOptions::default() });
    let one = &report.resources[0];
    assert_eq!((one.note, one.summary.frag_percent), (Some("no node provides it"), 0));
    assert_eq!(one.summary.frag_exact.percent, "0.0");
    assert_eq!(one.summary.largest_job, None);
}

#[test]
fn f07_f08_what_holds_cards_is_decided_by_the_object_not_by_its_containers() {
    let items = [
        node("n1", 8),
        with(pod("a1", "n1", 1), "/status/phase", json!("Succeeded")),
        with(pod("b1", "n1", 1), "/status/phase", json!("Failed")),
        with(pod("c1", "n1", 1), "/status/phase", json!("Running")),
        with(pod("d1", "n1", 1), "/status/phase", json!("Pending")),
        with(pod("e1", "n1", 4), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
    ];
    let snapshot = snapshot(&items);
    let load = Load::live(&snapshot, cards(&snapshot));
    let n1 = load.providing().next().unwrap();
    assert_eq!((n1.used, n1.free(), n1.pods, n1.terminating), (6, 2, 3, 1));
    assert!(!n1.is_emptying());
}

#[test]
fn a_node_whose_pods_all_terminate_is_emptying_and_occupied() {
    let leaving = with(pod("a1", "n1", 4), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"));
    let snapshot = snapshot(&[node("n1", 8), node("n2", 8), leaving, pod("b1", "n2", 4)]);
    let report = FragmentationReport::new(&snapshot, &ReportOptions::default());
    let summary = &report.resources[0].summary;
    assert_eq!((summary.occupied_nodes, summary.emptying_nodes, summary.optimal_occupied_nodes), (2, 1, 1));
    assert_eq!(report.resources[0].special.emptying[0].name, "n1");
    assert_eq!(report.resources[0].nodes[0].states, ["Emptying"]);
}

#[test]
fn an_overcommitted_node_never_makes_the_optimum_larger_than_the_occupied_count() {
    // n1 lost cards while in use: it holds 12 of 4. Without max(allocatable, used) no packing would exist.
    let items = [node("n1", 4), node("n2", 4), pod("a1", "n1", 6), pod("b1", "n1", 6), pod("c1", "n2", 1)];
    assert_eq!(rate(&items), (2, 2, 2, 0));
    let snapshot = snapshot(&items);
    let report = FragmentationReport::new(&snapshot, &ReportOptions::default());
    let cards = report.resources[0].summary.cards;
    assert_eq!((cards.total, cards.used, cards.free), (8, 13, 3));
}

#[test]
fn after_a_plan_the_rate_is_that_of_the_planned_placement() {
    let snapshot = snapshot(&[node("n1", 8), node("n2", 8), pod("a1", "n1", 2), pod("b1", "n2", 2)]);
    let resource = cards(&snapshot);
    let n2 = snapshot.node_named("n2").unwrap();
    let moves = [Relocation { pod: PodIdx::new(0), to: n2, amount: 2 }];
    let before = Rate::of(&snapshot, resource);
    let after = Rate::of_load(&Load::after(&snapshot, resource, &moves));
    assert_eq!((before.percent(), after.percent(), after.occupied), (50, 0, 1));
    assert!(before.falls_by(&after, 50) && !before.falls_by(&after, 51));
}

#[test]
fn thresholds_compare_fractions_not_rounded_percent() {
    let rate = |excess: i64| Rate { providing: 3, occupied: 1 + excess, optimum: 1, optimum_exact: true };
    assert_eq!((rate(1).percent(), rate(2).percent()), (33, 67));
    // 67 - 33 is 34, but the rate falls by a third.
    assert!(rate(2).falls_by(&rate(1), 33));
    assert!(!rate(2).falls_by(&rate(1), 34));
    assert!(Rate::default().falls_by(&Rate::default(), 0));
    assert!(!Rate::default().falls_by(&Rate::default(), 1));
}

#[test]
fn f26_nodes_that_take_no_pods_stay_in_the_rate_and_are_listed_apart() {
    let items = [
        with(node("n1", 8), "/spec/unschedulable", json!(true)),
        with(node("n2", 8), "/status/conditions", json!([{"type": "Ready", "status": "Unknown"}])),
        with(
            node("n3", 8),
            "/spec/taints",
            json!([{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]),
        ),
        node("n4", 8),
        node("cpu", 0),
        pod("a1", "n1", 2),
        pod("b1", "n4", 3),
        pod("c1", "cpu", 1),
        pod("d1", "gone", 5),
        pod("e1", "", 4),
    ];
    let snapshot = snapshot(&items);
    let report = FragmentationReport::new(&snapshot, &ReportOptions::default());
    let one = &report.resources[0];
    let names = |list: &[super::document::NodeCount<'_>]| {
        list.iter().map(|n| format!("{} {}/{}", n.name, n.used, n.free)).collect::<Vec<_>>()
    };
    assert_eq!(names(&one.special.cordoned), ["n1 2/6"]);
    assert_eq!(names(&one.special.not_ready), ["n2 0/8"]);
    assert_eq!(names(&one.special.leaving), ["n3 0/8"]);
    assert_eq!(names(&one.special.not_providing), ["cpu 1/0"]);
    assert_eq!((one.special.lost_pods[0].name, one.special.lost_pods[0].cards), ("d1", 5));
    assert_eq!((one.waiting.pods, one.waiting.cards), (1, 4));
    let summary = &one.summary;
    assert_eq!((summary.nodes, summary.occupied_nodes, summary.optimal_occupied_nodes), (4, 2, 1));
    assert_eq!((summary.cards.free, summary.cards.free_on_closed_nodes, summary.closed_nodes), (27, 22, 3));
    // Only n4 takes pods, so nothing larger than its hole fits.
    let job = summary.largest_job.unwrap();
    assert_eq!((job.cards, job.pods), (4, 1));
    assert_eq!(one.nodes.iter().find(|n| n.name == "cpu").unwrap().states, ["NotProviding"]);
}

#[test]
fn pools_have_rates_of_their_own_and_nodes_without_the_label_stand_last() {
    let pool = |name: &str, value: &str| with(node(name, 8), "/metadata/labels/pool", json!(value));
    let items = [
        pool("n1", "b"),
        pool("n2", "b"),
        pool("n3", "a"),
        node("n4", 8),
        pod("x1", "n1", 2),
        pod("x2", "n2", 2),
        pod("x3", "n3", 8),
        pod("x4", "n4", 4),
    ];
    let snapshot = snapshot(&items);
    let options = ReportOptions { group_by: Some("pool"), ..ReportOptions::default() };
    let report = FragmentationReport::new(&snapshot, &options);
    let one = &report.resources[0];
    let line = |name: &str, summary: &super::document::Summary| {
        format!(
            "{name} {}/{}/{} {}%",
            summary.nodes, summary.occupied_nodes, summary.optimal_occupied_nodes, summary.frag_percent
        )
    };
    let pools: Vec<String> = one.pools.iter().map(|pool| line(pool.name, &pool.summary)).collect();
    assert_eq!(pools, ["a 1/1/1 0%", "b 2/2/1 50%", &format!("{NO_LABEL} 1/1/1 0%")]);
    assert_eq!(line("all", &one.summary), "all 4/4/2 50%");
}

#[test]
fn holders_are_one_line_per_group_and_reason() {
    let bare = with(pod("z1", "n1", 1), "/metadata/annotations", json!({}));
    let items = [node("n1", 8), pod("a1", "n1", 2), pod("a2", "n1", 1), pod("a3", "n1", 1), bare];
    let snapshot = snapshot(&items);
    let code = |at| (snapshot.pod_name(PodIdx::new(at)) == "a3").then_some("Protected");
    let ask = |_| Movability { refused: (0..snapshot.pods.len()).map(code).collect(), unmovable: Vec::new() };
    let options = ReportOptions { movability: Some(&ask), ..ReportOptions::default() };
    let report = FragmentationReport::new(&snapshot, &options);
    let holders: Vec<String> = report.resources[0].nodes[0]
        .holders
        .iter()
        .map(|h| format!("{:?} {:?} {}x{} {:?}", h.pod_group, h.pod, h.pods, h.cards, h.refused))
        .collect();
    assert_eq!(
        holders,
        [
            "None Some(\"z1\") 1x1 None",
            "Some(\"a\") None 2x3 None",
            "Some(\"a\") None 1x1 Some(\"Protected\")",
        ]
    );
}

#[test]
fn resources_without_a_request_are_named_not_hidden() {
    let gpu =
        with(node("n2", 0), "/status/allocatable", json!({"y.io/gpu": "4", "example.kubernetes.io/x": "1"}));
    let snapshot = snapshot(&[node("n1", 8), gpu, pod("a1", "n1", 2)]);
    let used: Vec<&str> = resources_in_use(&snapshot).iter().map(|&r| snapshot.resource_name(r)).collect();
    assert_eq!(used, [NPU]);
    let report = FragmentationReport::new(&snapshot, &ReportOptions::default());
    assert_eq!(report.unused_resources, ["y.io/gpu"]);
    let asked = ["y.io/gpu".to_owned(), "z.io/typo".to_owned()];
    let options = ReportOptions { resources: &asked, ..ReportOptions::default() };
    let report = FragmentationReport::new(&snapshot, &options);
    let notes: Vec<_> = report.resources.iter().map(|r| r.note.unwrap()).collect();
    assert_eq!(notes, ["no pod on these nodes holds any", "no node provides it and no pod requests it"]);
    assert!(report.unused_resources.is_empty());
}

#[test]
fn the_document_is_versioned_and_leaves_no_list_out() {
    let snapshot = snapshot(&[node("n1", 8), pod("a1", "n1", 2)]);
    let report = FragmentationReport::new(&snapshot, &ReportOptions::default());
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn the_order_of_the_input_changes_no_byte() {
    let mut items: Vec<Value> = (0..6).map(|at| node(&format!("n{at}"), 8)).collect();
    items.extend((0..12).map(|at| {
        pod(&format!("{}{at}", if at % 2 == 0 { 'a' } else { 'b' }), &format!("n{}", at % 5), 1 + at % 3)
    }));
    let text = |items: &[Value]| {
        let snapshot = snapshot(items);
        serde_json::to_string(&FragmentationReport::new(&snapshot, &ReportOptions::default())).unwrap()
    };
    let forward = text(&items);
    items.reverse();
    assert_eq!(forward, text(&items));
}
