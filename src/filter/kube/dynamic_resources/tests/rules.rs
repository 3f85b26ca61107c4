//! D1, D2, D4 and every rule of the search.

use super::*;
use crate::filter::kube::testing::{cluster_of, node_with};
use crate::snapshot::model::NodeIdx;

#[test]
fn d1_a_shared_claim_pins_its_pods_to_where_it_is_allocated() {
    let objects = with(
        four(),
        [node("n2", "", ""), claim("c", &request("r", 1, ""), "", &allocated("n1", &["d0"], &["other"]))],
    );
    assert_eq!(says(&objects, &wants("p", &["c"], ""), "n1"), PASS);
    assert_eq!(says(&objects, &wants("p", &["c"], ""), "n2"), FINAL);
}

#[test]
fn d2_all_devices_of_a_claim_come_from_one_node() {
    one(&request("r", 4, ""), "", PASS);
    one(&request("r", 5, ""), "", FINAL);
    one(&[request("a", 2, ""), request("b", 2, "")].join(", "), "", PASS);
    one(&[request("a", 2, ""), request("b", 3, "")].join(", "), "", FINAL);
    let objects =
        with(four(), [claim("c", &request("r", 3, ""), "", ""), claim("d", &request("r", 2, ""), "", "")]);
    assert_eq!(says(&objects, &wants("p", &["c"], ""), "n1"), PASS);
    assert_eq!(says(&objects, &wants("p", &["c", "d"], ""), "n1"), FINAL);
}

#[test]
fn d4_extended_resources_are_served_where_no_device_plugin_does() {
    let asks = |amount: i64| {
        pod(
            "p",
            "",
            &format!("containers: [{{name: c, resources: {{requests: {{example.com/card: {amount}}}}}}}]"),
        )
    };
    assert_eq!(says(&four(), &asks(4), "n1"), PASS);
    assert_eq!(says(&four(), &asks(5), "n1"), FINAL);
    let snapshot = cluster(&four(), &asks(4));
    let verdict = crate::filter::evaluate(&State::live(&snapshot), candidate(&snapshot), NodeIdx::new(0));
    assert!(verdict.passes(), "{verdict:?}");
    let plugin = node_with("n1", "", "", "cpu: 64, memory: 64Gi, pods: 110, example.com/card: 1");
    let objects = vec![plugin, CLASS.to_owned(), slice("n1", &[])];
    assert_eq!(says(&objects, &asks(4), "n1"), PASS, "left to NodeResourcesFit");
    let implicit =
        "containers: [{name: c, resources: {requests: {deviceclass.resource.kubernetes.io/card: 4}}}]";
    assert_eq!(says(&four(), &pod("p", "", implicit), "n1"), PASS);
    let other = "containers: [{name: c, resources: {requests: {example.com/card: 1, example.com/other: 1}}}]";
    assert_eq!(says(&four(), &pod("p", "", other), "n1"), FINAL, "the node lacks the other resource");
    let mut none_left = four();
    none_left[0] = node_with("n1", "", "", "cpu: 64, memory: 64Gi, pods: 110, example.com/other: 0");
    assert_eq!(
        says(&none_left, &pod("p", "", other), "n1"),
        PASS,
        "it has none, which NodeResourcesFit sees"
    );
}

#[test]
fn init_containers_reuse_the_devices_of_containers_that_start_after_them() {
    let container = |name: &str, amount: i64, more: &str| {
        format!("{{name: {name}, resources: {{requests: {{example.com/card: {amount}}}}}{more}}}")
    };
    let asks = |init: &[String], app: &[String]| {
        pod("p", "", &format!("initContainers: [{}], containers: [{}]", init.join(", "), app.join(", ")))
    };
    let sidecar = ", restartPolicy: Always";
    let cases = [
        (asks(&[container("i", 4, "")], &[container("a", 2, ""), container("b", 2, "")]), PASS),
        (asks(&[container("i", 4, ""), container("j", 3, "")], &[container("a", 1, "")]), PASS),
        (asks(&[container("s", 2, sidecar), container("i", 2, "")], &[container("a", 2, "")]), PASS),
        (asks(&[container("s", 2, sidecar), container("i", 3, "")], &[container("a", 2, "")]), FINAL),
        (asks(&[], &[container("a", 3, ""), container("b", 2, "")]), FINAL),
    ];
    for (incoming, expected) in cases {
        assert_eq!(says(&four(), &incoming, "n1"), expected, "{incoming}");
    }
}

