//! What moves, how it comes back to where it began, and what is right after a run.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::audit::Mark;
use crate::cluster::controller::LEASE;
use crate::cluster::objects::{has_condition, list, list_at, name_of, pod_spec};

/// For what takes seconds on an idle machine. Far from every deadline of a run, which is ten minutes away.
pub const SOON: Duration = Duration::from_mins(1);
pub const NAMESPACE: &str = "walk";
const PODS: &str = "/api/v1/namespaces/walk/pods";
const SETS: &str = "/apis/apps/v1/namespaces/walk/statefulsets";
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/walk/podgroups";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kubectl-repack";
/// The node to be freed, and those with six of eight cards taken.
pub const NODES: [&str; 3] = ["w-01", "w-02", "w-03"];
/// One card each, on the first node.
const MOVED: [&str; 2] = ["web", "db"];

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixture {
    /// A pod of a Deployment and one of a `StatefulSet`.
    Sets,
    /// Two pods of a Volcano Job that restarts as a whole.
    Gang,
}

fn pods(cluster: &Cluster) -> Vec<Value> {
    list(&cluster.get("admin", PODS).ok()).to_vec()
}

fn is_moved(pod: &Value) -> bool {
    let name = name_of(pod);
    name.starts_with("gang-") || MOVED.iter().any(|moved| name.starts_with(&format!("{moved}-")))
}

/// The spec of a pod that kube-scheduler places.
fn set_spec(cards: u32) -> Value {
    let mut spec = pod_spec(cards, "c", &json!({}));
    spec["schedulerName"] = json!("default-scheduler");
    spec["restartPolicy"] = json!("Always");
    spec["terminationGracePeriodSeconds"] = json!(1);
    spec
}

