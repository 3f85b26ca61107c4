use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::api::{
    Algorithm, Eviction, Execution, Goal, LabelSelector, MaxPerRun, Mode, NetworkTopology, ObjectMeta,
    ObjectSelection, OnBlockedPdb, Operator, Planner, RepackRunSpec, Requirement, Scope, ScopeRule,
    TopologyMode, Weights,
};

/// A run in which every field of the spec is written.
fn everything() -> RepackRun {
    let words = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let selection = |name: &str| {
        Some(ObjectSelection {
            selector: Some(LabelSelector {
                match_labels: words(&[("pool", "npu")]),
                match_expressions: vec![Requirement {
                    key: "tier".to_owned(),
                    operator: Operator::In,
                    values: vec!["a".to_owned()],
                }],
            }),
            names: vec![name.to_owned()],
        })
    };
    let rule = |name: &str| Some(ScopeRule { include: selection(name), exclude: selection(name) });
    let spec = RepackRunSpec {
        mode: Mode::Execute,
        scope: Some(Scope { pod_groups: rule("team-a/train"), nodes: rule("npu-01") }),
        goals: vec![Goal { resource: "huawei.com/Ascend910".to_owned(), min_frag_improvement_percent: 10 }],
        max_per_run: Some(MaxPerRun {
            pod_groups: Some(2),
            resources: BTreeMap::from([("huawei.com/Ascend910".to_owned(), 8)]),
        }),
        network_topology: Some(NetworkTopology {
            hyper_node_tier: Some(1),
            hyper_node_tier_name: Some("rack".to_owned()),
            node_block_size: 2,
            required_node_blocks: 1,
            mode: TopologyMode::Spread,
        }),
        eviction: Some(Eviction { grace_period_seconds: Some(30) }),
        ttl_seconds_after_finished: Some(60),
        planner: Some(Planner {
            algorithm: Some(Algorithm::Drain),
            effort: Some(1000),
            max_freed_nodes: Some(3),
            min_benefit: Some(1),
            weights: Some(Weights {
                affected_pod_groups: Some(10),
                gang_breaches: Some(8),
                damaged_cards: Some(6),
                moved_cards: Some(3),
                moved_pods: Some(1),
            }),
        }),
        execution: Some(Execution {
            timeout_seconds: Some(600),
            max_concurrent_evictions: Some(1),
            on_blocked_pdb: Some(OnBlockedPdb::Wait),
            require_ready: Some(true),
            require_gate: Some(true),
            expected_plan_id: Some("abc".to_owned()),
        }),
        managed_by: Some("kubectl-repack".to_owned()),
    };
    let mut run = RepackRun::new(spec);
    run.metadata = ObjectMeta {
        name: Some("complete".to_owned()),
        labels: words(&[("ticket", "1")]),
        annotations: words(&[("note", "x")]),
        uid: Some("u".to_owned()),
        generation: Some(1),
        creation_timestamp: Some("2026-01-01T00:00:00Z".to_owned()),
        generate_name: Some("complete-".to_owned()),
        resource_version: Some("7".to_owned()),
        deletion_timestamp: Some("2026-01-02T00:00:00Z".to_owned()),
    };
    run
}

/// Every path the table names; `[]` and `[*]` stand for list items and map values.
fn paths_of_table(shape: &Shape, path: &str, paths: &mut Vec<String>) {
    match shape {
        Shape::Object(fields) => {
            for field in *fields {
                paths_of_table(&field.shape, &join(path, field.name), paths);
            }
        }
        Shape::List(item) | Shape::Map(item) => paths_of_table(item, &format!("{path}[]"), paths),
        _ => paths.push(path.to_owned()),
    }
}

fn paths_of_value(value: &Value, path: &str, maps: &[&str], paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let place = if maps.contains(&path) { format!("{path}[]") } else { join(path, name) };
                paths_of_value(value, &place, maps, paths);
            }
        }
        Value::Array(items) => {
            for item in items {
                paths_of_value(item, &format!("{path}[]"), maps, paths);
            }
        }
        _ => paths.push(path.to_owned()),
    }
}