#[test]
fn selectors_of_class_and_request_both_hold() {
    let big = r#", selectors: [{cel: {expression: 'device.attributes["card.example.com"].model == "big"'}}]"#;
    one(&request("r", 1, big), "", PASS);
    one(&request("r", 2, big), "", FINAL);
    let memory = r#", selectors: [{cel: {expression: 'device.capacity["card.example.com"].memory.isLessThan(quantity("16Gi"))'}}]"#;
    one(&request("r", 1, memory), "", FINAL);
}

#[test]
fn an_error_in_a_selector_ends_the_cycle_unless_devices_were_found_before_it() {
    let missing =
        r#", selectors: [{cel: {expression: 'device.attributes["card.example.com"].colour == "red"'}}]"#;
    one(&request("r", 1, missing), "", ERROR);
    let late = r#", selectors: [{cel: {expression: 'device.attributes["card.example.com"].numa == 0 || device.attributes["card.example.com"].colour == "red"'}}]"#;
    one(&request("r", 2, late), "", PASS);
    one(&request("r", 3, late), "", ERROR);
    one(&request("r", 1, ", selectors: [{cel: {expression: 'device.'}}]"), "", UNKNOWN);
    one(&request("r", 1, ", selectors: [{cel: {expression: 'math.least(1, 2) == 1'}}]"), "", UNKNOWN);
}

#[test]
fn alternatives_are_tried_in_order() {
    let sub = |name: &str, count: i64, more: &str| {
        format!("{{name: {name}, deviceClassName: card, count: {count}{more}}}")
    };
    let first = |subs: &[String]| format!("{{name: r, firstAvailable: [{}]}}", subs.join(", "));
    one(&first(&[sub("many", 9, ""), sub("few", 2, "")]), "", PASS);
    one(&first(&[sub("many", 9, ""), sub("more", 5, "")]), "", FINAL);
    // The first alternative of `r` leaves too little for `s`; the second does not.
    one(&format!("{}, {}", first(&[sub("many", 3, ""), sub("few", 1, "")]), request("s", 3, "")), "", PASS);
    one(&first(&[sub("much", 33, ""), sub("few", 1, "")]), "", PASS);
    one(&first(&[sub("much", 33, "")]), "", ERROR);
}

#[test]
fn all_mode_takes_every_matching_device_and_needs_one() {
    one("{name: r, exactly: {deviceClassName: card, allocationMode: All}}", "", PASS);
    let none = "{name: r, exactly: {deviceClassName: card, allocationMode: All, selectors: [{cel: {expression: 'false'}}]}}";
    one(none, "", FINAL);
    let held = claim("held", &request("r", 1, ""), "", &allocated("n1", &["d3"], &[]));
    let objects = with(
        four(),
        [claim("c", "{name: r, exactly: {deviceClassName: card, allocationMode: All}}", "", ""), held],
    );
    assert_eq!(says(&objects, &wants("p", &["c"], ""), "n1"), FINAL, "one is in use");
}

