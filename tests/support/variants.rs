//! The same cluster with one thing changed: a rule less, a node more, other names. What has to hold between the plans
//! of both is known without knowing either plan.

use kubectl_repack::snapshot::Snapshot;
use serde_json::{Value, json};

use super::generator::CARD;
use super::rng::Rng;

/// Leaves one rule out. `None` where the cluster has no such rule.
pub type Lax = fn(&[Value], &mut Rng) -> Option<Vec<Value>>;

/// Every kind of rule that can be left out, by name. Without one of them every plan is still a plan.
pub const LAX: [(&str, Lax); 6] = [
    ("taint", without_a_taint),
    ("selector", |all, rng| without_a_part(all, rng, &["/nodeSelector", "/affinity/nodeAffinity"])),
    ("anti-affinity", |all, rng| without_a_part(all, rng, &["/affinity/podAntiAffinity"])),
    ("affinity", |all, rng| without_a_part(all, rng, &["/affinity/podAffinity"])),
    ("host port", |all, rng| without_a_part(all, rng, &["/containers/0/ports"])),
    ("disruption budget", without_a_budget),
];

fn without_a_taint(all: &[Value], rng: &mut Rng) -> Option<Vec<Value>> {
    let taints = |node: &Value| {
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let ours = |t: &Value| t["key"].as_str().is_some_and(|key| key.starts_with("example.com/"));
        taints.iter().position(ours)
    };
    let tainted: Vec<usize> = (0..all.len()).filter(|&at| taints(&all[at]).is_some()).collect();
    let at = *pick(rng, &tainted)?;
    let mut all = all.to_vec();
    let taint = taints(&all[at])?;
    all[at]["spec"]["taints"].as_array_mut()?.remove(taint);
    Some(all)
}

fn without_a_budget(all: &[Value], rng: &mut Rng) -> Option<Vec<Value>> {
    let budgets: Vec<usize> = (0..all.len()).filter(|&at| all[at]["kind"] == "PodDisruptionBudget").collect();
    let at = *pick(rng, &budgets)?;
    let mut all = all.to_vec();
    all.remove(at);
    Some(all)
}

/// Takes parts out of the pods of one application, live ones and templates.
fn without_a_part(all: &[Value], rng: &mut Rng, parts: &[&str]) -> Option<Vec<Value>> {
    let mut all = all.to_vec();
    let mut apps: Vec<String> = Vec::new();
    for (app, spec) in all.iter_mut().flat_map(pod_specs) {
        if parts.iter().any(|part| spec.pointer(part).is_some()) {
            apps.push(app);
        }
    }
    apps.sort();
    apps.dedup();
    let app = pick(rng, &apps)?.clone();
    for (_, spec) in all.iter_mut().flat_map(pod_specs).filter(|(other, _)| *other == app) {
        for part in parts {
            let (above, name) = part.rsplit_once('/')?;
            if let Some(above) = spec.pointer_mut(above).and_then(Value::as_object_mut) {
                above.remove(name);
            }
        }
    }
    Some(all)
}

fn pick<'a, T>(rng: &mut Rng, items: &'a [T]) -> Option<&'a T> {
    (!items.is_empty()).then(|| rng.pick(items))
}

/// The pod specs of an object with the application that its labels name.
fn pod_specs(object: &mut Value) -> Vec<(String, &mut Value)> {
    let app = |meta: &Value| meta["labels"]["app"].as_str().unwrap_or_default().to_owned();
    if object["kind"] == "Pod" {
        return vec![(app(&object["metadata"]), &mut object["spec"])];
    }
    let templates = match object.pointer("/spec/template") {
        Some(_) => object.pointer_mut("/spec/template").into_iter().collect(),
        None => {
            object.pointer_mut("/spec/tasks").and_then(Value::as_array_mut).map_or_else(Vec::new, |tasks| {
                tasks.iter_mut().filter_map(|task| task.get_mut("template")).collect::<Vec<_>>()
            })
        }
    };
    templates.into_iter().map(|template| (app(&template["metadata"]), &mut template["spec"])).collect()
}

/// A node more, with nothing on it.
pub fn with_an_idle_node(all: &[Value], rng: &mut Rng) -> Vec<Value> {
    let mut all = all.to_vec();
    all.push(another_node(&all, rng));
    all
}