#[test]
fn the_table_of_fields_is_the_structs() {
    let mut table = Vec::new();
    paths_of_table(&RUN, "", &mut table);
    table.retain(|path| path.starts_with("spec."));
    let document = serde_json::to_value(everything()).unwrap();
    let mut structs = Vec::new();
    let selectors = ["podGroups.include", "podGroups.exclude", "nodes.include", "nodes.exclude"]
        .map(|side| format!("spec.scope.{side}.selector.matchLabels"));
    let mut maps: Vec<&str> = selectors.iter().map(String::as_str).collect();
    maps.push("spec.maxPerRun.resources");
    paths_of_value(&document["spec"], "spec", &maps, &mut structs);
    table.sort();
    structs.sort();
    assert_eq!(table, structs);
}

#[test]
fn a_run_that_uses_every_field_is_read_back_unchanged() {
    let mut run = everything();
    run.spec.network_topology.as_mut().unwrap().hyper_node_tier_name = None;
    assert_eq!(RepackRun::from_document(serde_json::to_value(&run).unwrap()).unwrap(), run);
}

#[test]
fn fields_are_written_in_the_order_of_the_contract() {
    let text = serde_json::to_string(&everything()).unwrap();
    let order = [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "mode",
        "goals",
        "maxPerRun",
        "networkTopology",
        "eviction",
    ];
    let places: Vec<usize> = order.iter().map(|name| text.find(&format!("\"{name}\"")).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

fn faults(document: Value) -> String {
    let faults = RepackRun::from_document(document).unwrap_err();
    faults
        .iter()
        .map(|fault| match &fault.hint {
            Some(hint) => format!("{fault}\n  hint: {hint}"),
            None => fault.to_string(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn with_spec(spec: &Value) -> Value {
    json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "spec": spec})
}

#[test]
fn a_misspelt_limit_is_never_read_as_no_limit() {
    insta::assert_snapshot!(
        faults(with_spec(&json!({"mode": "DryRun", "maxperrun": {"podGroups": 1}, "color": 1}))),
        @r#"
    spec has no field "color"
      hint: its fields are mode, scope, goals, maxPerRun, networkTopology, eviction, ttlSecondsAfterFinished, planner, execution, managedBy
    spec has no field "maxperrun"
      hint: did you mean maxPerRun?
    "#
    );
}

#[test]
fn wrong_types_and_missing_fields_are_told_all_at_once() {
    insta::assert_snapshot!(
        faults(with_spec(&json!({
            "goals": {"resource": "x/y"},
            "maxPerRun": {"podGroups": "two", "resources": {"huawei.com/Ascend910": 1.5}},
            "eviction": {"gracePeriodSeconds": 1e30},
            "execution": {"onBlockedPDB": "wait", "requireGate": "yes"},
        }))),
        @r#"
    spec.mode is missing; it must be DryRun or Execute
    spec.goals must be a list, not a mapping
    spec.maxPerRun.podGroups must be a whole number, not "two"
    spec.maxPerRun.resources[huawei.com/Ascend910] must be a whole number, not 1.5
    spec.eviction.gracePeriodSeconds must be a whole number, not 1e+30
    spec.execution.onBlockedPDB must be Fail or Wait, not "wait"
      hint: did you mean Wait?
    spec.execution.requireGate must be true or false, not "yes"
    "#
    );
}

#[test]
fn another_object_is_refused_by_its_kind() {
    insta::assert_snapshot!(
        faults(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"mode": "DryRun"}})),
        @r#"
    apiVersion must be repack.volcano.sh/v1alpha1, not "v1"
    kind must be RepackRun, not "Pod"
    "#
    );
    insta::assert_snapshot!(faults(json!([1])), @"the document must be a mapping, not a list");
}

#[test]
fn what_kubectl_get_printed_can_be_planned_again() {
    let run = RepackRun::from_document(json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
        "metadata": {"name": "x", "creationTimestamp": null, "managedFields": [{"manager": "kubectl"}], "resourceVersion": "7"},
        "spec": {"mode": "DryRun", "scope": null},
        "status": {"phase": "Succeeded", "fromNewerVersion": true},
    }))
    .unwrap();
    assert_eq!(run.metadata.name.as_deref(), Some("x"));
    assert_eq!((run.spec.scope, run.status), (None, None));
}
