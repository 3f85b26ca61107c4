//! The storage plugins against recorded verdicts of kube-scheduler: each plugin on its own, with its code, and whether
//! it stayed out. `debug filter --all` compares everything; this is a sample of the files for every test run.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::filter::kube::{NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone};
use crate::filter::{Code, Context, Incoming, Plugin, PreFilter, Prepared, SchedulerRules, State};
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

const fn code(code: Code) -> &'static str {
    match code {
        Code::Unschedulable => "Unschedulable",
        Code::Unresolvable => "UnschedulableAndUnresolvable",
        Code::Error => "Error",
        Code::Unknown => "Unknown",
    }
}

/// Compares one query; gives the number of refusals that agree.
fn compare(place: &str, objects: &Value, query: &Value) -> usize {
    let (snapshot, pod) = build(objects, &query["pod"]);
    let mut state = State::live(&snapshot);
    if let Some(gone) = find(&snapshot, &query["remove"]) {
        state.remove(gone);
    }
    if let Some(leaving) = find(&snapshot, &query["terminate"]) {
        state.terminate(leaving);
    }
    let incoming = Incoming::pending(&snapshot, pod);
    if let Some(active) = query["active"].as_array() {
        for plugin in PLUGINS {
            let said = plugin.pre_filter(Context { state: &state, incoming });
            let out = matches!(said, PreFilter::Skip);
            let theirs = !active.iter().any(|a| a == plugin.name().as_str());
            assert_eq!(out, theirs, "{place}: {} stays out", plugin.name());
        }
    }
    let prepared = Prepared::with_rules(&state, SchedulerRules::Kube, incoming);
    let storage = |name: &str| PLUGINS.iter().any(|plugin| plugin.name().as_str() == name);
    let mut agree = 0;
    for (node, theirs) in query["verdicts"].as_object().unwrap() {
        let ours = prepared.explain(snapshot.node_named(node).unwrap());
        let ours: BTreeSet<_> = ours.iter().map(|f| (f.plugin.as_str(), code(f.code))).collect();
        let theirs = theirs["all"].as_array().into_iter().flatten();
        let theirs = theirs.map(|f| (f["plugin"].as_str().unwrap(), f["code"].as_str().unwrap()));
        let theirs: BTreeSet<_> = theirs.filter(|(name, _)| storage(name)).collect();
        let ours: BTreeSet<_> = ours.into_iter().filter(|(name, _)| storage(name)).collect();
        assert_eq!(ours, theirs, "{place} node {node}");
        agree += theirs.len();
    }
    agree
}

#[test]
fn storage_plugins_agree_with_recorded_verdicts() {
    let mut agree = 0;
    for number in (0..60).step_by(10) {
        let case = case(number);
        for (at, query) in case["queries"].as_array().unwrap().iter().enumerate() {
            agree += compare(&format!("dev-{number:03} query {at}"), &case["objects"], query);
        }
    }
    assert!(agree > 150, "the sample has refusals to compare: {agree}");
}
