//! The table: specs that are valid, and specs that are refused with what each side says.
//!
//! A refusal names the field. The program and the API server refuse the same.

use serde_json::{Map, Value, json};

/// A spec that is refused.
pub struct Row {
    /// What is wrong, in words.
    pub name: &'static str,
    /// The spec.
    pub spec: Value,
    /// The field that the refusals name.
    pub field: String,
    /// Part of the program's sentence.
    pub ours: &'static str,
    /// Part of the API server's.
    pub server: &'static str,
}

const NPU: &str = "huawei.com/ascend-1980";

/// A spec with more fields than the mode.
fn dry(fields: &Value) -> Value {
    let mut spec = json!({"mode": "DryRun"});
    for (name, value) in fields.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec
}

fn groups(include: &Value) -> Value {
    dry(&json!({"scope": {"podGroups": {"include": include}}}))
}

fn nodes(exclude: &Value) -> Value {
    dry(&json!({"scope": {"nodes": {"exclude": exclude}}}))
}

fn selector(selector: &Value) -> Value {
    nodes(&json!({"selector": selector}))
}

fn budget(resources: &Value) -> Value {
    dry(&json!({"maxPerRun": {"resources": resources}}))
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("npu-{i}")).collect()
}

fn map(count: usize, key: impl Fn(usize) -> String, value: &Value) -> Value {
    Value::Object((0..count).map(|i| (key(i), value.clone())).collect::<Map<_, _>>())
}

/// Specs that both sides take.
pub fn valid() -> Vec<(&'static str, Value)> {
    let label = "x".repeat(63);
    let long = "n".repeat(253);
    let longest_group = format!("{label}/{long}");
    let longest_key = format!("{long}/{label}");
    let exists = json!({"key": "tier", "operator": "Exists"});
    vec![
        ("the smallest spec", json!({"mode": "DryRun"})),
        ("the first one of the guides", dry(&json!({"goals": [{"resource": NPU}]}))),
        ("no goal", dry(&json!({"goals": []}))),
        (
            "the largest improvement",
            dry(&json!({"goals": [{"resource": NPU, "minFragImprovementPercent": 100}]})),
        ),
        ("an empty scope", dry(&json!({"scope": {}}))),
        (
            "empty sides of a scope",
            dry(&json!({"scope": {"podGroups": {"include": {}, "exclude": {}}, "nodes": {}}})),
        ),
        ("the selector of everything", dry(&json!({"scope": {"podGroups": {"exclude": {"selector": {}}}}}))),
        ("1024 names", nodes(&json!({"names": names(1024)}))),
        (
            "the longest names",
            dry(&json!({"scope": {
            "podGroups": {"include": {"names": [longest_group]}}, "nodes": {"include": {"names": [long]}}}})),
        ),
        ("labels at their longest", selector(&json!({"matchLabels": {longest_key: label, "empty": ""}}))),
        (
            "64 labels",
            selector(&json!({"matchLabels": map(64, |i| format!("example.com/label-{i}"), &json!("x"))})),
        ),
        ("64 requirements", selector(&json!({"matchExpressions": vec![exists; 64]}))),
        (
            "every operator",
            selector(&json!({"matchExpressions": [
                {"key": "a", "operator": "In", "values": ["x", ""]},
                {"key": "example.com/b", "operator": "NotIn", "values": names(256)},
                {"key": "c", "operator": "Exists"},
                {"key": "d", "operator": "DoesNotExist", "values": []},
            ]})),
        ),
        ("a budget of nothing", dry(&json!({"maxPerRun": {"podGroups": 0, "resources": {NPU: 0}}}))),
        ("amounts as text", budget(&json!({NPU: "8", "nvidia.com/gpu": 16}))),
        ("64 resources", budget(&map(64, |i| format!("example.com/npu-{i}"), &json!(1)))),
        (
            "no grace and no time to live",
            dry(&json!({"eviction": {"gracePeriodSeconds": 0}, "ttlSecondsAfterFinished": 0})),
        ),
        ("a tier by number", dry(&json!({"networkTopology": {"hyperNodeTier": 1}}))),
        (
            "a tier by name",
            dry(&json!({"networkTopology": {
            "hyperNodeTierName": "rack", "nodeBlockSize": 4, "requiredNodeBlocks": 2, "mode": "spread"}})),
        ),
        ("an empty planner and execution", dry(&json!({"planner": {}, "execution": {}}))),
        (
            "every field of the planner",
            dry(&json!({"planner": {
                "algorithm": "Drain", "effort": 1, "maxFreedNodes": 1, "minBenefit": 0,
                "weights": {"affectedPodGroups": 0, "gangBreaches": 1_000_000, "damagedCards": 6, "movedCards": 3, "movedPods": 1},
            }})),
        ),
        (
            "every field of the execution",
            json!({"mode": "Execute", "execution": {
                "timeoutSeconds": 1, "maxConcurrentEvictions": 8, "onBlockedPDB": "Wait", "requireReady": true,
                "requireGate": false, "expectedPlanID": "0f".repeat(32),
            }}),
        ),
        ("a run of another manager", dry(&json!({"managedBy": "example.com/other"}))),
        (
            "nulls, which count as absent",
            dry(&json!({
                "scope": null, "goals": null, "maxPerRun": {"podGroups": null, "resources": null}, "planner": {"effort": null},
                "execution": {"requireGate": null}, "managedBy": null,
            })),
        ),
    ]
}