/// A node more, with a pod on it that holds cards and never moves, or may.
pub fn with_an_occupied_node(all: &[Value], rng: &mut Rng) -> Vec<Value> {
    let mut all = all.to_vec();
    let node = another_node(&all, rng);
    let owner = json!([{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "one-more",
        "uid": "one-more-job", "controller": true}]);
    let mut meta = json!({"namespace": "team-a", "name": "one-more-0", "uid": "one-more-0"});
    if rng.chance(50) {
        meta["ownerReferences"] = owner.clone();
        meta["annotations"] = json!({"scheduling.k8s.io/group-name": "one-more"});
        all.push(json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
            "metadata": {"namespace": "team-a", "name": "one-more", "uid": "one-more-job"},
            "spec": {"minAvailable": 1, "schedulerName": "volcano"}}));
        all.push(json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"namespace": "team-a", "name": "one-more", "uid": "one-more", "ownerReferences": owner},
            "spec": {"minMember": 1, "queue": "default"}, "status": {"phase": "Running"}}));
    }
    let requests = json!({"cpu": "1", "memory": "1Gi", CARD: "1"});
    all.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta,
        "spec": {"schedulerName": "volcano", "nodeName": node["metadata"]["name"],
            "containers": [{"name": "main", "resources": {"requests": requests}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}));
    all.push(node);
    all
}

/// A node like one of those there, Ready, under a name that changes the place of the others.
fn another_node(all: &[Value], rng: &mut Rng) -> Value {
    let nodes: Vec<&Value> = all.iter().filter(|o| o["kind"] == "Node").collect();
    let mut node = (*rng.pick(&nodes)).clone();
    let name = *rng.pick(&["a-node", "n0002-b", "z-node"]);
    node["metadata"]["name"] = name.into();
    node["metadata"]["uid"] = "another-node".into();
    node["metadata"]["labels"]["kubernetes.io/hostname"] = name.into();
    node["spec"] = json!({});
    node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    node
}

/// Other names for nodes, namespaces, workloads with their pods, and groups: all that names decide is which of two
/// equal plans it is.
pub fn renamed(all: &[Value], rng: &mut Rng) -> Vec<Value> {
    let mut names = Names {
        nodes: shuffled(rng, 100),
        workloads: shuffled(rng, 1_000),
        numbers: shuffled(rng, 4_096),
        namespaces: shuffled(rng, 3),
    };
    all.iter().map(|object| names.of(object)).collect()
}

fn shuffled(rng: &mut Rng, count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    rng.shuffle(&mut all);
    all
}

struct Names {
    nodes: Vec<usize>,
    workloads: Vec<usize>,
    numbers: Vec<usize>,
    namespaces: Vec<usize>,
}

const NAMESPACES: [&str; 3] = ["team-a", "team-b", "team-c"];

impl Names {
    fn of(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.of(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(key, value)| (key.clone(), self.of(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// Nodes are `n0000`; names of workloads begin with `w000`; names of groups hold uids, whose last part is a number.
    fn text(&self, text: &str) -> String {
        if let Some(at) = NAMESPACES.iter().position(|name| *name == text) {
            return NAMESPACES[self.namespaces[at]].to_owned();
        }
        if let Some(number) =
            text.strip_prefix('n').filter(|rest| rest.len() == 4).and_then(|n| n.parse().ok())
        {
            let number: usize = number;
            return format!("m{:02}", self.nodes[number]);
        }
        let (head, text) = match text.strip_prefix('w').and_then(|rest| rest.get(..3)?.parse::<usize>().ok())
        {
            Some(number) => (format!("w{:03}", self.workloads[number]), &text[4..]),
            None => (String::new(), text),
        };
        let number = text.len().checked_sub(12).and_then(|at| text.get(at..));
        let number = number.filter(|_| text.contains("-4000-8000-"));
        match number.and_then(|number| usize::from_str_radix(number, 16).ok()) {
            Some(number) => format!("{head}{}{:012x}", &text[..text.len() - 12], self.numbers[number]),
            None => format!("{head}{text}"),
        }
    }
}

/// A gang that needs one hole more than there are, of one to three cards.
pub fn gang_that_just_does_not_fit(snapshot: &Snapshot, cards: i64) -> Vec<Value> {
    let card = snapshot.resource_named(CARD).unwrap();
    let holes = snapshot.nodes.iter().zip(&snapshot.pods_on).map(|(node, pods)| {
        let used: i64 = pods.iter().map(|&pod| snapshot.charged(pod, card)).sum();
        (node.allocatable[card.at()] - used).div_euclid(cards)
    });
    let count = holes.sum::<i64>() + 1;
    let pod = |at| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team-a", "name": format!("gang-{at}"),
            "uid": format!("gang-{at}"), "annotations": {"scheduling.k8s.io/group-name": "gang"}},
            "spec": {"schedulerName": "volcano", "containers": [{"name": "main",
                "resources": {"requests": {CARD: cards.to_string()}}}]},
            "status": {"phase": "Pending"}})
    };
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "gang", "uid": "gang"}, "spec": {"minMember": count}});
    (0..count).map(pod).chain([group]).collect()
}