/// What a fixture is made of, and how it comes back to where it began.
impl Cluster {
    /// Deletes what moves, and makes what the fixture moves.
    pub fn fill(&self, fixture: Fixture) {
        self.delete("admin", "/apis/batch.volcano.sh/v1alpha1/namespaces/walk/jobs").ok();
        for path in [SETS, "/apis/apps/v1/namespaces/walk/deployments", GROUPS, PODS] {
            self.delete("admin", path).ok();
        }
        self.wait_for("everything to go", SOON, || pods(self).is_empty().then_some(()));
        // Nobody would make these again: they stay.
        for node in &NODES[1..] {
            let spec = set_spec(6);
            let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
                "metadata": {"namespace": NAMESPACE, "name": format!("stays-{node}")}});
            pod["spec"]["nodeName"] = json!(node);
            self.create(&pod);
        }
        self.cordon(&NODES[1..], true);
        match fixture {
            Fixture::Sets => {
                self.set("Deployment", MOVED[0]);
                self.set("StatefulSet", MOVED[1]);
            }
            Fixture::Gang => {
                self.create(&json!({
                    "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                    "metadata": {"namespace": NAMESPACE, "name": "gang"},
                    "spec": {
                        "schedulerName": "volcano", "queue": "default", "minAvailable": 2,
                        "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
                        "tasks": [{"name": "w", "replicas": 2, "template": {"spec": pod_spec(1, "c", &json!({}))}}],
                    },
                    "status": {"state": {"phase": "Running"}},
                }));
            }
        }
    }

    /// A workload of one pod.
    fn set(&self, kind: &str, name: &str) {
        let (labels, spec) = (json!({"app": name}), set_spec(1));
        self.create(&json!({
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {"replicas": 1, "serviceName": name, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": spec}},
        }));
    }

    /// Lets nothing new onto nodes, or lets it on again.
    fn cordon(&self, nodes: &[&str], on: bool) {
        for node in nodes {
            let spec = json!({"spec": {"unschedulable": on}});
            self.patch("admin", &format!("/api/v1/nodes/{node}"), &spec).ok();
        }
        self.wait_for("the nodes' taints", SOON, || {
            let all = self.get("admin", "/api/v1/nodes").ok();
            let as_said = |node: &&Value| list_at(&node["spec"]["taints"]).is_empty() != on;
            let mut named = list(&all).iter().filter(|node| nodes.contains(&&*name_of(node)));
            named.all(|node| as_said(&node)).then_some(())
        });
    }

    /// Everything that moves is on the first node again, made anew.
    pub fn refill(&self, fixture: Fixture) {
        self.cordon(&NODES[1..], true);
        let elsewhere = |pod: &&Value| is_moved(pod) && pod["spec"]["nodeName"] != NODES[0];
        for pod in pods(self).iter().filter(elsewhere) {
            // Where one of a gang goes, all go.
            self.delete("admin", &format!("{PODS}/{}", name_of(pod)));
        }
        self.wait_for("the pods to be back", SOON, || {
            let pods = pods(self);
            let back: Vec<&Value> = pods.iter().filter(|pod| is_moved(pod)).collect();
            let on_first = |pod: &&Value| {
                pod["spec"]["nodeName"] == NODES[0]
                    && has_condition(pod, "Ready")
                    && pod["metadata"]["deletionTimestamp"].is_null()
            };
            let group = fixture == Fixture::Sets || !list(&self.get("admin", GROUPS).ok()).is_empty();
            (group && back.len() == 2 && back.iter().all(on_first)).then_some(())
        });
        self.cordon(&NODES[1..], false);
        // Watches tell of it within milliseconds.
        std::thread::sleep(Duration::from_millis(200));
    }

    /// A run ended as it should: as planned, in time, with every pod evicted once, and nothing of it left. Where pods came
    /// without a gate it ended as it could, and says so.
    pub fn is_right(&self, fixture: Fixture, run: &Value, mark: Mark, place: &str, gated: bool) {
        let status = &run["status"];
        let held = list_at(&status["conditions"]).iter().find(|condition| condition["status"] == "True");
        let reason = held.map_or("", |condition| condition["reason"].as_str().unwrap());
        let result = &status["result"];
        let freed = result["freedNodes"] == json!([NODES[0]]);
        if gated || freed {
            assert!(freed, "{place}: {status:#}");
            let elsewhere = !gated && reason == "ExecutionCompletedWithAlternativePlacement";
            assert!(reason == "ExecutionCompleted" || elsewhere, "{place}: {status:#}");
        } else {
            assert_eq!(
                (reason, &result["freedNodes"]),
                ("BenefitNotRealized", &json!([])),
                "{place}: {status:#}"
            );
        }
        assert_eq!(
            (&result["metricsVerified"], &result["takenNodes"]),
            (&json!(true), &json!([])),
            "{place}"
        );
        let time = |name: &str| status[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert!(time("completionTime") <= time("executionDeadline"), "{place}: {status:#}");

        let all = list_at(&status["relocations"]);
        // Where a replacement came back to the node, its mates are spared.
        let spared = |moved: &&Value| !freed && moved["eviction"]["phase"] == "Rejected";
        let moved: Vec<&Value> = all.iter().filter(|each| !spared(each)).collect();
        assert!(moved.iter().all(|each| each["placement"]["phase"] == "Placed"), "{place}: {status:#}");
        let victims: BTreeSet<&str> =
            all.iter().map(|moved| moved["victimPodUID"].as_str().unwrap()).collect();
        let calls = self.audit_since(mark);
        let evicted: Vec<&str> = calls
            .iter()
            .filter(|call| call.resource == "pods/eviction" && call.code < 300)
            .map(|call| call.evicted.as_str())
            .collect();
        let once: BTreeSet<&str> = evicted.iter().copied().collect();
        assert_eq!(once.len(), evicted.len(), "{place}: evicted twice: {evicted:?}");
        assert!(once.is_subset(&victims), "{place}: {evicted:?} of {victims:?}");
        // The rest of a gang goes by itself.
        let expected = if fixture == Fixture::Gang { 1 } else { moved.len() };
        assert!(!moved.is_empty(), "{place}: {status:#}");
        assert_eq!(evicted.len(), expected, "{place}: {evicted:?}");

        let pods = self.wait_for(&format!("all pods to run ({place})"), SOON, || {
            let pods = pods(self);
            (pods.len() == 4 && pods.iter().all(|pod| has_condition(pod, "Ready"))).then_some(pods)
        });
        for pod in &pods {
            let gates = list_at(&pod["spec"]["schedulingGates"]);
            let owner = &pod["metadata"]["annotations"]["repack.volcano.sh/placement-gate-owner"];
            assert!(gates.is_empty() && owner.is_null(), "{place}: {pod:#}");
            assert!(!freed || pod["spec"]["nodeName"] != NODES[0], "{place}: {pod:#}");
        }
        for group in list(&self.get("admin", GROUPS).ok()) {
            let lease = &group["metadata"]["annotations"]["repack.volcano.sh/placement-lease"];
            assert!(lease.is_null(), "{place}: {group:#}");
        }
        let webhooks = self.get("admin", WEBHOOKS).ok();
        // That of runs listens always.
        let of_runs = |webhook: &&Value| webhook["rules"][0]["scope"] == "Cluster";
        for webhook in list_at(&webhooks["webhooks"]).iter().filter(|webhook| !of_runs(webhook)) {
            let operator = &webhook["namespaceSelector"]["matchExpressions"][0]["operator"];
            assert_eq!(operator, "DoesNotExist", "{place}: {webhook:#}");
        }
        let lease = self.get("admin", LEASE).ok();
        let noted = lease["metadata"]["annotations"]["repack.volcano.sh/last-execution"].as_str();
        let noted: jiff::Timestamp = noted.expect("the cooldown counts from the end").parse().unwrap();
        assert!(noted >= time("startTime"), "{place}: {lease:#}");
    }
}
