//! What the builder makes of small inputs, whatever their order.

use super::{BuildOptions, Builder};
use crate::snapshot::model::{GroupOrigin, Phase, ResourceIdx, Snapshot};
use crate::snapshot::read::{InputError, read_all};

fn build_with(items: &[&str], options: BuildOptions) -> Result<Snapshot, InputError> {
    let mut builder = Builder::new(options);
    let text = format!("{{\"kind\":\"List\",\"items\":[{}]}}", items.join(","));
    read_all(text.as_bytes(), "test.json", &mut builder)?;
    builder.finish()
}

fn build(items: &[&str]) -> Snapshot {
    build_with(items, BuildOptions::default()).unwrap()
}

const N1: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"kubernetes.io/hostname":"n1"}},
 "status":{"allocatable":{"cpu":"4","pods":"10","x.io/npu":"8"},"conditions":[{"type":"Ready","status":"True"}]}}"#;
const N2: &str =
    r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"},"status":{"allocatable":{"cpu":"4"}}}"#;

fn pod(name: &str, extra: &str, spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"a","name":"{name}"{extra}}},
        "spec":{{"nodeName":"n1","containers":[{{"name":"c","resources":{{"requests":{{"x.io/npu":"2"}}}}}}]{spec}}},
        "status":{{"phase":"Running"}}}}"#
    )
}

#[test]
fn order_of_the_input_does_not_matter() {
    let (p, q) = (pod("p", "", ""), pod("q", "", r#","priority":7"#));
    let (one, two) = (build(&[N1, N2, &p, &q]), build(&[&q, N2, &p, N1]));
    for s in [&one, &two] {
        assert_eq!(s.nodes.iter().map(|n| s.text(n.name)).collect::<Vec<_>>(), ["n1", "n2"]);
        assert_eq!(s.pods.iter().map(|p| s.text(p.name)).collect::<Vec<_>>(), ["p", "q"]);
        assert_eq!(s.specs.iter().map(|s| s.priority).collect::<Vec<_>>(), [0, 7]);
        assert_eq!(s.pods_on[0].len(), 2);
    }
}

#[test]
fn nodes_that_differ_only_in_labels_no_rule_names_are_one_class() {
    let s = build(&[N1, N2]);
    assert_eq!(s.node_classes.len(), 1);
    let p = pod("p", "", r#","nodeSelector":{"kubernetes.io/hostname":"n1"}"#);
    assert_eq!(build(&[N1, N2, &p]).node_classes.len(), 2);
}

#[test]
fn a_pod_without_a_group_gets_the_group_of_its_controlling_owner() {
    let owners = r#","ownerReferences":[{"kind":"ReplicaSet","name":"rs","uid":"u1","controller":true}]"#;
    let s = build(&[N1, &pod("p", owners, "")]);
    let group = s.pods[0].group.unwrap();
    assert_eq!(s.group_key(group), "a/podgroup-u1");
    assert_eq!(s.groups[group.at()].origin, GroupOrigin::Virtual);
    let loose = r#","ownerReferences":[{"kind":"ReplicaSet","name":"rs","uid":"u1"}]"#;
    let s = build(&[N1, &pod("p", loose, "")]);
    assert_eq!((s.pods[0].owner, s.pods[0].group), (None, None), "f55: without controller: true it is bare");
}

#[test]
fn f07_a_finished_pod_stands_nowhere() {
    let finished = pod("p", "", "").replace("Running", "Succeeded");
    let s = build(&[N1, &finished]);
    assert_eq!(s.pods[0].phase, Phase::Succeeded);
    assert!(s.pods_on[0].is_empty());
}

#[test]
fn bad_input_is_one_sentence_that_names_object_and_field() {
    let negative = pod("p", "", "").replace("\"2\"", "\"-1\"");
    let half = pod("p", "", "").replace("\"2\"", "\"1500m\"");
    let lost = pod("p", "", "").replace("n1", "n9");
    let huge = N1.replace("\"8\"", "\"99999999999999999999\"");
    let p = pod("p", "", "");
    let most = |name: &str| pod(name, "", "").replace("\"2\"", "\"9223372036854775807\"");
    let (p_most, q_most) = (most("p"), most("q"));
    let n_most = |name: &str| N1.replace("n1", name).replace("\"8\"", "\"9223372036854775807\"");
    let (n1_most, n2_most) = (n_most("n1"), n_most("n2"));
    for (items, sentence) in [
        (
            vec![N1, &*negative],
            "Pod a/p: spec.containers[0].resources.requests[\"x.io/npu\"]: \"-1\" is negative",
        ),
        (
            vec![N1, &half],
            "Pod a/p: spec.containers[0].resources.requests[\"x.io/npu\"]: \"1500m\" is not a whole",
        ),
        (vec![N1, &lost], "Pod a/p: spec.nodeName: \"n9\" is no node of the input"),
        (vec![&*huge], "Node n1: status.allocatable[\"x.io/npu\"]: \"99999999999999999999\" is too large"),
        (vec![N1, N1], "Node n1: is in the input twice"),
        (vec![N1, &p, &p], "Pod a/p: is in the input twice"),
        (vec![N1, &p_most, &q_most], "Pod a/q: with its x.io/npu, the sum over all pods is too large"),
        (vec![&*n1_most, &n2_most], "Node n2: with its x.io/npu, the sum over all nodes is too large"),
    ] {
        let error = build_with(&items, BuildOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
}

#[test]
fn f12_cards_under_limits_only_are_requested() {
    let limits = pod("p", "", "").replace("requests", "limits");
    let s = build(&[N1, &limits]);
    let cards = s.resource_named("x.io/npu").unwrap();
    assert_eq!(s.requests(s.specs[0].requests).get(cards), 2);
    assert_eq!(s.nodes[0].allocatable[ResourceIdx::CPU.at()], 4000);
}

#[test]
fn f78_null_times_and_missing_conditions_are_read_as_absent() {
    let null = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"p",
        "creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":null},
        "spec":{"nodeName":"n1","containers":[{"name":"c","resources":{"requests":{"x.io/npu":"2"}}}]},
        "status":{"phase":"Running","startTime":null,"conditions":[
            {"type":"PodScheduled","status":"True","lastTransitionTime":null,"lastProbeTime":null}]}}"#;
    let bare = null
        .replace(r#""startTime":null,"#, "")
        .replace(r#""conditions":["#, r#""unused":["#)
        .replace(r#""name":"p""#, r#""name":"q""#);
    let nothing = pod("r", r#","creationTimestamp":null"#, "");
    let s = build(&[N1, null, &bare, &nothing]);
    let facts: Vec<_> = s.pods.iter().map(|p| (p.created, p.terminating, p.phase)).collect();
    let created = 1_767_225_600;
    assert_eq!(
        facts,
        [(created, false, Phase::Running), (created, false, Phase::Running), (0, false, Phase::Running)]
    );
}
