use serde_json::json;

use super::*;

fn faults(spec: serde_json::Value) -> String {
    let spec: RepackRunSpec = serde_json::from_value(spec).unwrap();
    match spec.validate() {
        Ok(()) => "ok".to_owned(),
        Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn the_smallest_spec_is_valid() {
    assert_eq!(faults(json!({"mode": "DryRun"})), "ok");
}

#[test]
fn numbers_outside_their_range_are_named_with_their_field() {
    insta::assert_snapshot!(
        faults(json!({
            "mode": "Execute",
            "goals": [{"resource": "huawei.com/ascend-1980", "minFragImprovementPercent": 101}],
            "maxPerRun": {"podGroups": -1, "resources": {"huawei.com/ascend-1980": -4, "cpu": 3}},
            "eviction": {"gracePeriodSeconds": -1},
            "ttlSecondsAfterFinished": -5,
            "planner": {"effort": 0, "maxFreedNodes": 0, "minBenefit": -1, "weights": {"movedPods": -1}},
            "execution": {"timeoutSeconds": 0, "maxConcurrentEvictions": 0, "expectedPlanID": ""},
            "managedBy": "",
        })),
        @r#"
    spec.goals[0].minFragImprovementPercent must be 0 to 100, not 101
    spec.maxPerRun.podGroups must be at least 0, not -1
    spec.maxPerRun.resources[cpu] must be an extended resource such as "huawei.com/ascend-1980", not "cpu"
    spec.maxPerRun.resources[huawei.com/ascend-1980] must be at least 0, not -4
    spec.eviction.gracePeriodSeconds must be at least 0, not -1
    spec.ttlSecondsAfterFinished must be at least 0, not -5
    spec.planner.effort must be at least 1, not 0
    spec.planner.maxFreedNodes must be at least 1, not 0
    spec.planner.minBenefit must be at least 0, not -1
    spec.planner.weights.movedPods must be 0 to 1000000, not -1
    spec.execution.timeoutSeconds must be at least 1, not 0
    spec.execution.maxConcurrentEvictions must be at least 1, not 0
    spec.execution.expectedPlanID must not be empty; leave it out instead
    spec.managedBy must not be empty; leave it out instead
    "#
    );
}

#[test]
fn a_budget_of_zero_is_a_budget() {
    assert_eq!(
        faults(json!({"mode": "DryRun", "maxPerRun": {"podGroups": 0, "resources": {"a/b": 0}}})),
        "ok"
    );
}

#[test]
fn two_goals_and_a_plain_resource_are_refused() {
    insta::assert_snapshot!(
        faults(json!({"mode": "DryRun", "goals": [{"resource": "npu"}, {"resource": "/npu"}]})),
        @r#"
    spec.goals has 2 entries, but a run works on one resource
    spec.goals[0].resource must be an extended resource such as "huawei.com/ascend-1980", not "npu"
    spec.goals[1].resource is not a resource name: "/npu"
    "#
    );
}

#[test]
fn names_in_the_scope_have_their_own_form_for_groups_and_nodes() {
    let long = format!("team-a/{}", "x".repeat(80));
    assert_eq!(
        faults(
            json!({"mode": "DryRun", "scope": {"podGroups": {"include": {"names": ["team-a/train", long]}}}})
        ),
        "ok"
    );
    insta::assert_snapshot!(
        faults(json!({"mode": "DryRun", "scope": {
            "podGroups": {"include": {"names": ["train", "a/b/c", "A/b"]}},
            "nodes": {"exclude": {"names": ["npu-01", "team-a/npu"]}},
        }})),
        @r#"
    spec.scope.podGroups.include.names[0] must be namespace/name, not "train"
    spec.scope.podGroups.include.names[1] must be namespace/name, not "a/b/c"
    spec.scope.podGroups.include.names[2] must be namespace/name, not "A/b"
    spec.scope.nodes.exclude.names[1] must be a node name, not "team-a/npu"
    "#
    );
}

#[test]
fn the_1025th_name_is_too_many() {
    let names = |n: usize| (0..n).map(|i| format!("n-{i}")).collect::<Vec<_>>();
    let spec = |n| json!({"mode": "DryRun", "scope": {"nodes": {"include": {"names": names(n)}}}});
    assert_eq!(faults(spec(1024)), "ok");
    insta::assert_snapshot!(faults(spec(1025)), @"spec.scope.nodes.include.names has 1025 names, but at most 1024 are allowed");
}

#[test]
fn selectors_follow_the_rules_of_kubernetes() {
    insta::assert_snapshot!(
        faults(json!({"mode": "DryRun", "scope": {"nodes": {"include": {"selector": {
            "matchLabels": {"a b": "c", "pool": "-x"},
            "matchExpressions": [
                {"key": "tier", "operator": "In"},
                {"key": "tier", "operator": "Exists", "values": ["a"]},
            ],
        }}}}})),
        @r#"
    spec.scope.nodes.include.selector.matchLabels[a b] has a key that is not a label key
    spec.scope.nodes.include.selector.matchLabels[pool] has a value that is not a label value: "-x"
    spec.scope.nodes.include.selector.matchExpressions[0].values must not be empty with operator In
    spec.scope.nodes.include.selector.matchExpressions[1].values must be empty with operator Exists
    "#
    );
}

#[test]
fn a_topology_has_exactly_one_spelling_of_its_tier() {
    let topology = |value| faults(json!({"mode": "DryRun", "networkTopology": value}));
    assert_eq!(topology(json!({"hyperNodeTier": 1})), "ok");
    insta::assert_snapshot!(
        topology(json!({"nodeBlockSize": 0, "requiredNodeBlocks": -1})),
        @"
    spec.networkTopology must have hyperNodeTier or hyperNodeTierName
    spec.networkTopology.nodeBlockSize must be at least 1, not 0
    spec.networkTopology.requiredNodeBlocks must be at least 0, not -1
    "
    );
    insta::assert_snapshot!(
        topology(json!({"hyperNodeTier": 1, "hyperNodeTierName": "rack"})),
        @"spec.networkTopology must have hyperNodeTier or hyperNodeTierName, not both"
    );
}
