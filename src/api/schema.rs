//! What an API server checks of a run beyond types and bounds: rules in CEL, each with the sentence of its refusal.
//!
//! The server puts the path of the field before the sentence. `validate` has the same rules for objects that never saw a
//! server; `tests/api_table.rs` holds the two together. Kubernetes 1.30 is the oldest server, so nothing newer than its
//! CEL library stands here.
//!
//! May import: api

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::limits::MAX_LABEL;

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    rule: &'static str,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_path: Option<&'static str>,
}

const fn rule(rule: &'static str, message: &'static str) -> Rule {
    Rule { rule, message, field_path: None }
}

const fn rule_of(field: &'static str, rule: &'static str, message: &'static str) -> Rule {
    Rule { rule, message, field_path: Some(field) }
}

/// A lower-case DNS label.
macro_rules! dns_label {
    () => {
        "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
    };
}

/// A DNS subdomain; its length is checked beside it.
macro_rules! dns_subdomain {
    () => {
        "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    };
}

/// The name of a label without its prefix, or its value.
macro_rules! label_text {
    () => {
        "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    };
}

/// An expression for "`$name` is an extended resource".
macro_rules! is_resource {
    ($name:literal) => {
        concat!(
            $name,
            ".matches('^",
            dns_subdomain!(),
            "/",
            label_text!(),
            "$') && ",
            $name,
            ".indexOf('/') <= 253"
        )
    };
}

/// An expression for "`$name` is a label key".
macro_rules! is_label_key {
    ($name:literal) => {
        concat!(
            $name,
            ".matches('^(",
            dns_subdomain!(),
            "/)?",
            label_text!(),
            "$') && ",
            $name,
            ".indexOf('/') <= 253"
        )
    };
}

/// An expression for "`$value` is a label value".
macro_rules! is_label_value {
    ($value:literal) => {
        concat!($value, ".matches('^(", label_text!(), ")?$')")
    };
}

/// A run is one request: its status would otherwise tell of another one.
pub const SPEC_IS_IMMUTABLE: Rule = rule("self == oldSelf", "spec is immutable; create another RepackRun");

/// Names of PodGroups, on either side of a scope.
pub const POD_GROUP_NAMES: [Rule; 2] = [
    rule_of(
        ".include.names",
        concat!(
            "!has(self.include) || !has(self.include.names) || self.include.names.all(n, n.matches('^",
            dns_label!(),
            "/",
            dns_subdomain!(),
            "$') && size(n) - n.indexOf('/') <= 254)"
        ),
        "each name must be namespace/name",
    ),
    rule_of(
        ".exclude.names",
        concat!(
            "!has(self.exclude) || !has(self.exclude.names) || self.exclude.names.all(n, n.matches('^",
            dns_label!(),
            "/",
            dns_subdomain!(),
            "$') && size(n) - n.indexOf('/') <= 254)"
        ),
        "each name must be namespace/name",
    ),
];

/// Names of nodes, on either side of a scope.
pub const NODE_NAMES: [Rule; 2] = [
    rule_of(
        ".include.names",
        concat!(
            "!has(self.include) || !has(self.include.names) || self.include.names.all(n, n.matches('^",
            dns_subdomain!(),
            "$') && size(n) <= 253)"
        ),
        "each name must be a node name",
    ),
    rule_of(
        ".exclude.names",
        concat!(
            "!has(self.exclude) || !has(self.exclude.names) || self.exclude.names.all(n, n.matches('^",
            dns_subdomain!(),
            "$') && size(n) <= 253)"
        ),
        "each name must be a node name",
    ),
];

/// The resource of a goal.
pub const RESOURCE: Rule =
    rule(is_resource!("self"), "must be an extended resource such as \"huawei.com/ascend-1980\"");

/// The resources of a budget.
pub const RESOURCE_KEYS: Rule = rule(
    concat!("self.all(k, ", is_resource!("k"), ")"),
    "each key must be an extended resource such as \"huawei.com/ascend-1980\"",
);

/// One spelling of the tier.
pub const ONE_TIER: Rule = rule(
    "has(self.hyperNodeTier) != has(self.hyperNodeTierName)",
    "must have exactly one of hyperNodeTier and hyperNodeTierName",
);

/// Keys and values of a selector's labels.
pub const MATCH_LABELS: [Rule; 2] = [
    rule(concat!("self.all(k, ", is_label_key!("k"), ")"), "each key must be a label key"),
    rule(concat!("self.all(k, ", is_label_value!("self[k]"), ")"), "each value must be a label value"),
];

/// The key of a requirement.
pub const LABEL_KEY: Rule = rule(is_label_key!("self"), "must be a label key");

/// The values of a requirement.
pub const LABEL_VALUES: Rule =
    rule(concat!("self.all(v, ", is_label_value!("v"), ")"), "each value must be a label value");

/// Which operators have values.
pub const REQUIREMENT: [Rule; 2] = [
    rule_of(
        ".values",
        "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
        "must not be empty with operator In or NotIn",
    ),
    rule_of(
        ".values",
        "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
        "must be empty with operator Exists or DoesNotExist",
    ),
];

/// The value of a label, for the schema alone: its length makes the rules about it affordable.
pub struct LabelValue;

impl JsonSchema for LabelValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LabelValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "maxLength": MAX_LABEL})
    }
}
