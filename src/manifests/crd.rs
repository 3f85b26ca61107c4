//! The `CustomResourceDefinition` of `RepackRun`, made from the types of the API.
//!
//! Bounds, patterns and rules stand on the fields of those types; here is what belongs to the kind as a whole: names,
//! columns, the status subresource. Two things differ from a plain JSON Schema of the types:
//!
//! * nothing is nullable, so that the server drops a null as if the field were absent, which is how files are read too;
//! * in the status only conditions have required fields, and nothing has a default: only the controller writes
//!   it, and the status of a run that another engine left behind stays readable after a take-over.
//!
//! May import: api

use kube::core::schema::StructuralSchemaRewriter;
use schemars::generate::SchemaSettings;
use schemars::transform::{ReplaceConstValue, Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::api::names::{MANAGED_BY_LABEL, MANAGER};
use crate::api::{GROUP, RepackRun, RepackRunSpec, RepackRunStatus, VERSION};

/// Plural of `RepackRun`.
pub const REPACK_RUNS: &str = "repackruns";

/// The definition of `RepackRun`, ready to be applied.
pub fn repack_run() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{REPACK_RUNS}.{GROUP}"),
            "labels": {MANAGED_BY_LABEL: MANAGER},
        },
        "spec": {
            "group": GROUP,
            "names": {
                "kind": RepackRun::KIND,
                "listKind": "RepackRunList",
                "plural": REPACK_RUNS,
                "singular": "repackrun",
                "shortNames": ["rpr"],
            },
            "scope": "Cluster",
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
                "schema": {"openAPIV3Schema": {
                    "description": "One request to free nodes, and the record of what came of it. The spec never changes.",
                    "type": "object",
                    "required": ["spec"],
                    "properties": {
                        "apiVersion": {"type": "string", "description": format!("{GROUP}/{VERSION}")},
                        "kind": {"type": "string", "description": RepackRun::KIND},
                        "metadata": {"type": "object"},
                        "spec": structural::<RepackRunSpec>(),
                        "status": as_status(structural::<RepackRunStatus>()),
                    },
                }},
            }],
        },
    })
}

/// What `kubectl get` shows; the last three with `-o wide` only.
fn columns() -> Value {
    let column = |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    let wide = |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path, "priority": 1});
    json!([
        column("MODE", "string", ".spec.mode"),
        column("RESOURCE", "string", ".spec.goals[0].resource"),
        column("PHASE", "string", ".status.phase"),
        column("PLAN-FREED", "integer", ".status.plan.summary.freedNodeCount"),
        column("ACTUAL-FREED", "integer", ".status.result.freedNodeCount"),
        column("AGE", "date", ".metadata.creationTimestamp"),
        wide("FRAG-BEFORE", "integer", ".status.plan.summary.fragBeforePercent"),
        wide("FRAG-AFTER", "integer", ".status.plan.summary.fragAfterPercent"),
        // This condition has the reason of the moment, in every phase.
        wide("REASON", "string", ".status.conditions[?(@.type==\"Progressing\")].reason"),
    ])
}

/// The schema of a type in the form that an API server takes.
fn structural<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.transforms = vec![
            Box::new(ReplaceConstValue::default()),
            Box::new(WithoutNull),
            Box::new(StructuralSchemaRewriter),
            Box::new(OneLine),
        ];
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Takes null out of types, words and alternatives: an optional field is one that need not be there.
#[derive(Clone, Debug)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(fields) = schema.as_object_mut() else { return };
        fields.remove("title");
        if let Some(Value::Array(types)) = fields.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                fields.insert("type".to_owned(), one);
            }
        }
        if let Some(Value::Array(words)) = fields.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if let Some(Value::Array(ways)) = fields.get_mut("anyOf") {
            ways.retain(|way| way.get("type").is_none_or(|kind| kind != "null"));
            if let [Value::Object(one)] = ways.as_slice() {
                let one = one.clone();
                fields.remove("anyOf");
                for (name, value) in one {
                    fields.entry(name).or_insert(value);
                }
            }
        }
    }
}

/// Descriptions as `kubectl explain` shows them: the line breaks of a source file mean nothing there.
#[derive(Clone, Debug)]
struct OneLine;

impl Transform for OneLine {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
}

/// The same schema for the part that only the controller writes.
fn as_status(mut schema: Value) -> Value {
    let conditions = schema.pointer("/properties/conditions/items/required").cloned();
    loosen(&mut schema);
    if let (Some(required), Some(Value::Object(condition))) =
        (conditions, schema.pointer_mut("/properties/conditions/items"))
    {
        // The key of the list has to be there, and a condition is no condition without the others.
        condition.insert("required".to_owned(), required);
    }
    schema
}

fn loosen(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.remove("required");
    fields.remove("default");
    if let Some(items) = fields.get_mut("items") {
        loosen(items);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(loosen);
    }
}

#[cfg(test)]
#[path = "crd_tests.rs"]
mod tests;
