//! From a draft to API objects.

use serde_json::{Map, Value, json};

use super::draft::{BudgetDraft, Draft, Kind, Mark, NodeDraft, PodDraft, PodState, Policy, Shape, Workload};

/// The resource that is planned for.
pub const CARD: &str = "example.com/npu";
/// The second extended one.
const SECOND: &str = "example.com/rdma";

const CREATED: &str = "2026-01-01T00:00:00Z";

fn uid(kind: u32, number: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}

/// All objects of the cluster, kinds one after another.
pub fn objects(draft: &Draft) -> Vec<Value> {
    let mut all: Vec<Value> = ["team-a", "team-b", "team-c"].map(namespace).to_vec();
    all.extend(draft.nodes.iter().enumerate().map(|(at, n)| node(n, at)));
    for (at, workload) in draft.workloads.iter().enumerate().filter(|(_, w)| !w.ended) {
        all.extend(owners(draft, workload, at));
    }
    all.extend(groups(draft));
    all.extend(draft.pods.iter().enumerate().map(|(at, p)| pod(draft, p, at)));
    all.extend(draft.budgets.iter().map(budget));
    all
}

fn namespace(name: &str) -> Value {
    let labels = json!({"kubernetes.io/metadata.name": name});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

fn node(n: &NodeDraft, at: usize) -> Value {
    let mut amounts = json!({
        "cpu": format!("{}m", n.cpu), "memory": format!("{}Mi", n.memory), "pods": "64",
        "ephemeral-storage": "1Ti",
    });
    if n.cards > 0 {
        amounts[CARD] = json!(n.cards.to_string());
    }
    if n.second > 0 {
        amounts[SECOND] = json!(n.second.to_string());
    }
    let mut taints = Vec::new();
    if let Some(key) = n.taint {
        taints.push(json!({"key": format!("example.com/{key}"), "value": "yes", "effect": "NoSchedule"}));
    }
    if n.cordoned {
        taints.push(json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}));
    }
    if !n.ready {
        taints.push(json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}));
    }
    if n.leaving {
        let effect = if at.is_multiple_of(2) { "NoSchedule" } else { "PreferNoSchedule" };
        let key = if at.is_multiple_of(2) {
            "ToBeDeletedByClusterAutoscaler"
        } else {
            "DeletionCandidateOfClusterAutoscaler"
        };
        taints.push(json!({"key": key, "value": "1", "effect": effect}));
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": n.name, "uid": uid(1, at), "labels": n.labels, "creationTimestamp": CREATED},
        "spec": {"unschedulable": n.cordoned, "taints": taints},
        "status": {"allocatable": amounts,
            "conditions": [{"type": "Ready", "status": if n.ready { "True" } else { "Unknown" }}]},
    })
}

/// API version, kind, name and uid of the controlling owner of a workload's pods.
fn controller(workload: &Workload, at: usize) -> Option<(&'static str, &'static str, String, String)> {
    let name = workload.name.clone();
    Some(match workload.kind {
        Kind::VolcanoJob => ("batch.volcano.sh/v1alpha1", "Job", name, uid(2, at)),
        Kind::Deployment => ("apps/v1", "ReplicaSet", format!("{name}-abc"), uid(2, at)),
        Kind::StatefulSet => ("apps/v1", "StatefulSet", name, uid(2, at)),
        Kind::BatchJob => ("batch/v1", "Job", name, uid(2, at)),
        Kind::DaemonSet => ("apps/v1", "DaemonSet", name, uid(2, at)),
        Kind::Custom => ("example.com/v1", "Widget", name, uid(2, at)),
        Kind::Bare => return None,
    })
}

fn reference(owner: &(&str, &str, String, String)) -> Value {
    json!([{"apiVersion": owner.0, "kind": owner.1, "name": owner.2, "uid": owner.3, "controller": true}])
}

fn marked(mut meta: Value, mark: Option<Mark>) -> Value {
    let (part, key, value) = match mark {
        None => return meta,
        Some(Mark::Label) => ("labels", "repack.volcano.sh/protected", "true"),
        Some(Mark::Annotation) => ("annotations", "repack.volcano.sh/protected", "true"),
        Some(Mark::SafeToEvictFalse) => {
            ("annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict", "false")
        }
        Some(Mark::DoNotDisrupt) => ("annotations", "karpenter.sh/do-not-disrupt", "true"),
    };
    if meta.get(part).is_none() {
        meta[part] = json!({});
    }
    meta[part][key] = json!(value);
    meta
}