#[test]
fn constraints_tie_devices_together_or_keep_them_apart() {
    let matching = "{requests: [], matchAttribute: card.example.com/numa}";
    let distinct = "{requests: [a, b], distinctAttribute: card.example.com/numa}";
    let both = [request("a", 1, ""), request("b", 1, "")].join(", ");
    one(&request("r", 2, ""), matching, PASS);
    one(&request("r", 3, ""), matching, FINAL);
    one(&both, distinct, PASS);
    one(
        &format!("{both}, {}", request("c", 1, "")),
        "{requests: [], distinctAttribute: card.example.com/numa}",
        FINAL,
    );
    one(&both, "{requests: [a], matchAttribute: card.example.com/colour}", FINAL);
    // The big one is on numa 1, so the other has to be found there, past the first two.
    let big = r#", selectors: [{cel: {expression: 'device.attributes["card.example.com"].model == "big"'}}]"#;
    one(&[request("a", 1, ""), request("b", 1, big)].join(", "), matching, PASS);
    one(&[request("a", 2, ""), request("b", 1, big)].join(", "), matching, FINAL);
    one(&request("r", 1, ""), "{requests: []}", ERROR);
}

#[test]
fn devices_of_one_request_are_distinct_too_since_1_37() {
    let distinct = "{requests: [], distinctAttribute: card.example.com/numa}";
    let devices = [device("d0", 0, "small"), device("d1", 1, "small"), device("d2", 0, "small")];
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let objects = |count: i64| {
        let claim = claim("c", &request("r", count, ""), distinct, "");
        vec![node("n1", "", ""), CLASS.to_owned(), slice("n1", &devices), claim]
    };
    // Up to 1.36 the third device is compared with the second alone.
    for (minor, count, expected) in [(37, 2, PASS), (37, 3, FINAL), (36, 2, PASS), (36, 3, PASS)] {
        let snapshot = cluster_of(minor, &objects(count), &wants("p", &["c"], ""));
        let says = says_for(&State::live(&snapshot), candidate(&snapshot), "n1");
        assert_eq!(says, expected, "{count} devices in 1.{minor}");
    }
    // What was given back is forgotten: the first device for `a` leaves none for `b`.
    let zero = r#", selectors: [{cel: {expression: 'device.attributes["card.example.com"].numa == 0'}}]"#;
    one(&[request("a", 1, ""), request("b", 1, zero)].join(", "), distinct, PASS);
}

#[test]
fn taints_of_devices_keep_claims_away_unless_tolerated() {
    let tainted = |effect: &str| {
        device_with("d0", 0, "small", &format!(", taints: [{{key: sick, value: very, effect: {effect}}}]"))
    };
    let objects = |effect: &str, more: &str| {
        vec![
            node("n1", "", ""),
            CLASS.to_owned(),
            slice("n1", &[&tainted(effect)]),
            claim("c", &request("r", 1, more), "", ""),
        ]
    };
    let p = wants("p", &["c"], "");
    for (effect, tolerations, expected) in [
        ("NoSchedule", "", FINAL),
        ("NoExecute", "", FINAL),
        ("None", "", PASS),
        ("NoSchedule", ", tolerations: [{key: sick, operator: Exists}]", PASS),
        ("NoSchedule", ", tolerations: [{operator: Exists}]", PASS),
        (
            "NoSchedule",
            ", tolerations: [{key: sick, operator: Equal, value: very, effect: NoSchedule}]",
            PASS,
        ),
        ("NoSchedule", ", tolerations: [{key: sick, operator: Equal, value: bit}]", FINAL),
        ("NoSchedule", ", tolerations: [{key: sick, operator: Exists, effect: NoExecute}]", FINAL),
    ] {
        assert_eq!(says(&objects(effect, tolerations), &p, "n1"), expected, "{effect} {tolerations}");
    }
    let rule = |selector: &str| {
        format!(
            "{{apiVersion: resource.k8s.io/v1beta2, kind: DeviceTaintRule, metadata: {{name: r}}, \
         spec: {{deviceSelector: {{{selector}}}, taint: {{key: k, effect: NoSchedule}}}}}}"
        )
    };
    for (selector, expected) in [
        ("driver: card.example.com", FINAL),
        ("driver: card.example.com, pool: n1, device: d0", FINAL),
        ("pool: n2", PASS),
        ("deviceClassName: card", UNKNOWN),
    ] {
        let objects = with(objects("None", ""), [rule(selector)]);
        assert_eq!(says(&objects, &p, "n1"), expected, "{selector}");
    }
}

