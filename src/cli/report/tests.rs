//! What the report looks like, in each format.

use serde_json::{Value, json};

use super::*;
use crate::cli::options::Glyphs;
use crate::snapshot::read::read_all;
use crate::snapshot::{BuildOptions, Builder};

const NPU: &str = "x.io/npu";

fn node(name: &str, pool: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"pool": pool}}, "spec": {},
        "status": {"allocatable": {"cpu": "8", NPU: "8"}, "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(name: &str, node: &str, resource: &str, cards: i64) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "a", "name": name, "annotations": {"scheduling.k8s.io/group-name": name[..1]}},
        "spec": {"nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {resource: cards.to_string()}}}]},
        "status": {"phase": "Running"}})
}

fn snapshot(items: &[Value]) -> Snapshot {
    let mut builder = Builder::new(BuildOptions::default());
    let text = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    read_all(text.as_bytes(), "test.json", &mut builder).unwrap();
    builder.finish().unwrap()
}

/// Four nodes: one cordoned, one full, one idle; a second resource that only one pod uses.
fn cluster() -> Snapshot {
    let mut cordoned = node("n1", "a");
    cordoned["spec"]["unschedulable"] = json!(true);
    let mut other = node("n4", "b");
    other["status"]["allocatable"]["y.io/gpu"] = json!("2");
    snapshot(&[
        cordoned,
        node("n2", "a"),
        node("n3", "b"),
        other,
        pod("t1", "n1", NPU, 2),
        pod("t2", "n2", NPU, 3),
        pod("u1", "n2", NPU, 1),
        pod("v1", "n3", NPU, 8),
        pod("w1", "", NPU, 4),
        pod("g1", "n4", "y.io/gpu", 1),
    ])
}

fn shown(view: &View, resources: &[&str], group_by: Option<&str>) -> String {
    let snapshot = cluster();
    let resources: Vec<String> = resources.iter().map(|&name| name.to_owned()).collect();
    let report = FragmentationReport::new(
        &snapshot,
        &ReportOptions { resources: &resources, group_by, movability: None },
    );
    text(&report, view).unwrap()
}

fn plain() -> View {
    View { headers: true, glyphs: Glyphs::Ascii, ..View::default() }
}

#[test]
fn one_resource_is_a_picture_and_what_to_know_about_it() {
    insta::assert_snapshot!(shown(&plain(), &[NPU], None), @"
    x.io/npu   4 nodes, 3 occupied, optimum 2, rate 25.0%   18 cards free, largest job now 1x8
    NODE   CARDS      HOLE   STATE
    n1     aa......   6      cordoned
    n2     aaab....   4      -
    n4     ........   8      idle
    + 1 full node, 0 hidden    letters = pod groups (legend with -o wide)    # = cannot move
    cordoned, not receiving: 1 node, 2 cards in use, 6 free: n1
    of the 18 cards free, 6 are on nodes that take no new pods
    waiting for a node: 1 pod with 4 cards
    ");
}

#[test]
fn several_resources_start_with_a_table() {
    insta::assert_snapshot!(shown(&plain(), &[], None), @"
    RESOURCE   NODES   OCCUPIED   OPTIMUM   RATE    CARDS   USED   FREE   LARGEST-JOB
    x.io/npu   4       3          2         25.0%   32      14     18     1x8
    y.io/gpu   1       1          1         0.0%    2       1      1      1x1

    x.io/npu   4 nodes, 3 occupied, optimum 2, rate 25.0%   18 cards free, largest job now 1x8
    NODE   CARDS      HOLE   STATE
    n1     aa......   6      cordoned
    n2     aaab....   4      -
    n4     ........   8      idle
    + 1 full node, 0 hidden    letters = pod groups (legend with -o wide)    # = cannot move
    cordoned, not receiving: 1 node, 2 cards in use, 6 free: n1
    of the 18 cards free, 6 are on nodes that take no new pods
    waiting for a node: 1 pod with 4 cards

    y.io/gpu   1 node, 1 occupied, optimum 1, rate 0.0%   1 card free, largest job now 1x1
    NODE   CARDS   HOLE   STATE
    n4     a.      1      -
    + 0 full nodes, 0 hidden    letters = pod groups (legend with -o wide)    # = cannot move
    ");
}

#[test]
fn pools_are_lines_of_the_table() {
    let view = View { summary: true, format: Format::Wide, ..plain() };
    insta::assert_snapshot!(shown(&view, &[NPU], Some("pool")), @"
    RESOURCE   POOL   NODES   OCCUPIED   OPTIMUM   RATE    CARDS   USED   FREE   LARGEST-JOB   EMPTYING   CLOSED   FREE-CLOSED   HOLES         FITS
    x.io/npu   *      4       3          2         25.0%   32      14     18     1x8           0          1        6             1x8,1x4,1x0   1x8,3x4,6x2,12x1
    x.io/npu   a      2       2          1         50.0%   16      6      10     1x4           0          1        6             1x4           0x8,1x4,2x2,4x1
    x.io/npu   b      2       1          1         0.0%    16      8      8      1x8           0          0        0             1x8,1x0       1x8,2x4,4x2,8x1
    ");
    let view = View { sort_by: Some("rate".to_owned()), headers: false, summary: true, ..plain() };
    insta::assert_snapshot!(shown(&view, &[NPU], Some("pool")), @"
    x.io/npu   b   2   1   1   0.0%    16   8    8    1x8
    x.io/npu   *   4   3   2   25.0%   32   14   18   1x8
    x.io/npu   a   2   2   1   50.0%   16   6    10   1x4
    ");
}

#[test]
fn f11_a_resource_that_no_node_provides_has_the_rate_zero_and_a_note() {
    insta::assert_snapshot!(shown(&plain(), &["z.io/none"], None), @"
    z.io/none   0 nodes, 0 occupied, optimum 0, rate 0.0%   0 cards free
    note: no node provides it and no pod requests it
    ");
}

#[test]
fn a_typo_in_a_resource_gets_the_nearest_name() {
    let snapshot = cluster();
    let resources = ["x.io/nup".to_owned()];
    let options = ReportOptions { resources: &resources, ..ReportOptions::default() };
    let report = FragmentationReport::new(&snapshot, &options);
    let (mut out, captured) = Out::captured();
    advise(&snapshot, &report, &mut out);
    insta::assert_snapshot!(captured.stderr(), @"hint: x.io/nup is not in the input, but x.io/npu is");
}

#[test]
fn many_names_are_cut_unless_everything_is_asked_for() {
    let mut items: Vec<Value> = (1..8).map(|at| node(&format!("n{at}"), "a")).collect();
    for item in &mut items {
        item["spec"]["unschedulable"] = json!(true);
    }
    items.push(pod("t1", "n1", NPU, 2));
    let snapshot = snapshot(&items);
    let report = FragmentationReport::new(&snapshot, &ReportOptions::default());
    let lines = |wide| notes::lines(&report.resources[0], wide).concat();
    insta::assert_snapshot!(lines(false), @"
    cordoned, not receiving: 7 nodes, 2 cards in use, 54 free: n1, n2, n3, n4, n5 and 2 more (-o wide)
    of the 54 cards free, 54 are on nodes that take no new pods
    ");
    assert!(lines(true).contains("n5, n6, n7\n"), "{}", lines(true));
}
