use super::*;
use crate::api::DEFAULT_EFFORT;
use crate::plan::Request;
use crate::plan::request::Movability;
use serde_json::Map;

fn schema() -> Value {
    repack_run()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Every schema below `schema` with its path.
fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    visit(path, fields);
    if let Some(Value::Object(properties)) = fields.get("properties") {
        for (name, property) in properties {
            walk(property, &format!("{path}.{name}"), visit);
        }
    }
    for (part, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = fields.get(part) {
            walk(inner, &format!("{path}{mark}"), visit);
        }
    }
}

#[test]
fn every_place_has_one_type_a_known_format_and_no_null() {
    let mut places = 0;
    walk(&schema(), "", &mut |path, fields| {
        places += 1;
        let either = fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
        assert!(either || fields["type"].is_string(), "{path}: {fields:?}");
        for word in ["nullable", "$ref", "oneOf", "anyOf", "allOf", "title", "const"] {
            assert!(!fields.contains_key(word), "{path} has {word}");
        }
        if let Some(format) = fields.get("format") {
            assert!(["int32", "int64", "date-time"].contains(&format.as_str().unwrap()), "{path}: {format}");
        }
    });
    assert!(places > 150, "{places}");
}

#[test]
fn every_field_of_the_spec_is_described_and_every_list_text_and_map_of_it_is_bounded() {
    walk(&schema()["properties"]["spec"], "spec", &mut |path, fields| {
        let item = path.ends_with("[]") || path.ends_with("{}");
        assert!(item || fields.contains_key("description"), "{path} has no description");
        let bound = match fields.get("type").and_then(Value::as_str) {
            Some("array") => "maxItems",
            Some("string") if !fields.contains_key("enum") => "maxLength",
            Some("object") if fields.contains_key("additionalProperties") => "maxProperties",
            Some("integer") => "minimum",
            _ => return,
        };
        assert!(fields.contains_key(bound), "{path} has no {bound}");
    });
}

#[test]
fn the_defaults_that_a_server_fills_in_change_nothing() {
    fn filled(schema: &Value) -> Value {
        let mut object = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            match property.get("default") {
                Some(value) => {
                    object.insert(name.clone(), value.clone());
                }
                None if property.get("properties").is_some() => {
                    object.insert(name.clone(), filled(property));
                }
                None => {}
            }
        }
        Value::Object(object)
    }
    let spec = &schema()["properties"]["spec"]["properties"];
    let planner = filled(&spec["planner"]);
    assert_eq!(planner["effort"], DEFAULT_EFFORT);
    assert_eq!(planner["weights"].as_object().unwrap().len(), 5);
    let request = |spec: Value| {
        let spec: RepackRunSpec = serde_json::from_value(spec).unwrap();
        spec.validate().unwrap();
        Request::from_spec(&spec, None, Movability::default()).unwrap()
    };
    let goals = json!([{"resource": "x.io/npu"}]);
    let mut full = json!({"mode": "DryRun", "goals": goals, "planner": planner});
    full["goals"][0]["minFragImprovementPercent"] =
        spec["goals"]["items"]["properties"]["minFragImprovementPercent"]["default"].clone();
    full["execution"] = filled(&spec["execution"]);
    assert_eq!(full["execution"].as_object().unwrap().len(), 4, "{full}");
    assert_eq!(request(full), request(json!({"mode": "DryRun", "goals": goals})));
}

#[test]
fn only_conditions_have_required_fields_in_the_status() {
    let mut found = Vec::new();
    walk(&schema()["properties"]["status"], "status", &mut |path, fields| {
        assert!(!fields.contains_key("default"), "{path}");
        if let Some(required) = fields.get("required") {
            found.push(format!("{path} {required}"));
        }
    });
    assert_eq!(found, [r#"status.conditions[] ["message","reason","status","type"]"#]);
}
