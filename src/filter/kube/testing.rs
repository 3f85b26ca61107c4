//! Small clusters for table-driven tests of plugins.

use crate::filter::{Code, Incoming, PluginName, Prepared, SchedulerRules, State, Verdict};
use crate::snapshot::Snapshot;
use crate::snapshot::build::{BuildOptions, Builder};
use crate::snapshot::read::read_all;
use crate::snapshot::view::pod::PodView;

/// What a table expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Pass,
    Fail,
    Unresolvable,
}

pub use Expect::{Fail, Pass, Unresolvable};

/// A node with plenty of everything: fields of `metadata`, `spec` and `status` given as YAML flow text, each without
/// its braces.
pub fn node(name: &str, labels: &str, spec: &str) -> String {
    node_with(name, labels, spec, "cpu: 64, memory: 64Gi, pods: 110")
}

pub fn node_with(name: &str, labels: &str, spec: &str, allocatable: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{{labels}}}}}, spec: {{{spec}}}, \
         status: {{allocatable: {{{allocatable}}}}}}}"
    )
}

/// A pod in namespace `default`.
pub fn pod(name: &str, labels: &str, spec: &str) -> String {
    pod_in("default", name, labels, spec)
}

pub fn pod_in(namespace: &str, name: &str, labels: &str, spec: &str) -> String {
    let containers = if spec.contains("containers:") { "" } else { ", containers: [{name: c}]" };
    let spec =
        if spec.is_empty() { &containers[2.min(containers.len())..] } else { &format!("{spec}{containers}") };
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{namespace: {namespace}, name: {name}, labels: {{{labels}}}}}, \
         spec: {{{spec}}}}}"
    )
}

/// The pod with a deletionTimestamp.
pub fn terminating(pod: &str) -> String {
    pod.replacen("metadata: {", "metadata: {deletionTimestamp: '2026-01-02T03:04:05Z', ", 1)
}

/// The pod with a status.
pub fn with_status(pod: &str, status: &str) -> String {
    format!("{}, status: {{{status}}}}}", pod.strip_suffix('}').unwrap())
}

/// A container that asks for `requests`.
pub fn asks(requests: &str) -> String {
    format!("containers: [{{name: c, resources: {{requests: {{{requests}}}}}}}]")
}

/// A cluster of these objects with `incoming` as the only candidate.
pub fn cluster(objects: &[String], incoming: &str) -> Snapshot {
    cluster_of(BuildOptions::default().kubernetes_minor, objects, incoming)
}

/// The same of Kubernetes 1.`minor`.
pub fn cluster_of(minor: u32, objects: &[String], incoming: &str) -> Snapshot {
    let options =
        BuildOptions { kubernetes_minor: minor, refuse_unknown_nodes: false, refuse_duplicates: false };
    let mut builder = Builder::new(options);
    for object in objects {
        let value: serde_json::Value = serde_saphyr::from_str(object).unwrap();
        read_all(value.to_string().as_bytes(), "test", &mut builder).unwrap();
    }
    let value: serde_json::Value = serde_saphyr::from_str(incoming).unwrap();
    let text = value.to_string();
    let view: PodView<'_> = serde_json::from_str(&text).unwrap();
    builder.candidate(&view).unwrap();
    builder.finish().unwrap()
}

/// The candidate of [`cluster`].
pub fn candidate(snapshot: &Snapshot) -> Incoming {
    Incoming::pending(snapshot, snapshot.candidates[0])
}

/// What one plugin of kube says about one node when asked alone, and that the fast path agrees with the whole.
pub fn says(state: &State<'_>, plugin: PluginName, incoming: Incoming, node: &str) -> Expect {
    let node = state.snapshot().node_named(node).unwrap();
    let prepared = Prepared::with_rules(state, SchedulerRules::Kube, incoming);
    assert_eq!(prepared.fits(node), prepared.verdict(node) == Verdict::Pass);
    match prepared.explain(node).into_iter().find(|f| f.plugin == plugin) {
        None => Pass,
        Some(failure) if failure.code == Code::Unresolvable => Unresolvable,
        Some(_) => Fail,
    }
}

/// One line of a table: number in the rulebook, objects, incoming pod, node, what the plugin says.
pub fn table(plugin: PluginName, lines: &[(&str, Vec<String>, String, &str, Expect)]) {
    for (number, objects, incoming, node, expected) in lines {
        let snapshot = cluster(objects, incoming);
        let state = State::live(&snapshot);
        assert_eq!(says(&state, plugin, candidate(&snapshot), node), *expected, "{number}");
    }
}
