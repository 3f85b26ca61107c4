//! Every move of a plan is carried out by the real kube-scheduler, and lands where the plan says.
//!
//! Random small clusters of Deployments and `StatefulSets` under kwok. Their templates carry a scheduling gate of the test's own, so that
//! nothing is bound before the test opens it: pods are first spread at random, then planned by the program, then
//! evicted one by one in the order of the plan. Each replacement is nominated to its planned node and its gate opened.
//! The scheduler tries a nominated node first and alone: a pod that goes elsewhere, or nowhere, breaks a Filter that
//! the plan thought it passes. Nothing is cordoned, and nobody else schedules.
//!
//! `MOVES_ROUNDS` says how many clusters, `MOVES_FIRST` which is the first.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::objects::{has_condition, list, name_of};
use cluster::{Cluster, Options, tools};
use kubectl_repack::engine;
use kubectl_repack::plan::Request;
use kubectl_repack::snapshot::Snapshot;
use serde_json::{Value, json};
use support::generator;
use support::rng::Rng;

const CARD: &str = "example.com/card";
const GATE: &str = "test.example.com/hold";
const NAMESPACE: &str = "moves";
const PODS: &str = "/api/v1/namespaces/moves/pods";
/// For what the control plane does in milliseconds.
const SOON: Duration = Duration::from_secs(30);
/// Clusters of a run that is not told otherwise.
const ROUNDS: u64 = 8;

/// A cluster of a seed: nodes, and workloads with their budgets.
struct Draft {
    nodes: Vec<Value>,
    workloads: Vec<Value>,
}

fn draft(seed: u64) -> Draft {
    let mut rng = Rng::new(seed, "nodes of moves");
    let count = rng.between(4, 7);
    let nodes = (0..count).map(|at| node(seed, at, &mut rng)).collect();
    let mut rng = Rng::new(seed, "workloads of moves");
    let count = rng.between(4, 8);
    let workloads = (0..count).flat_map(|at| workload(seed, at, count, &mut rng)).collect();
    Draft { nodes, workloads }
}

fn node(seed: u64, at: usize, rng: &mut Rng) -> Value {
    let name = format!("n{seed}-{at}");
    let amounts = json!({
        "cpu": rng.pick(&["16", "24", "32"]), "memory": rng.pick(&["48Gi", "64Gi"]),
        "pods": if rng.chance(15) { "4" } else { "110" },
        CARD: if rng.chance(70) { "8" } else { "4" },
    });
    let labels = json!({
        "kubernetes.io/hostname": name, "zone": rng.pick(&["za", "zb", "zc"]), "disk": rng.pick(&["ssd", "hdd"]),
    });
    let taints = if rng.chance(25) {
        json!([{"key": "dedicated", "value": "team", "effect": "NoSchedule"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "capacity": amounts, "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
        },
    })
}

/// A Deployment or StatefulSet, perhaps with a budget.
fn workload(seed: u64, at: usize, count: usize, rng: &mut Rng) -> Vec<Value> {
    let name = format!("w{seed}-{at}");
    let replicas = rng.between(1, 4);
    let labels = json!({"app": name});
    let same = json!({"matchLabels": labels});
    let of_another = json!({"matchLabels": {"app": format!("w{seed}-{}", rng.below(count))}});
    let domain = |rng: &mut Rng| if rng.chance(60) { "kubernetes.io/hostname" } else { "zone" };
    let mut requests = json!({
        "cpu": rng.pick(&["500m", "2", "4", "7"]), "memory": rng.pick(&["1Gi", "6Gi", "15Gi"]),
    });
    let cards = *rng.pick(&[0, 1, 1, 2, 2, 3, 4]);
    if cards > 0 {
        requests[CARD] = json!(cards.to_string());
    }
    let mut container = json!({"name": "main", "image": "alpine:3.20", "resources": {"requests": requests}});
    if cards > 0 {
        container["resources"]["limits"] = json!({CARD: cards.to_string()});
    }
    if rng.chance(15) {
        container["ports"] = json!([{"containerPort": 80, "hostPort": 8000 + rng.below(2)}]);
    }
    let mut spec = json!({
        "schedulingGates": [{"name": GATE}], "containers": [container], "terminationGracePeriodSeconds": 1,
    });
    if rng.chance(15) {
        spec["nodeSelector"] = json!({"disk": rng.pick(&["ssd", "hdd"])});
    }
    if rng.chance(50) {
        spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
    }
    let mut affinity = json!({});
    if rng.chance(25) {
        let term = json!({"labelSelector": same, "topologyKey": domain(rng)});
        affinity["podAntiAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    } else if rng.chance(15) {
        let term = json!({"labelSelector": of_another, "topologyKey": domain(rng)});
        affinity["podAntiAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    }
    if rng.chance(15) {
        let selector = if rng.chance(50) { &same } else { &of_another };
        let term = json!({"labelSelector": selector, "topologyKey": "zone"});
        affinity["podAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    }
    if rng.chance(15) {
        let zones = json!([{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["zc"]}]}]);
        affinity["nodeAffinity"] =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": zones}});
    }
    spec["affinity"] = affinity;
    if rng.chance(25) {
        spec["topologySpreadConstraints"] = json!([{
            "maxSkew": rng.between(1, 2), "topologyKey": domain(rng), "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": same, "nodeTaintsPolicy": rng.pick(&["Honor", "Ignore"]),
        }]);
    }
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let metadata = json!({"namespace": NAMESPACE, "name": name});
    let mut workload = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {"replicas": replicas, "selector": same, "template": template},
    });
    if rng.chance(40) {
        workload["kind"] = json!("StatefulSet");
        workload["spec"]["serviceName"] = json!(name);
        workload["spec"]["podManagementPolicy"] = json!("Parallel");
    }
    let mut objects = vec![workload];
    if rng.chance(20) {
        objects.push(json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
            "spec": {"maxUnavailable": rng.between(1, 2), "selector": same},
        }));
    }
    objects
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn pods(cluster: &Cluster) -> Vec<Value> {
    list(&cluster.get("admin", PODS).ok()).to_vec()
}

fn is_gated(pod: &Value) -> bool {
    pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty())
}

