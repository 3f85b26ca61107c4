//! Makes hard clusters from a seed: a valid placement (no node over its amounts, all rules kept when a pod came)
//! with the fragments, states and rules that real clusters have. Equal seeds give equal clusters everywhere.

mod draft;
mod emit;
mod knobs;
mod make;

use kubectl_repack::snapshot::read::read_all;
use kubectl_repack::snapshot::{BuildOptions, Builder, Snapshot};
use serde_json::{Value, json};

pub use emit::CARD;
pub use knobs::Knobs;

/// The API objects of the cluster of `seed`.
pub fn objects(seed: u64, knobs: &Knobs) -> Vec<Value> {
    emit::objects(&make::draft(seed, knobs))
}

/// Objects as one List.
pub fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

/// The model of objects; bad ones fail the test.
pub fn model(objects: &[Value]) -> Snapshot {
    let mut builder = Builder::new(BuildOptions::default());
    read_all(list(objects).as_bytes(), "generated.json", &mut builder)
        .expect("generated objects are readable");
    builder.finish().expect("generated objects are consistent")
}

/// The model of the cluster of `seed`.
pub fn snapshot(seed: u64, knobs: &Knobs) -> Snapshot {
    model(&objects(seed, knobs))
}