#[test]
fn only_the_newest_complete_generation_of_a_pool_gives_devices() {
    let one_device = device("d0", 0, "small");
    let base = |slices: Vec<String>, request: String| {
        with(
            vec![node("n1", "", ""), node("n2", "", ""), CLASS.to_owned(), claim("c", &request, "", "")],
            slices,
        )
    };
    let here = |name: &str, generation, count| {
        slice_with(name, "nodeName: n1", "pool", generation, count, &[&one_device])
    };
    let there = |name: &str, generation, count| {
        slice_with(name, "nodeName: n2", "pool", generation, count, &[&device("d1", 0, "small")])
    };
    let p = wants("p", &["c"], "");
    let all = || "{name: r, exactly: {deviceClassName: card, allocationMode: All}}".to_owned();
    for (slices, counted, every) in [
        (vec![here("a", 1, 1)], PASS, PASS),
        (vec![here("a", 1, 2)], FINAL, ERROR),
        (vec![here("a", 1, 2), there("b", 1, 2)], PASS, PASS),
        (vec![here("a", 1, 1), there("b", 2, 1)], PASS, PASS),
        (vec![here("a", 1, 2), there("b", 2, 2)], FINAL, FINAL),
        (vec![here("a", 1, 1), here("b", 2, 2)], FINAL, ERROR),
        (vec![here("a", 1, 2), here("b", 1, 2)], FINAL, ERROR),
    ] {
        let listed = slices.join("\n");
        assert_eq!(says(&base(slices.clone(), request("r", 1, "")), &p, "n1"), counted, "{listed}");
        assert_eq!(says(&base(slices, all()), &p, "n1"), every, "{listed}");
    }
}

#[test]
fn devices_reach_one_node_all_nodes_selected_nodes_or_say_it_themselves() {
    let nodes = || {
        vec![
            node("n1", "zone: a", ""),
            node("n2", "zone: b", ""),
            CLASS.to_owned(),
            claim("c", &request("r", 1, ""), "", ""),
        ]
    };
    let selector =
        "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}";
    let own = device_with("d0", 0, "small", &format!(", {selector}"));
    let plain = device("d0", 0, "small");
    for (reach, device, expected) in [
        ("nodeName: n1", &plain, [PASS, FINAL]),
        ("allNodes: true", &plain, [PASS, PASS]),
        (selector, &plain, [PASS, FINAL]),
        ("perDeviceNodeSelection: true", &own, [PASS, FINAL]),
        ("perDeviceNodeSelection: true", &plain, [FINAL, FINAL]),
    ] {
        let objects = with(nodes(), [slice_with("s", reach, "pool", 1, 1, &[device])]);
        let p = wants("p", &["c"], "");
        assert_eq!(["n1", "n2"].map(|n| says(&objects, &p, n)), expected, "{reach}");
    }
}

#[test]
fn what_is_not_modelled_is_unknown_only_where_it_decides() {
    let shared = device_with("d0", 0, "small", ", allowMultipleAllocations: true");
    let partition = device_with("d0", 0, "small", ", consumesCounters: [{counterSet: s, counters: {}}]");
    let plain = device("d1", 0, "small");
    let p = wants("p", &["c"], "");
    for (devices, requests, expected) in [
        (vec![&*shared], request("r", 1, ""), UNKNOWN),
        (vec![&*partition], request("r", 1, ""), UNKNOWN),
        (vec![&*plain, &*shared], request("r", 1, ""), PASS),
        (vec![&*plain, &*shared], request("r", 2, ""), UNKNOWN),
        (vec![&*plain], request("r", 1, ", capacity: {requests: {memory: 1Gi}}"), UNKNOWN),
        (
            vec![&*shared],
            request("r", 1, ", selectors: [{cel: {expression: '!device.allowMultipleAllocations'}}]"),
            FINAL,
        ),
    ] {
        let objects =
            vec![node("n1", "", ""), CLASS.to_owned(), slice("n1", &devices), claim("c", &requests, "", "")];
        assert_eq!(says(&objects, &p, "n1"), expected, "{requests}");
    }
}