/// Nominates a gated pod to a node, opens its gate, and waits for what the scheduler makes of it: a node, or why not.
fn placed(cluster: &Cluster, pod: &str, node: &str) -> Result<String, String> {
    let path = format!("{PODS}/{pod}");
    let nominated =
        cluster.patch("admin", &format!("{path}/status"), &json!({"status": {"nominatedNodeName": node}}));
    assert_eq!(nominated.ok()["status"]["nominatedNodeName"], node);
    cluster.patch("admin", &path, &json!({"spec": {"schedulingGates": []}})).ok();
    cluster.wait_for(&format!("the scheduler to try {pod}"), SOON, || {
        let pod = cluster.get("admin", &path).ok();
        if let Some(node) = pod["spec"]["nodeName"].as_str() {
            return Some(Ok(node.to_owned()));
        }
        let conditions = pod["status"]["conditions"].as_array()?;
        let refused = conditions.iter().find(|condition| condition["reason"] == "Unschedulable")?;
        Some(Err(text(&refused["message"]).to_owned()))
    })
}

/// Fills the cluster: every pod on a node of the scheduler's choice, first tried at random. Workloads that do not fit
/// as a whole are not there.
fn fill(cluster: &Cluster, seed: u64, draft: &Draft) {
    cluster.create_all(&draft.nodes);
    cluster.create_all(&draft.workloads);
    let wanted: u64 = draft.workloads.iter().filter_map(|object| object["spec"]["replicas"].as_u64()).sum();
    let names: Vec<String> = draft.nodes.iter().map(name_of).collect();
    cluster.wait_for("nodes without taints of their own and all pods", SOON, || {
        let nodes = cluster.get("admin", "/api/v1/nodes").ok();
        let is_ready = |node: &Value| {
            let taints = node["spec"]["taints"].as_array();
            let fresh = |taints: &Vec<Value>| {
                taints.iter().any(|taint| text(&taint["key"]).contains("kubernetes.io"))
            };
            has_condition(node, "Ready") && !taints.is_some_and(fresh)
        };
        let ready = list(&nodes).len() == names.len() && list(&nodes).iter().all(is_ready);
        (ready && pods(cluster).len() as u64 == wanted).then_some(())
    });
    let mut rng = Rng::new(seed, "places of moves");
    let mut all: Vec<(String, String)> = pods(cluster)
        .iter()
        .map(|pod| (text(&pod["metadata"]["labels"]["app"]).to_owned(), name_of(pod)))
        .collect();
    all.sort();
    rng.shuffle(&mut all);
    let mut hopeless = BTreeSet::new();
    for (app, pod) in &all {
        if !hopeless.contains(app) && placed(cluster, pod, rng.pick::<String>(&names)).is_err() {
            remove(cluster, app);
            hopeless.insert(app.clone());
        }
    }
    cluster.wait_for("all pods are Ready", SOON, || {
        let pods = pods(cluster);
        let of_others = |pod: &Value| !hopeless.contains(text(&pod["metadata"]["labels"]["app"]));
        pods.iter().all(|pod| of_others(pod) && has_condition(pod, "Ready")).then_some(())
    });
}

