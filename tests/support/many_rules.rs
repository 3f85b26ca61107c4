//! Large clusters in which every pod has a rule of its own: thousands of selectors, affinities or disruption budgets.

use serde_json::{Value, json};

use super::generator::CARD;
use super::rng::Rng;

/// The rule that each pod has for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// No rule.
    Nothing,
    /// A node selector that only its node meets.
    Selector,
    /// A node affinity that names its node and two others.
    Affinity,
    /// A node affinity that leaves one node out.
    NotIn,
    /// An anti-affinity to the pods of its application, of which there is one.
    AntiAffinity,
    /// A disruption budget.
    Budget,
}

const CARDS: usize = 8;

/// Equal nodes with two to three pods each, every pod a job of its own.
pub fn objects(nodes: usize, own: Own) -> Vec<Value> {
    let mut rng = Rng::new(1, "many rules");
    let mut all: Vec<Value> = (0..nodes).map(node).collect();
    let mut free = vec![CARDS; nodes];
    for number in 0..nodes * 5 / 2 {
        let cards = *rng.pick(&[1, 1, 1, 2, 4]);
        let Some(at) = (0..40).map(|_| rng.below(nodes)).find(|&at| free[at] >= cards) else { continue };
        free[at] -= cards;
        all.extend(job(number, cards, at, nodes, own));
    }
    all
}

fn name(at: usize) -> String {
    format!("node-{at:05}")
}

fn node(at: usize) -> Value {
    let amounts = json!({"cpu": "192", "memory": "1536Gi", "pods": "256", CARD: CARDS.to_string()});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name(at), "uid": format!("n{at}"), "labels": {"kubernetes.io/hostname": name(at)}},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn job(number: usize, cards: usize, at: usize, nodes: usize, own: Own) -> Vec<Value> {
    // Of its own, so that the pods stand where they would without rules.
    let mut rng = Rng::new(number as u64, "rule");
    let (namespace, app) = (format!("team-{}", number % 6), format!("job-{number:06}"));
    let owner = json!([{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": app,
        "uid": format!("j{number}"), "controller": true}]);
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": namespace, "name": app, "uid": format!("g{number}"), "ownerReferences": owner},
        "spec": {"minMember": 1, "queue": "default"}, "status": {"phase": "Running"}});
    let requests = json!({"cpu": (12 * cards).to_string(), CARD: cards.to_string()});
    let mut spec = json!({"schedulerName": "volcano", "nodeName": name(at),
        "containers": [{"name": "main", "resources": {"requests": requests}}]});
    let hosts = |op: &str, values: Vec<String>| {
        let terms = json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": op, "values": values}]}]);
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
    };
    match own {
        Own::Nothing | Own::Budget => {}
        Own::Selector => spec["nodeSelector"] = json!({"kubernetes.io/hostname": name(at)}),
        Own::Affinity => {
            let two = [rng.below(nodes), rng.below(nodes)];
            spec["affinity"] = hosts("In", vec![name(at), name(two[0]), name(two[1])]);
        }
        Own::NotIn => {
            let other = (at + 1 + rng.below(nodes - 1)) % nodes;
            spec["affinity"] = hosts("NotIn", vec![name(other)]);
        }
        Own::AntiAffinity => {
            spec["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}]}});
        }
    }
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace, "name": format!("{app}-0"), "uid": format!("p{number}"),
            "labels": {"app": app}, "annotations": {"scheduling.k8s.io/group-name": app}, "ownerReferences": owner},
        "spec": spec, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"namespace": namespace, "name": app, "generation": 1},
        "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1,
            "observedGeneration": 1}});
    let mut all = vec![group, pod];
    if own == Own::Budget {
        all.push(budget);
    }
    all
}
