//! Random input for what a person types: run files and selectors. Nothing panics, and what was understood is
//! understood again. `make fuzz` runs these with a larger budget (`PROPTEST_CASES`).

use kubectl_repack::api::{LabelSelector, RepackRun};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that lead deep into the document, so that random trees are not refused at the door.
const NAMES: [&str; 24] = [
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "mode",
    "scope",
    "podGroups",
    "nodes",
    "include",
    "exclude",
    "selector",
    "matchLabels",
    "matchExpressions",
    "names",
    "goals",
    "resource",
    "maxPerRun",
    "resources",
    "networkTopology",
    "planner",
    "weights",
    "execution",
    "key",
    "Mode",
];

const WORDS: [&str; 12] =
    ["DryRun", "Execute", "In", "Exists", "Drain", "Wait", "a.b/c", "team/x", "", "é\u{0}", "-1", "binpack"];

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2_i64..200).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ]
}

fn trees() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(&NAMES[..]), inner), 0..6).prop_map(|fields| {
                Value::Object(
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn fuzz_a_run_document_is_refused_in_words_or_read_for_good(mut spec in trees(), whole in any::<bool>()) {
        // Without its one required field no spec would ever be read.
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|name, value| value.is_object() || name == "goals");
            fields.insert("mode".to_owned(), json!("DryRun"));
        }
        let document = if whole {
            spec
        } else {
            json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "spec": spec})
        };
        match RepackRun::from_document(document) {
            Ok(run) => {
                let again = serde_json::to_value(&run).map(RepackRun::from_document);
                prop_assert!(matches!(again, Ok(Ok(again)) if again == run));
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                prop_assert!(faults.iter().all(|fault| !fault.field.is_empty() && !fault.fault.is_empty()));
            }
        }
    }

    #[test]
    fn fuzz_a_selector_reads_back_what_it_wrote(text in "[a-c=!,() /.inot-]{0,24}|.{0,16}") {
        if let Ok(selector) = text.parse::<LabelSelector>() {
            let again: Result<LabelSelector, _> = selector.to_string().parse();
            prop_assert_eq!(again, Ok(selector));
        }
    }
}