/// Deletes a workload with its pods.
fn remove(cluster: &Cluster, app: &str) {
    for kind in ["deployments", "statefulsets"] {
        cluster.delete("admin", &format!("/apis/apps/v1/namespaces/{NAMESPACE}/{kind}/{app}"));
    }
    cluster.wait_for(&format!("the pods of {app} to go"), SOON, || {
        let left = pods(cluster).iter().any(|pod| pod["metadata"]["labels"]["app"] == app);
        (!left).then_some(())
    });
}

/// Deletes everything of a round.
fn clear(cluster: &Cluster) {
    for path in [
        "/apis/apps/v1/namespaces/moves/deployments",
        "/apis/apps/v1/namespaces/moves/statefulsets",
        "/apis/policy/v1/namespaces/moves/poddisruptionbudgets",
    ] {
        cluster.delete("admin", path).ok();
    }
    cluster.wait_for("everything of the round to go", SOON, || {
        let sets = cluster.get("admin", "/apis/apps/v1/namespaces/moves/replicasets").ok();
        (list(&sets).is_empty() && pods(cluster).is_empty()).then_some(())
    });
    cluster.delete("admin", "/api/v1/nodes").ok();
    cluster.wait_for("the nodes to go", SOON, || {
        list(&cluster.get("admin", "/api/v1/nodes").ok()).is_empty().then_some(())
    });
}

/// A move of the plan: pod, its node, its planned node.
type Planned = (String, String, String);

/// The plan in the order of its execution, as the library finds it on what kubectl prints; the program finds the same.
fn plan(cluster: &Cluster) -> (Vec<Planned>, Vec<String>) {
    let shown = cluster.kubectl_text(
        "get nodes,namespaces,pods,deployments,replicasets,statefulsets,poddisruptionbudgets -A -o json",
    );
    let mut shown: Value = serde_json::from_str(&shown).unwrap();
    let Value::Array(objects) = shown["items"].take() else { panic!("no list") };
    let snapshot: Snapshot = generator::model(&objects);
    let mut request = Request::for_resource(CARD);
    request.algorithm = kubectl_repack::api::Algorithm::Search;
    request.movability.schedulers = vec!["default-scheduler".to_owned()];
    request.movability.allow_ungrouped = true;
    // The gates of the templates are this test's own.
    request.movability.allow_managed_elsewhere = true;
    let planned = engine::plan(&snapshot, &request).unwrap().plan;
    let name = |node| snapshot.node_name(node).to_owned();
    let moves: Vec<Planned> = planned
        .moves
        .iter()
        .map(|m| (snapshot.pod_name(m.pod).to_owned(), name(m.from), name(m.to)))
        .collect();

    let arguments = "dryrun --local -o json --schedulers default-scheduler --allow-ungrouped --allow-managed-elsewhere -r";
    let done = cluster
        .command("admin", env!("CARGO_BIN_EXE_kubectl-repack"))
        .args(arguments.split_whitespace())
        .arg(CARD)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    let plan = &told["status"]["plan"];
    let pods = plan["moves"].as_array().unwrap().iter().flat_map(|group| group["pods"].as_array().unwrap());
    let of = |pod: &Value, part: &str| text(&pod[part]).to_owned();
    let printed: BTreeSet<Planned> =
        pods.map(|pod| (of(pod, "name"), of(pod, "fromNode"), of(pod, "toNode"))).collect();
    assert_eq!(
        moves.iter().cloned().collect::<BTreeSet<_>>(),
        printed,
        "the program plans what the library plans"
    );
    (moves, planned.freed.iter().map(|&node| name(node)).collect())
}

