//! Which storage plugins stay out of a question, against what kube-scheduler's did. Verdicts are compared elsewhere
//! (`tests/oracle.rs`); staying out shows there only where pods are nominated.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::filter::kube::{NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone};
use crate::filter::{Context, Incoming, Plugin, PreFilter, State};
use crate::snapshot::Snapshot;
use crate::snapshot::build::{BuildOptions, Builder};
use crate::snapshot::model::PodIdx;
use crate::snapshot::read::read_all;
use crate::snapshot::view::pod::PodView;

const PLUGINS: [&dyn Plugin; 4] =
    [&VolumeRestrictions, &NodeVolumeLimits { strict_drivers: true }, &VolumeBinding, &VolumeZone];

fn case(number: usize) -> Value {
    let root = env!("CARGO_MANIFEST_DIR");
    let packed = std::fs::read(format!("{root}/tests/fixtures/oracle/dev-{number:03}.json.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(&*packed).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn find(snapshot: &Snapshot, name: &Value) -> Option<PodIdx> {
    let is = |pod: &PodIdx| {
        !snapshot.candidates.contains(pod)
            && Some(snapshot.pod_name(*pod)) == name["name"].as_str()
            && Some(snapshot.namespace_name(snapshot.pod(*pod).namespace)) == name["namespace"].as_str()
    };
    (0..snapshot.pods.len()).map(PodIdx::new).find(is)
}

fn build(objects: &Value, pod: &Value) -> (Snapshot, PodIdx) {
    let options =
        BuildOptions { refuse_unknown_nodes: false, refuse_duplicates: false, ..BuildOptions::default() };
    let mut builder = Builder::new(options);
    let list = serde_json::json!({"kind": "List", "items": objects}).to_string();
    read_all(list.as_bytes(), "case", &mut builder).unwrap();
    let text = pod.to_string();
    if pod.get("spec").is_some() {
        builder.candidate(&serde_json::from_str::<PodView<'_>>(&text).unwrap()).unwrap();
    }
    let snapshot = builder.finish().unwrap();
    let pod = snapshot.candidates.first().copied().or_else(|| find(&snapshot, pod)).unwrap();
    (snapshot, pod)
}

/// Compares one query; gives the number of plugins that did not stay out.
fn compare(place: &str, objects: &Value, query: &Value) -> usize {
    let Some(active) = query["active"].as_array() else { return 0 };
    let (snapshot, pod) = build(objects, &query["pod"]);
    let mut state = State::live(&snapshot);
    if let Some(gone) = find(&snapshot, &query["remove"]) {
        state.remove(gone);
    }
    if let Some(leaving) = find(&snapshot, &query["terminate"]) {
        state.terminate(leaving);
    }
    let context = Context { state: &state, incoming: Incoming::pending(&snapshot, pod) };
    for plugin in PLUGINS {
        let ours = !matches!(plugin.pre_filter(context), PreFilter::Skip);
        let theirs = active.iter().any(|name| name == plugin.name().as_str());
        assert_eq!(ours, theirs, "{place}: {}", plugin.name());
    }
    active.len()
}

#[test]
fn storage_plugins_stay_out_exactly_where_they_did() {
    let mut active = 0;
    for number in (0..60).step_by(10) {
        let case = case(number);
        for (at, query) in case["queries"].as_array().unwrap().iter().enumerate() {
            active += compare(&format!("dev-{number:03} query {at}"), &case["objects"], query);
        }
    }
    assert!(active > 100, "the sample has something to compare: {active}");
}
