//! Reads a `RepackRun` that a person wrote: unknown names and wrong types are refused, each with its field.
//!
//! Serde alone would either pass over a misspelt field, which turns a limit into no limit, or stop at the first
//! fault without its path. The table below is the shape of the document; a test compares it with the structs.
//!
//! May import: api

use serde_json::Value;

use super::amount::whole;
use super::{FieldError, RepackRun, nearest};

/// What may stand at one place of the document.
enum Shape {
    /// An object with these fields.
    Object(&'static [Field]),
    /// A list of equal things.
    List(&'static Shape),
    /// An object whose keys are data.
    Map(&'static Shape),
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number.
    Whole,
    /// A whole number, or its digits as text.
    Amount,
    /// true or false.
    Flag,
    /// Anything: not read by this product.
    Any,
}

struct Field {
    name: &'static str,
    shape: Shape,
    required: bool,
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

const fn required(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

const SELECTOR: Shape = Shape::Object(&[
    field("matchLabels", Shape::Map(&Shape::Text)),
    field(
        "matchExpressions",
        Shape::List(&Shape::Object(&[
            required("key", Shape::Text),
            required("operator", Shape::Word(&["In", "NotIn", "Exists", "DoesNotExist"])),
            field("values", Shape::List(&Shape::Text)),
        ])),
    ),
]);

const SELECTION: Shape =
    Shape::Object(&[field("selector", SELECTOR), field("names", Shape::List(&Shape::Text))]);

const SCOPE_RULE: Shape = Shape::Object(&[field("include", SELECTION), field("exclude", SELECTION)]);

const WEIGHTS: Shape = Shape::Object(&[
    field("affectedPodGroups", Shape::Whole),
    field("gangBreaches", Shape::Whole),
    field("damagedCards", Shape::Whole),
    field("movedCards", Shape::Whole),
    field("movedPods", Shape::Whole),
]);

const SPEC: Shape = Shape::Object(&[
    required("mode", Shape::Word(&["DryRun", "Execute"])),
    field("scope", Shape::Object(&[field("podGroups", SCOPE_RULE), field("nodes", SCOPE_RULE)])),
    field(
        "goals",
        Shape::List(&Shape::Object(&[
            required("resource", Shape::Text),
            field("minFragImprovementPercent", Shape::Whole),
        ])),
    ),
    field(
        "maxPerRun",
        Shape::Object(&[field("podGroups", Shape::Whole), field("resources", Shape::Map(&Shape::Amount))]),
    ),
    field(
        "networkTopology",
        Shape::Object(&[
            field("hyperNodeTier", Shape::Whole),
            field("hyperNodeTierName", Shape::Text),
            field("nodeBlockSize", Shape::Whole),
            field("requiredNodeBlocks", Shape::Whole),
            field("mode", Shape::Word(&["binpack", "spread"])),
        ]),
    ),
    field("eviction", Shape::Object(&[field("gracePeriodSeconds", Shape::Whole)])),
    field("ttlSecondsAfterFinished", Shape::Whole),
    field(
        "planner",
        Shape::Object(&[
            field("algorithm", Shape::Word(&["Search", "Drain"])),
            field("effort", Shape::Whole),
            field("maxFreedNodes", Shape::Whole),
            field("minBenefit", Shape::Whole),
            field("weights", WEIGHTS),
        ]),
    ),
    field(
        "execution",
        Shape::Object(&[
            field("timeoutSeconds", Shape::Whole),
            field("maxConcurrentEvictions", Shape::Whole),
            field("onBlockedPDB", Shape::Word(&["Fail", "Wait"])),
            field("requireReady", Shape::Flag),
            field("requireGate", Shape::Flag),
            field("expectedPlanID", Shape::Text),
        ]),
    ),
    field("managedBy", Shape::Text),
]);

/// The metadata fields of Kubernetes that `kubectl get -o yaml` may have left in a file.
const METADATA: Shape = Shape::Object(&[
    field("name", Shape::Text),
    field("labels", Shape::Map(&Shape::Text)),
    field("annotations", Shape::Map(&Shape::Text)),
    field("uid", Shape::Text),
    field("generation", Shape::Whole),
    field("creationTimestamp", Shape::Any),
    field("generateName", Shape::Any),
    field("resourceVersion", Shape::Any),
    field("selfLink", Shape::Any),
    field("deletionTimestamp", Shape::Any),
    field("deletionGracePeriodSeconds", Shape::Any),
    field("ownerReferences", Shape::Any),
    field("finalizers", Shape::Any),
    field("managedFields", Shape::Any),
]);

const RUN: Shape = Shape::Object(&[
    required("apiVersion", Shape::Word(&[super::API_VERSION])),
    required("kind", Shape::Word(&[RepackRun::KIND])),
    field("metadata", METADATA),
    required("spec", SPEC),
    field("status", Shape::Any),
]);

impl RepackRun {
    /// Reads a run from a parsed document and checks every rule of the contract. A `status` in it is left out.
    ///
    /// # Errors
    /// All faults in the order of the document: unknown names (with the nearest known one as hint), wrong types and
    /// missing fields first; values outside the rules only when there are none of those.
    pub fn from_document(mut document: Value) -> Result<Self, Vec<FieldError>> {
        let faults = shape_errors(&document);
        if !faults.is_empty() {
            return Err(faults);
        }
        if let Some(fields) = document.as_object_mut() {
            fields.remove("status");
            // `kubectl get -o yaml` writes null here for objects that were never created.
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.retain(|_, value| !value.is_null());
            }
        }
        let run: Self = serde_json::from_value(without_nulls(document))
            .map_err(|fault| vec![FieldError::new("the document", format!("can not be read: {fault}"))])?;
        run.validate()?;
        Ok(run)
    }
}

/// Every unknown name, wrong type and missing field of a `RepackRun` document.
pub fn shape_errors(document: &Value) -> Vec<FieldError> {
    let mut faults = Vec::new();
    walk(&RUN, document, "", &mut faults);
    faults
}

/// A field whose value is null counts as absent, as it does for the API server.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

fn walk(shape: &Shape, value: &Value, path: &str, faults: &mut Vec<FieldError>) {
    let here = if path.is_empty() { "the document" } else { path };
    match (shape, value) {
        (Shape::Any, _) | (Shape::Text, Value::String(_)) | (Shape::Flag, Value::Bool(_)) => {}
        (Shape::Object(fields), Value::Object(given)) => {
            for name in given.keys() {
                if !fields.iter().any(|field| field.name == name) {
                    faults.push(unknown(here, name, fields));
                }
            }
            for field in *fields {
                let place = join(path, field.name);
                match given.get(field.name) {
                    Some(Value::Null) | None if field.required => {
                        faults
                            .push(FieldError::new(place, format!("is missing; it {}", wanted(&field.shape))));
                    }
                    Some(Value::Null) | None => {}
                    Some(value) => walk(&field.shape, value, &place, faults),
                }
            }
        }
        (Shape::List(item), Value::Array(items)) => {
            for (i, value) in items.iter().enumerate() {
                walk(item, value, &format!("{path}[{i}]"), faults);
            }
        }
        (Shape::Map(item), Value::Object(given)) => {
            for (key, value) in given {
                walk(item, value, &format!("{path}[{key}]"), faults);
            }
        }
        (Shape::Whole | Shape::Amount, Value::Number(number)) if number.is_i64() => {}
        (Shape::Amount, Value::String(text)) if whole(text).is_some() => {}
        (Shape::Word(words), Value::String(word)) => {
            if !words.contains(&word.as_str()) {
                let mut fault = FieldError::new(here, format!("{}, not {word:?}", wanted(shape)));
                fault.hint = nearest(word, words.iter().copied()).map(|near| format!("did you mean {near}?"));
                faults.push(fault);
            }
        }
        _ => faults.push(FieldError::new(here, format!("{}, not {}", wanted(shape), described(value)))),
    }
}

fn unknown(here: &str, name: &str, fields: &[Field]) -> FieldError {
    let mut fault = FieldError::new(here, format!("has no field {name:?}"));
    let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
    fault.hint = Some(match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("its fields are {}", known.join(", ")),
    });
    fault
}

fn wanted(shape: &Shape) -> String {
    match shape {
        Shape::Object(_) | Shape::Map(_) => "must be a mapping".to_owned(),
        Shape::List(_) => "must be a list".to_owned(),
        Shape::Text => "must be text".to_owned(),
        Shape::Word(words) => format!("must be {}", words.join(" or ")),
        Shape::Whole | Shape::Amount => "must be a whole number".to_owned(),
        Shape::Flag => "must be true or false".to_owned(),
        Shape::Any => "may be anything".to_owned(),
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