/// Specs that are refused.
pub fn refused() -> Vec<Row> {
    let row =
        |name, spec, field: &str, (ours, server)| Row { name, spec, field: field.to_owned(), ours, server };
    let goal = |resource: &str| dry(&json!({"goals": [{"resource": resource}]}));
    let percent =
        |percent: Value| dry(&json!({"goals": [{"resource": NPU, "minFragImprovementPercent": percent}]}));
    let planner = |fields: Value| dry(&json!({"planner": fields}));
    let execution = |fields: Value| dry(&json!({"execution": fields}));
    let topology = |fields: Value| dry(&json!({"networkTopology": fields}));
    let requirement = |fields: Value| selector(&json!({"matchExpressions": [fields]}));
    let too_long = format!("{}/npu", "n".repeat(254));
    let exists = json!({"key": "tier", "operator": "Exists"});
    let at_least_one = ("must be at least 1, not 0", "should be greater than or equal to 1");
    let not_negative = ("must be at least 0, not -1", "should be greater than or equal to 0");
    let unknown = "unknown field";
    let extended = (
        "must be an extended resource such as \"huawei.com/ascend-1980\"",
        "must be an extended resource such as \"huawei.com/ascend-1980\"",
    );
    let no_resource =
        ("is not a resource name", "must be an extended resource such as \"huawei.com/ascend-1980\"");
    let no_group = ("must be namespace/name", "each name must be namespace/name");
    let no_node = ("must be a node name", "each name must be a node name");
    let no_key = ("has a key that is not a label key", "each key must be a label key");
    let mut rows = vec![
        row(
            "no mode",
            json!({"goals": [{"resource": NPU}]}),
            "spec.mode",
            ("is missing; it must be DryRun or Execute", "Required value"),
        ),
        row(
            "a mode in another spelling",
            json!({"mode": "dryRun"}),
            "spec.mode",
            ("must be DryRun or Execute, not \"dryRun\"", "supported values: \"DryRun\", \"Execute\""),
        ),
        row(
            "a misspelt limit",
            dry(&json!({"maxperrun": {"podGroups": 1}})),
            "spec",
            ("has no field \"maxperrun\"", unknown),
        ),
        row(
            "a misspelt field further in",
            dry(&json!({"scope": {"podgroups": {}}})),
            "spec.scope",
            ("has no field \"podgroups\"", unknown),
        ),
        row(
            "text for a number",
            dry(&json!({"maxPerRun": {"podGroups": "two"}})),
            "spec.maxPerRun.podGroups",
            ("must be a whole number, not \"two\"", "must be of type integer"),
        ),
        row(
            "a number for a flag",
            execution(json!({"requireGate": 1})),
            "spec.execution.requireGate",
            ("must be true or false, not 1", "must be of type boolean"),
        ),
        row(
            "a mapping for a list",
            dry(&json!({"goals": {"resource": NPU}})),
            "spec.goals",
            ("must be a list, not a mapping", "unknown field"),
        ),
        row(
            "two goals",
            dry(&json!({"goals": [{"resource": NPU}, {"resource": "nvidia.com/gpu"}]})),
            "spec.goals",
            ("has 2 entries, but a run works on one resource", "Too many: 2: must have at most 1 item"),
        ),
        row(
            "a goal without a resource",
            dry(&json!({"goals": [{"minFragImprovementPercent": 5}]})),
            "spec.goals[0].resource",
            ("is missing", "Required value"),
        ),
        row("a resource without a slash", goal("npu"), "spec.goals[0].resource", extended),
        row("a resource without a domain", goal("/npu"), "spec.goals[0].resource", no_resource),
        row("a resource without a name", goal("huawei.com/"), "spec.goals[0].resource", no_resource),
        row(
            "a resource of a domain that is too long",
            goal(&too_long),
            "spec.goals[0].resource",
            no_resource,
        ),
        row(
            "an improvement of more than everything",
            percent(json!(101)),
            "spec.goals[0].minFragImprovementPercent",
            ("must be 0 to 100, not 101", "should be less than or equal to 100"),
        ),
        row(
            "a negative improvement",
            percent(json!(-1)),
            "spec.goals[0].minFragImprovementPercent",
            ("must be 0 to 100, not -1", "should be greater than or equal to 0"),
        ),
        row(
            "half a percent",
            percent(json!(0.5)),
            "spec.goals[0].minFragImprovementPercent",
            ("must be a whole number, not 0.5", "must be of type integer"),
        ),
        row(
            "a negative number of PodGroups",
            dry(&json!({"maxPerRun": {"podGroups": -1}})),
            "spec.maxPerRun.podGroups",
            not_negative,
        ),
        row(
            "a budget of cpu",
            budget(&json!({"cpu": 3})),
            "spec.maxPerRun.resources",
            ("must be an extended resource", "each key must be an extended resource"),
        ),
        row(
            "a negative budget",
            budget(&json!({NPU: -4})),
            "spec.maxPerRun.resources",
            ("must be at least 0, not -4", "should be greater than or equal to 0"),
        ),
        row(
            "a negative budget as text",
            budget(&json!({NPU: "-4"})),
            "spec.maxPerRun.resources",
            ("must be a whole number, not \"-4\"", "should match '^[0-9]{1,18}$'"),
        ),
        row(
            "an amount with a suffix",
            budget(&json!({NPU: "8k"})),
            "spec.maxPerRun.resources",
            ("must be a whole number, not \"8k\"", "should match '^[0-9]{1,18}$'"),
        ),
        row(
            "half a card",
            budget(&json!({NPU: 0.5})),
            "spec.maxPerRun.resources",
            ("must be a whole number, not 0.5", "must be of type integer,string"),
        ),
        row(
            "65 resources",
            budget(&map(65, |i| format!("example.com/npu-{i}"), &json!(1))),
            "spec.maxPerRun.resources",
            ("has 65 resources, but at most 64 are allowed", "must have at most 64 items"),
        ),
        row(
            "a PodGroup without its namespace",
            groups(&json!({"names": ["train"]})),
            "spec.scope.podGroups.include.names",
            no_group,
        ),
        row(
            "a PodGroup with two slashes",
            groups(&json!({"names": ["a/b", "a/b/c"]})),
            "spec.scope.podGroups.include.names",
            no_group,
        ),
        row(
            "a PodGroup in capitals",
            groups(&json!({"names": ["A/b"]})),
            "spec.scope.podGroups.include.names",
            no_group,
        ),
        row(
            "a namespace with a dot",
            groups(&json!({"names": ["a.b/c"]})),
            "spec.scope.podGroups.include.names",
            no_group,
        ),
        row(
            "a PodGroup of a name that is too long",
            groups(&json!({"names": [format!("a/{}", "b".repeat(254))]})),
            "spec.scope.podGroups.include.names",
            no_group,
        ),
        row(
            "an excluded PodGroup without its namespace",
            dry(&json!({"scope": {"podGroups": {"exclude": {"names": ["x"]}}}})),
            "spec.scope.podGroups.exclude.names",
            no_group,
        ),
        row(
            "a node with a namespace",
            nodes(&json!({"names": ["npu-01", "team-a/npu"]})),
            "spec.scope.nodes.exclude.names",
            no_node,
        ),
        row(
            "a node without a name",
            nodes(&json!({"names": [""]})),
            "spec.scope.nodes.exclude.names",
            no_node,
        ),
        row(
            "a node of a name that is too long",
            nodes(&json!({"names": ["n".repeat(254)]})),
            "spec.scope.nodes.exclude.names",
            no_node,
        ),
        row(
            "an included node in capitals",
            dry(&json!({"scope": {"nodes": {"include": {"names": ["NPU"]}}}})),
            "spec.scope.nodes.include.names",
            no_node,
        ),
        row(
            "1025 names",
            nodes(&json!({"names": names(1025)})),
            "spec.scope.nodes.exclude.names",
            ("has 1025 names, but at most 1024 are allowed", "must have at most 1024 items"),
        ),
        row(
            "a label key with a blank",
            selector(&json!({"matchLabels": {"a b": "c"}})),
            "spec.scope.nodes.exclude.selector.matchLabels",
            no_key,
        ),
        row(
            "a label key of a domain that is too long",
            selector(&json!({"matchLabels": {&*too_long: "c"}})),
            "spec.scope.nodes.exclude.selector.matchLabels",
            no_key,
        ),
        row(
            "a label value that begins with a dash",
            selector(&json!({"matchLabels": {"pool": "-x"}})),
            "spec.scope.nodes.exclude.selector.matchLabels",
            ("has a value that is not a label value", "each value must be a label value"),
        ),
        row(
            "a label value of 64 letters",
            selector(&json!({"matchLabels": {"pool": "x".repeat(64)}})),
            "spec.scope.nodes.exclude.selector.matchLabels",
            ("has a value that is not a label value", "may not be more than 63"),
        ),
        row(
            "65 labels",
            selector(&json!({"matchLabels": map(65, |i| format!("l-{i}"), &json!("x"))})),
            "spec.scope.nodes.exclude.selector.matchLabels",
            ("has 65 labels, but at most 64 are allowed", "must have at most 64 items"),
        ),
        row(
            "65 requirements",
            selector(&json!({"matchExpressions": vec![exists; 65]})),
            "spec.scope.nodes.exclude.selector.matchExpressions",
            ("has 65 requirements, but at most 64 are allowed", "must have at most 64 items"),
        ),
        row(
            "an unknown operator",
            requirement(json!({"key": "tier", "operator": "Gt", "values": ["1"]})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].operator",
            ("must be In or NotIn or Exists or DoesNotExist, not \"Gt\"", "supported values"),
        ),
        row(
            "a requirement without a key",
            requirement(json!({"operator": "Exists"})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].key",
            ("is missing", "Required value"),
        ),
        row(
            "a requirement of a faulty key",
            requirement(json!({"key": "a b", "operator": "Exists"})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].key",
            ("is not a label key", "must be a label key"),
        ),
        row(
            "a list of no values",
            requirement(json!({"key": "tier", "operator": "In", "values": []})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].values",
            ("must not be empty with operator In", "must not be empty with operator In or NotIn"),
        ),
        row(
            "no list of values",
            requirement(json!({"key": "tier", "operator": "NotIn"})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].values",
            ("must not be empty with operator NotIn", "must not be empty with operator In or NotIn"),
        ),
        row(
            "values that nothing reads",
            requirement(json!({"key": "tier", "operator": "Exists", "values": ["a"]})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].values",
            ("must be empty with operator Exists", "must be empty with operator Exists or DoesNotExist"),
        ),
        row(
            "a faulty value",
            requirement(json!({"key": "tier", "operator": "In", "values": ["a", "b c"]})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].values",
            ("has a value that is not a label value", "each value must be a label value"),
        ),
        row(
            "257 values",
            requirement(json!({"key": "tier", "operator": "In", "values": names(257)})),
            "spec.scope.nodes.exclude.selector.matchExpressions[0].values",
            ("has 257 values, but at most 256 are allowed", "must have at most 256 items"),
        ),
        row(
            "a topology without its tier",
            topology(json!({"nodeBlockSize": 2})),
            "spec.networkTopology",
            (
                "must have hyperNodeTier or hyperNodeTierName",
                "must have exactly one of hyperNodeTier and hyperNodeTierName",
            ),
        ),
        row(
            "a topology with two tiers",
            topology(json!({"hyperNodeTier": 1, "hyperNodeTierName": "rack"})),
            "spec.networkTopology",
            (
                "must have hyperNodeTier or hyperNodeTierName, not both",
                "must have exactly one of hyperNodeTier and hyperNodeTierName",
            ),
        ),
        row(
            "tier 0",
            topology(json!({"hyperNodeTier": 0})),
            "spec.networkTopology.hyperNodeTier",
            at_least_one,
        ),
        row(
            "a tier without a name",
            topology(json!({"hyperNodeTierName": ""})),
            "spec.networkTopology.hyperNodeTierName",
            ("must not be empty", "should be at least 1 chars long"),
        ),
        row(
            "blocks of no nodes",
            topology(json!({"hyperNodeTier": 1, "nodeBlockSize": 0})),
            "spec.networkTopology.nodeBlockSize",
            at_least_one,
        ),
        row(
            "fewer than no blocks",
            topology(json!({"hyperNodeTier": 1, "requiredNodeBlocks": -1})),
            "spec.networkTopology.requiredNodeBlocks",
            not_negative,
        ),
        row(
            "an unknown mode of topology",
            topology(json!({"hyperNodeTier": 1, "mode": "Binpack"})),
            "spec.networkTopology.mode",
            ("must be binpack or spread, not \"Binpack\"", "supported values: \"binpack\", \"spread\""),
        ),
        row(
            "a negative grace period",
            dry(&json!({"eviction": {"gracePeriodSeconds": -1}})),
            "spec.eviction.gracePeriodSeconds",
            not_negative,
        ),
        row(
            "a negative time to live",
            dry(&json!({"ttlSecondsAfterFinished": -1})),
            "spec.ttlSecondsAfterFinished",
            not_negative,
        ),
        row(
            "an unknown algorithm",
            planner(json!({"algorithm": "Optimal"})),
            "spec.planner.algorithm",
            ("must be Search or Drain, not \"Optimal\"", "supported values: \"Search\", \"Drain\""),
        ),
        row("no effort", planner(json!({"effort": 0})), "spec.planner.effort", at_least_one),
        row(
            "a limit of no nodes",
            planner(json!({"maxFreedNodes": 0})),
            "spec.planner.maxFreedNodes",
            at_least_one,
        ),
        row(
            "a negative benefit",
            planner(json!({"minBenefit": -1})),
            "spec.planner.minBenefit",
            not_negative,
        ),
        row(
            "no seconds",
            execution(json!({"timeoutSeconds": 0})),
            "spec.execution.timeoutSeconds",
            at_least_one,
        ),
        row(
            "no evictions at a time",
            execution(json!({"maxConcurrentEvictions": 0})),
            "spec.execution.maxConcurrentEvictions",
            at_least_one,
        ),
        row(
            "an unknown answer to a budget",
            execution(json!({"onBlockedPDB": "wait"})),
            "spec.execution.onBlockedPDB",
            ("must be Fail or Wait, not \"wait\"", "supported values: \"Fail\", \"Wait\""),
        ),
        row(
            "an empty plan id",
            execution(json!({"expectedPlanID": ""})),
            "spec.execution.expectedPlanID",
            ("must not be empty; leave it out instead", "should be at least 1 chars long"),
        ),
        row(
            "a plan id of 129 letters",
            execution(json!({"expectedPlanID": "a".repeat(129)})),
            "spec.execution.expectedPlanID",
            ("has 129 letters, but at most 128 are allowed", "may not be more than 128"),
        ),
        row(
            "an empty manager",
            dry(&json!({"managedBy": ""})),
            "spec.managedBy",
            ("must not be empty; leave it out instead", "should be at least 1 chars long"),
        ),
        row(
            "a manager of 64 letters",
            dry(&json!({"managedBy": "a".repeat(64)})),
            "spec.managedBy",
            ("has 64 letters, but at most 63 are allowed", "may not be more than 63"),
        ),
    ];
    for weight in ["affectedPodGroups", "gangBreaches", "damagedCards", "movedCards", "movedPods"] {
        rows.push(row(
            "a negative weight",
            planner(json!({"weights": {weight: -1}})),
            &format!("spec.planner.weights.{weight}"),
            ("must be 0 to 1000000, not -1", "should be greater than or equal to 0"),
        ));
        rows.push(row(
            "a weight that is too large",
            planner(json!({"weights": {weight: 1_000_001}})),
            &format!("spec.planner.weights.{weight}"),
            ("must be 0 to 1000000, not 1000001", "should be less than or equal to 1"),
        ));
    }
    rows
}