/// Evicts a pod and waits for the gated one that its controller makes instead.
fn replaced(cluster: &Cluster, pod: &str) -> String {
    let before = pods(cluster);
    let known: BTreeSet<&str> = before.iter().map(|pod| text(&pod["metadata"]["uid"])).collect();
    let victim = before.iter().find(|found| found["metadata"]["name"] == pod).unwrap();
    let owner = &victim["metadata"]["ownerReferences"][0]["uid"];
    // A budget lets the next one go when the last replacement is Ready.
    cluster.wait_for(&format!("the eviction of {pod}"), SOON, || {
        let answer = cluster.evict("admin", NAMESPACE, pod);
        assert!([201, 429].contains(&answer.code), "{}", answer.body);
        (answer.code == 201).then_some(())
    });
    cluster.wait_for(&format!("a replacement of {pod}"), SOON, || {
        let found = pods(cluster);
        let is_it = |pod: &&Value| {
            let about = &pod["metadata"];
            about["ownerReferences"][0]["uid"] == *owner
                && !known.contains(text(&about["uid"]))
                && is_gated(pod)
        };
        found.iter().find(is_it).map(name_of)
    })
}

/// One cluster: how many moves were carried out, or what went wrong.
fn round(cluster: &Cluster, seed: u64) -> Result<usize, String> {
    fill(cluster, seed, &draft(seed));
    let (moves, freed) = plan(cluster);
    let state = || {
        let path = tools::target().join(format!("tmp/moves-{seed}.json"));
        let kinds = "nodes,namespaces,pods,deployments,replicasets,statefulsets,poddisruptionbudgets";
        std::fs::write(&path, cluster.kubectl_text(&format!("get {kinds} -A -o json"))).unwrap();
        path.display().to_string()
    };
    for (at, (pod, from, to)) in moves.iter().enumerate() {
        let replacement = replaced(cluster, pod);
        let found = placed(cluster, &replacement, to);
        if found.as_ref() != Ok(to) {
            let of = moves.len();
            return Err(format!(
                "seed {seed}, move {at} of {of}: {pod} from {from} was planned to {to}; found {found:?}; state in {}",
                state()
            ));
        }
    }
    let mut held: BTreeMap<String, usize> = BTreeMap::new();
    for pod in pods(cluster) {
        let card = &pod["spec"]["containers"][0]["resources"]["requests"][CARD];
        *held.entry(text(&pod["spec"]["nodeName"]).to_owned()).or_default() += usize::from(card.is_string());
    }
    if let Some(node) = freed.iter().find(|node| held.get(*node).is_some_and(|&pods| pods > 0)) {
        return Err(format!("seed {seed}: {node} is not free after the last move; state in {}", state()));
    }
    Ok(moves.len())
}

#[test]
fn every_move_lands_on_its_planned_node() {
    let Some(cluster) = Cluster::start(&Options { volcano: false, repack: false, ..Options::default() })
    else {
        return;
    };
    cluster.namespace(NAMESPACE);
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap());
    let (rounds, first) = (number("MOVES_ROUNDS", ROUNDS), number("MOVES_FIRST", 1));
    let (mut moves, mut plans, mut faults) = (0, 0, Vec::new());
    for seed in first..first + rounds {
        match round(&cluster, seed) {
            Ok(carried_out) => {
                moves += carried_out;
                plans += usize::from(carried_out > 0);
            }
            Err(fault) => {
                tools::say(&fault);
                faults.push(fault);
            }
        }
        clear(&cluster);
    }
    tools::say(&format!("{rounds} clusters, {plans} plans, {moves} moves, {} faults", faults.len()));
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(moves as u64 >= rounds, "too few moves to show anything: {moves}");
}