/// The owner objects of a workload: the controller and, for a Deployment, what stands above it.
fn owners(draft: &Draft, workload: &Workload, at: usize) -> Vec<Value> {
    let Some(owner) = controller(workload, at) else { return Vec::new() };
    let replicas = |task: usize| draft.pods.iter().filter(|p| p.workload == at && p.task == task).count();
    let meta = |name: &str, id: String| {
        let meta = json!({"name": name, "namespace": workload.namespace, "uid": id, "labels": workload.labels,
            "creationTimestamp": CREATED});
        marked(meta, workload.owner_mark)
    };
    let template = |task: usize| template(workload, task);
    let selector = json!({"matchLabels": {"app": workload.tasks[0].shape.app}});
    let object = json!({"apiVersion": owner.0, "kind": owner.1, "metadata": meta(&owner.2, owner.3.clone())});
    let mut all = vec![object];
    match workload.kind {
        Kind::VolcanoJob => {
            let mut spec = json!({"schedulerName": workload.scheduler, "minAvailable": workload.min_member,
                "queue": "default"});
            let mut tasks = Vec::new();
            for (number, task) in workload.tasks.iter().enumerate() {
                let mut entry =
                    json!({"name": task.name, "replicas": replicas(number), "template": template(number)});
                if let Policy::Evicted(action, true) = workload.policy {
                    entry["policies"] = json!([{"event": "PodEvicted", "action": action}]);
                }
                tasks.push(entry);
            }
            if let Policy::Evicted(action, false) = workload.policy {
                spec["policies"] = json!([{"event": "PodEvicted", "action": action}]);
            }
            spec["tasks"] = json!(tasks);
            all[0]["spec"] = spec;
        }
        Kind::Deployment => {
            let above = ("apps/v1", "Deployment", workload.name.clone(), uid(3, at));
            all[0]["metadata"]["ownerReferences"] = reference(&above);
            let spec = json!({"replicas": replicas(0), "selector": selector, "template": template(0)});
            all[0]["spec"] = spec.clone();
            all.push(json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": meta(&workload.name, uid(3, at)), "spec": spec}));
        }
        Kind::BatchJob => {
            let count = replicas(0);
            all[0]["spec"] = json!({"parallelism": count, "completions": count, "backoffLimit": 6,
                "template": template(0)});
        }
        Kind::StatefulSet | Kind::DaemonSet => {
            all[0]["spec"] = json!({"replicas": replicas(0), "selector": selector, "template": template(0)});
        }
        Kind::Custom | Kind::Bare => {}
    }
    all
}

fn template(workload: &Workload, task: usize) -> Value {
    json!({"metadata": {"labels": labels(workload, task)},
        "spec": spec(&workload.tasks[task].shape, workload.scheduler)})
}

fn labels(workload: &Workload, task: usize) -> Value {
    let shape = &workload.tasks[task].shape;
    let mut labels = Map::new();
    labels.insert("app".to_owned(), json!(shape.app));
    for (key, value) in &workload.labels {
        labels.insert((*key).to_owned(), json!(value));
    }
    if shape.kueue {
        labels.insert("kueue.x-k8s.io/queue-name".to_owned(), json!("q"));
    }
    Value::Object(labels)
}

/// Name of the group of a pod, where its scheduler has groups.
fn group_name(draft: &Draft, pod: &PodDraft, at: usize) -> Option<String> {
    let workload = &draft.workloads[pod.workload];
    (workload.scheduler == "volcano").then(|| match controller(workload, pod.workload) {
        Some(owner) if workload.kind == Kind::VolcanoJob => format!("{}-{}", owner.2, owner.3),
        Some(owner) => format!("podgroup-{}", owner.3),
        None => format!("podgroup-{}", uid(4, at)),
    })
}

fn groups(draft: &Draft) -> Vec<Value> {
    let mut seen = std::collections::BTreeSet::new();
    let mut all = Vec::new();
    for (at, pod) in draft.pods.iter().enumerate() {
        let workload = &draft.workloads[pod.workload];
        let Some(name) = group_name(draft, pod, at) else { continue };
        if !seen.insert((workload.namespace, name.clone())) {
            continue;
        }
        let owner = controller(workload, pod.workload)
            .unwrap_or_else(|| ("v1", "Pod", pod_name(workload, pod), uid(4, at)));
        let mut meta = json!({"name": name, "namespace": workload.namespace, "uid": uid(5, at),
            "ownerReferences": reference(&owner)});
        if workload.kind == Kind::VolcanoJob {
            meta["labels"] = json!(workload.labels);
        }
        all.push(json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": marked(meta, workload.group_mark),
            "spec": {"minMember": workload.min_member, "queue": "default"}, "status": {"phase": "Running"}}));
    }
    all
}

