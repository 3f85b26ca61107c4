//! Rulebook 1.13 by example; here are the pieces clusters are made of.

mod planned;
mod rules;

use crate::filter::kube::testing::{candidate, cluster, node, pod};
use crate::filter::{Code, Incoming, PluginName, Prepared, SchedulerRules, State};

const CLASS: &str = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: card}, \
                     spec: {extendedResourceName: example.com/card, \
                     selectors: [{cel: {expression: 'device.driver == \"card.example.com\"'}}]}}";

/// A slice of a node with devices given as YAML flow texts.
fn slice(node: &str, devices: &[&str]) -> String {
    slice_with(node, &format!("nodeName: {node}"), node, 1, 1, devices)
}

fn slice_with(name: &str, reach: &str, pool: &str, generation: i64, count: i64, devices: &[&str]) -> String {
    format!(
        "{{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {{name: {name}}}, \
         spec: {{driver: card.example.com, pool: {{name: {pool}, generation: {generation}, \
         resourceSliceCount: {count}}}, {reach}, devices: [{}]}}}}",
        devices.join(", ")
    )
}

/// A device with a `numa` and a `model`.
fn device(name: &str, numa: i64, model: &str) -> String {
    device_with(name, numa, model, "")
}

fn device_with(name: &str, numa: i64, model: &str, more: &str) -> String {
    format!(
        "{{name: {name}, attributes: {{numa: {{int: {numa}}}, model: {{string: {model}}}}}, \
         capacity: {{memory: {{value: 16Gi}}}}{more}}}"
    )
}

fn claim(name: &str, requests: &str, constraints: &str, status: &str) -> String {
    format!(
        "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{namespace: default, name: {name}}}, \
         spec: {{devices: {{requests: [{requests}], constraints: [{constraints}]}}}}, status: {{{status}}}}}"
    )
}

/// A request for `count` devices of class card, with more fields.
fn request(name: &str, count: i64, more: &str) -> String {
    format!("{{name: {name}, exactly: {{deviceClassName: card, count: {count}{more}}}}}")
}

fn allocated(node: &str, devices: &[&str], consumers: &[&str]) -> String {
    let results = devices
        .iter()
        .map(|device| format!("{{request: r, driver: card.example.com, pool: {node}, device: {device}}}"));
    let consumers = consumers.iter().map(|pod| format!("{{resource: pods, name: {pod}, uid: \"\"}}"));
    format!(
        "allocation: {{devices: {{results: [{}]}}, nodeSelector: {{nodeSelectorTerms: [{{matchFields: \
         [{{key: metadata.name, operator: In, values: [{node}]}}]}}]}}}}, reservedFor: [{}]",
        results.collect::<Vec<_>>().join(", "),
        consumers.collect::<Vec<_>>().join(", ")
    )
}

/// A pod with named claims.
fn wants(name: &str, claims: &[&str], more: &str) -> String {
    let claims: Vec<_> = claims.iter().map(|c| format!("{{name: {c}, resourceClaimName: {c}}}")).collect();
    pod(name, "", &format!("resourceClaims: [{}]{more}", claims.join(", ")))
}

/// What the plugin alone says: `None` = pass.
fn says_for(state: &State<'_>, incoming: Incoming, node: &str) -> Option<Code> {
    let node = state.snapshot().node_named(node).unwrap();
    let prepared = Prepared::with_rules(state, SchedulerRules::Kube, incoming);
    let failures = prepared.explain(node);
    failures.into_iter().find(|f| f.plugin == PluginName::DynamicResources).map(|f| f.code)
}

fn says(objects: &[String], incoming: &str, node: &str) -> Option<Code> {
    let snapshot = cluster(objects, incoming);
    says_for(&State::live(&snapshot), candidate(&snapshot), node)
}

const PASS: Option<Code> = None;
const FINAL: Option<Code> = Some(Code::Unresolvable);
const ERROR: Option<Code> = Some(Code::Error);
const UNKNOWN: Option<Code> = Some(Code::Unknown);

/// One node with four devices, two per numa, the last one big.
fn four() -> Vec<String> {
    let devices = [
        device("d0", 0, "small"),
        device("d1", 0, "small"),
        device("d2", 1, "small"),
        device("d3", 1, "big"),
    ];
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    vec![node("n1", "", ""), CLASS.to_owned(), slice("n1", &devices)]
}

fn with(mut objects: Vec<String>, more: impl IntoIterator<Item = String>) -> Vec<String> {
    objects.extend(more);
    objects
}

/// What one claim on four devices gets.
#[track_caller]
fn one(requests: &str, constraints: &str, expected: Option<Code>) {
    let objects = with(four(), [claim("c", requests, constraints, "")]);
    assert_eq!(says(&objects, &wants("p", &["c"], ""), "n1"), expected, "{requests} {constraints}");
}
