//! 100,000 pods read from an API server cost `report` less than 1 GB.
//!
//! No real server of a test holds that many: one of the test's own sends the pages, with everything in them that real pods have and
//! planning does not need.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use cluster::measure::measured;
use cluster::server::{Answering, Asked, Handler, Server, answer};
use cluster::tools;
use http::Request;
use hyper::body::Incoming;
use serde_json::{Value, json};

const NODES: usize = 5_000;
const PODS: usize = 100_000;
/// Every fifth pod holds a card and is alone in its group.
const CARDS_EVERY: usize = 5;
const MOST_MEMORY: u64 = 1_000_000_000;

/// One object of a kind.
type Maker = fn(usize) -> String;

/// Kind, path, number of objects and how each is made.
const LISTS: [(&str, &str, usize, Maker); 4] = [
    ("Node", "/api/v1/nodes", NODES, node),
    ("Namespace", "/api/v1/namespaces", 1, |_| r#"{"metadata":{"name":"team"}}"#.to_owned()),
    ("Pod", "/api/v1/pods", PODS, pod),
    ("PodGroup", "/apis/scheduling.volcano.sh/v1beta1/podgroups", PODS / CARDS_EVERY, group),
];

fn node(at: usize) -> String {
    format!(
        r#"{{"metadata":{{"name":"node-{at:05}","labels":{{"kubernetes.io/hostname":"node-{at:05}"}}}},"spec":{{}},
        "status":{{"allocatable":{{"cpu":"128","memory":"1Ti","pods":"110","x.io/npu":"8"}},
        "capacity":{{"cpu":"128","memory":"1Ti","pods":"110","x.io/npu":"8"}},
        "conditions":[{{"type":"Ready","status":"True"}}]}}}}"#
    )
}

fn group(at: usize) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"team","name":"group-{at:05}"}},"spec":{{"minMember":1,"queue":"default"}},
        "status":{{"phase":"Running"}}}}"#
    )
}