fn pod_name(workload: &Workload, pod: &PodDraft) -> String {
    match workload.kind {
        Kind::VolcanoJob => format!("{}-{}-{}", workload.name, workload.tasks[pod.task].name, pod.ordinal),
        Kind::StatefulSet | Kind::Bare => format!("{}-{}", workload.name, pod.ordinal),
        _ => format!("{}-abc-{:05}", workload.name, pod.ordinal * 7919 % 100_000),
    }
}

fn pod(draft: &Draft, pod: &PodDraft, at: usize) -> Value {
    let workload = &draft.workloads[pod.workload];
    let task = &workload.tasks[pod.task];
    let mut meta = json!({"name": pod_name(workload, pod), "namespace": workload.namespace, "uid": uid(4, at),
        "labels": labels(workload, pod.task), "annotations": {}, "creationTimestamp": CREATED});
    if let Some(name) = group_name(draft, pod, at) {
        meta["annotations"]["scheduling.k8s.io/group-name"] = json!(name);
    }
    if let Some(owner) = controller(workload, pod.workload) {
        meta["ownerReferences"] = reference(&owner);
    }
    if workload.kind == Kind::VolcanoJob {
        meta["labels"]["volcano.sh/job-name"] = json!(workload.name);
        meta["labels"]["volcano.sh/task-spec"] = json!(task.name);
        meta["labels"]["volcano.sh/task-index"] = json!(pod.ordinal.to_string());
        meta["annotations"]["volcano.sh/task-spec"] = json!(task.name);
    }
    if pod.state == PodState::Terminating {
        meta["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    }
    let phase = match pod.state {
        PodState::Starting | PodState::Waiting => "Pending",
        PodState::Succeeded => "Succeeded",
        PodState::Failed => "Failed",
        PodState::Running | PodState::Terminating => "Running",
    };
    let mut spec = spec(&task.shape, workload.scheduler);
    if pod.state != PodState::Waiting {
        spec["nodeName"] = json!(draft.nodes[pod.node].name);
    }
    let ready = if phase == "Running" { "True" } else { "False" };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": marked(meta, pod.mark), "spec": spec,
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}})
}

fn spec(shape: &Shape, scheduler: &str) -> Value {
    let mut requests = json!({"cpu": format!("{}m", shape.cpu), "memory": format!("{}Mi", shape.memory)});
    for (name, amount) in [(CARD, shape.cards), (SECOND, shape.second)] {
        if amount > 0 {
            requests[name] = json!(amount.to_string());
        }
    }
    let mut container = json!({"name": "main", "resources": {"requests": requests}});
    if let Some(port) = shape.port {
        container["ports"] = json!([{"containerPort": port, "hostPort": port}]);
    }
    let mut spec = json!({"schedulerName": scheduler, "priority": shape.priority, "containers": [container]});
    if let Some((key, value)) = &shape.selector {
        spec["nodeSelector"] = json!({*key: value});
    }
    if let Some(taint) = shape.tolerates {
        spec["tolerations"] = json!([{"key": format!("example.com/{taint}"), "operator": "Exists"}]);
    }
    if shape.host_path {
        spec["volumes"] = json!([{"name": "data", "hostPath": {"path": "/data"}}]);
    }
    if let Some((key, skew)) = shape.spread {
        spec["topologySpreadConstraints"] = json!([{"maxSkew": skew, "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": shape.app}}}]);
    }
    let term = |(app, key): &(String, &str)| {
        json!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key,
            "labelSelector": {"matchLabels": {"app": app}},
            "namespaces": ["team-a", "team-b", "team-c"]}]})
    };
    let mut affinity = Map::new();
    if let Some((key, values)) = &shape.one_of {
        let terms = json!([{"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]);
        affinity.insert(
            "nodeAffinity".to_owned(),
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}),
        );
    }
    if let Some(near) = &shape.near {
        affinity.insert("podAffinity".to_owned(), term(near));
    }
    if let Some(away) = &shape.away {
        affinity.insert("podAntiAffinity".to_owned(), term(away));
    }
    if !affinity.is_empty() {
        spec["affinity"] = Value::Object(affinity);
    }
    spec
}

fn budget(b: &BudgetDraft) -> Value {
    let mut status = json!({"disruptionsAllowed": b.allowed, "currentHealthy": b.healthy,
        "desiredHealthy": b.desired, "expectedPods": b.expected, "observedGeneration": 1});
    if b.sync_failed {
        status["conditions"] =
            json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]);
    }
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": b.name, "namespace": b.namespace, "generation": 1},
        "spec": {"minAvailable": b.desired, "selector": {"matchLabels": {"app": b.app}}}, "status": status})
}