#[test]
fn admin_access_ignores_what_is_in_use_and_uses_up_nothing() {
    let held = claim("held", &request("r", 4, ""), "", &allocated("n1", &["d0", "d1", "d2", "d3"], &["x"]));
    let objects = |more: &str| with(four(), [held.clone(), claim("c", &request("r", 4, more), "", "")]);
    assert_eq!(says(&objects(""), &wants("p", &["c"], ""), "n1"), FINAL);
    assert_eq!(says(&objects(", adminAccess: true"), &wants("p", &["c"], ""), "n1"), PASS);
    let watched = allocated("n1", &["d0"], &["x"]).replace("device: d0", "device: d0, adminAccess: true");
    let objects = with(
        four(),
        [claim("w", &request("r", 1, ""), "", &watched), claim("c", &request("r", 4, ""), "", "")],
    );
    assert_eq!(says(&objects, &wants("p", &["c"], ""), "n1"), PASS);
}

#[test]
fn claims_that_are_missing_foreign_or_deleted_refuse_every_node() {
    let p = wants("p", &["c"], "");
    assert_eq!(says(&four(), &p, "n1"), FINAL);
    let deleted = claim("c", &request("r", 1, ""), "", "")
        .replace("name: c}", "name: c, deletionTimestamp: \"2026-01-01T00:00:00Z\"}");
    assert_eq!(says(&with(four(), [deleted]), &p, "n1"), FINAL);
    let unknown_class = claim("c", "{name: r, exactly: {deviceClassName: none, count: 1}}", "", "");
    assert_eq!(says(&with(four(), [unknown_class]), &p, "n1"), FINAL);
    let template = |status: &str| {
        let text = pod("p", "", "resourceClaims: [{name: dev, resourceClaimTemplateName: t}]");
        format!("{}, status: {{{status}}}}}", &text[..text.len() - 1])
    };
    let owned = |owner: &str| {
        claim("p-dev-x", &request("r", 1, ""), "", "").replace(
        "name: p-dev-x}",
        &format!("name: p-dev-x, ownerReferences: [{{kind: Pod, name: {owner}, uid: \"\", controller: true}}]}}"),
    )
    };
    let made = "resourceClaimStatuses: [{name: dev, resourceClaimName: p-dev-x}]";
    let objects = |owner| with(four(), [owned(owner)]);
    assert_eq!(says(&objects("p"), &template(""), "n1"), FINAL, "not made yet");
    assert_eq!(says(&objects("p"), &template(made), "n1"), PASS);
    assert_eq!(says(&objects("q"), &template(made), "n1"), FINAL, "made for another pod");
    assert_eq!(says(&four(), &template("resourceClaimStatuses: [{name: dev}]"), "n1"), PASS, "none needed");
}

#[test]
fn older_versions_of_the_api_are_read() {
    let slice = "{apiVersion: resource.k8s.io/v1beta1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: card.example.com, \
                 pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeName: n1, \
                 devices: [{name: d0, basic: {attributes: {model: {string: big}}, capacity: {memory: {value: 1Gi}}}}]}}";
    let selector = r#"[{cel: {expression: 'device.attributes["card.example.com"].model == "big"'}}]"#;
    let claim = format!(
        "{{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, metadata: {{namespace: default, name: c}}, spec: \
         {{devices: {{requests: [{{name: r, deviceClassName: card, selectors: {selector}, allocationMode: ExactCount, count: 1}}]}}}}}}"
    );
    let objects = vec![node("n1", "", ""), CLASS.to_owned(), slice.to_owned(), claim];
    assert_eq!(says(&objects, &wants("p", &["c"], ""), "n1"), PASS);
}