fn pod(at: usize) -> String {
    let cards = if at.is_multiple_of(CARDS_EVERY) { r#","x.io/npu":"1""# } else { "" };
    let group = if cards.is_empty() {
        String::new()
    } else {
        format!(r#","scheduling.k8s.io/group-name":"group-{:05}""#, at / CARDS_EVERY)
    };
    let mut text = format!(
        r#"{{"metadata":{{"namespace":"team","name":"job-{at:06}-worker-0","uid":"00000000-0000-4000-8000-{at:012}",
        "creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"job-{at:06}","team":"{}"}},
        "annotations":{{"example.com/checksum":"{at:064x}"{group}}},
        "ownerReferences":[{{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"job-{at:06}","controller":true,
        "uid":"11111111-0000-4000-8000-{at:012}"}}],"managedFields":["#,
        at % 40
    );
    // As kubelet, scheduler and controllers leave them.
    for manager in ["kube-controller-manager", "kube-scheduler", "kubelet"] {
        let _ = write!(
            text,
            r#"{}{{"apiVersion":"v1","fieldsType":"FieldsV1","manager":"{manager}","operation":"Update",
            "time":"2026-01-01T00:00:00Z","fieldsV1":{{"f:metadata":{{"f:annotations":{{".":{{}},"f:example.com/checksum":{{}}}},
            "f:labels":{{".":{{}},"f:app":{{}},"f:team":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"{at}\"}}":{{}}}}}},
            "f:spec":{{"f:containers":{{"k:{{\"name\":\"main\"}}":{{".":{{}},"f:env":{{}},"f:image":{{}},"f:resources":{{}}}}}}}}}}}}"#,
            if text.ends_with('[') { "" } else { "," },
        );
    }
    let _ = write!(
        text,
        r#"]}},"spec":{{"schedulerName":"volcano","nodeName":"node-{:05}","containers":[{{"name":"main","image":"example.com/train:1",
        "command":["sh","-c","exec train --rank $RANK --world $WORLD"],
        "env":[{{"name":"RANK","value":"{at}"}},{{"name":"WORLD","value":"{PODS}"}},
        {{"name":"NODE","valueFrom":{{"fieldRef":{{"fieldPath":"spec.nodeName"}}}}}}],
        "resources":{{"requests":{{"cpu":"500m","memory":"1Gi"{cards}}},"limits":{{"memory":"1Gi"{cards}}}}},
        "volumeMounts":[{{"name":"token","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true}}]}}],
        "volumes":[{{"name":"token","projected":{{"sources":[{{"serviceAccountToken":{{"path":"token","expirationSeconds":3607}}}},
        {{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}}]}}}}],
        "tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},
        {{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}]}},
        "status":{{"phase":"Running","podIP":"10.0.0.1","hostIP":"10.1.0.1","qosClass":"Burstable",
        "containerStatuses":[{{"name":"main","ready":true,"restartCount":0,"image":"example.com/train:1",
        "containerID":"containerd://{at:064x}","state":{{"running":{{"startedAt":"2026-01-01T00:00:00Z"}}}}}}],
        "conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}},
        {{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}}"#,
        at * NODES / PODS
    );
    text
}

/// A page of one of the lists, as an API server cuts it.
fn page(asked: &Asked) -> Option<String> {
    let (kind, _, count, make) = LISTS.iter().find(|(_, path, ..)| *path == asked.path)?;
    let number = |name| asked.parameter(name).and_then(|text| text.parse::<usize>().ok());
    let from = number("continue").unwrap_or(0);
    let to = count.min(&(from + number("limit").unwrap_or(*count))).to_owned();
    let (next, left) = if to < *count { (to.to_string(), count - to) } else { (String::new(), 0) };
    let mut text = format!(
        r#"{{"apiVersion":"v1","kind":"{kind}List","metadata":{{"resourceVersion":"7","continue":"{next}","remainingItemCount":{left}}},"items":["#
    );
    for at in from..to {
        text += if at == from { "" } else { "," };
        text += &make(at);
    }
    Some(text + "]}")
}

/// Aggregated discovery of a group.
fn discovery(path: &str) -> Option<Value> {
    let resource = |plural: &str, kind: &str| json!({"resource": plural, "responseKind": {"kind": kind}, "verbs": ["list", "watch"]});
    let (group, version, resources) = match path {
        "/api" => (
            "",
            "v1",
            vec![resource("nodes", "Node"), resource("namespaces", "Namespace"), resource("pods", "Pod")],
        ),
        "/apis" => ("scheduling.volcano.sh", "v1beta1", vec![resource("podgroups", "PodGroup")]),
        _ => return None,
    };
    Some(json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [{"metadata": {"name": group}, "versions": [{"version": version, "resources": resources}]}],
    }))
}

fn serve(request: &Request<Incoming>) -> Answering {
    let asked = Asked {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        body: String::new(),
    };
    let text = discovery(&asked.path).map(|found| found.to_string()).or_else(|| page(&asked));
    Box::pin(async move { Some(text.map_or_else(|| answer(404, "{}".to_owned()), |text| answer(200, text))) })
}

#[test]
fn a_hundred_thousand_pods_are_reported_in_less_than_a_gigabyte() {
    let each = pod(0).len();
    assert!(each > 3_000, "{each} bytes are no pod of a real server");
    let handler: Handler = Arc::new(|request| serve(&request));
    let server = Server::start(|| handler);
    let release = std::env::var_os("RELEASE_BINARY").map(PathBuf::from);
    let program = release.unwrap_or_else(|| env!("CARGO_BIN_EXE_kubectl-repack").into());
    let mut command = Command::new(program);
    command
        .args(["report", "--server", &server.url()])
        .env("KUBECONFIG", "no-such-file")
        .env_remove("HTTP_PROXY");
    let (text, took, memory) = measured(&mut command);
    tools::say(&format!(
        "{PODS} pods, {} MB of pages: {:.1} s, {} MB",
        each * PODS / 1_000_000,
        took.as_secs_f64(),
        memory / 1_000_000
    ));
    assert!(text.contains("5000 nodes, 5000 occupied"), "{text}");
    assert!(memory > 0 && memory < MOST_MEMORY, "{memory} bytes");
}
