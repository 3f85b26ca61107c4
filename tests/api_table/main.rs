//! Every valid and invalid `RepackRun`, through the program's own checks and through a real API server.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used)]

#[path = "../cluster/mod.rs"]
mod cluster;
mod server;
mod table;

use kubectl_repack::api::RepackRun;
use serde_json::{Value, json};

/// The guides' run with every field that Volcano's own repack has.
const COMPLETE: &str = include_str!("../fixtures/api/complete.yaml");

fn complete() -> Value {
    serde_saphyr::from_str(COMPLETE).unwrap()
}

fn run_of(spec: &Value) -> Value {
    json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": "table"}, "spec": spec,
    })
}

/// What the program says about a document: nothing, or a sentence per fault.
fn ours(document: &Value) -> Vec<String> {
    match RepackRun::from_document(document.clone()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_program_takes_what_is_valid_and_refuses_the_rest_by_field() {
    assert_eq!(ours(&complete()), [""; 0]);
    for (name, spec) in table::valid() {
        assert_eq!(ours(&run_of(&spec)), [""; 0], "{name}");
    }
    for row in table::refused() {
        let said = ours(&run_of(&row.spec));
        let named = said.iter().any(|said| said.starts_with(&row.field) && said.contains(row.ours));
        assert!(named, "{}: {said:?} has nothing on {} that says: {}", row.name, row.field, row.ours);
    }
}
