//! Execute on a real control plane, with the real scheduler and controllers: the plan is carried out, and a job that
//! needed a whole node fits.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use cluster::objects::{ASCEND, Pool};
use cluster::process::Processes;
use cluster::{Cluster, Options};
use serde_json::{Value, json};

/// The account of the manifests: the controller runs under exactly the shipped roles.
const ACCOUNT: &str = "system:serviceaccount:kubectl-repack:kubectl-repack-controller";
const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-repack");
const SOON: Duration = Duration::from_mins(2);

struct Bed {
    cluster: Cluster,
    _controller: Mutex<Processes>,
}

static BED: LazyLock<Option<Bed>> = LazyLock::new(|| {
    let cluster = Cluster::start(&Options { users: &[ACCOUNT], ..Options::default() })?;
    let files = ["namespace.yaml", "rbac/controller.yaml", "rbac/execute.yaml"];
    for file in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests").join(file);
        cluster.apply(&fs::read_to_string(path).unwrap());
    }
    let mut controller = Processes::new(&cluster.folder().join("controller")).unwrap();
    let arguments = "controller --lease-namespace kubectl-repack --lease-duration 2s --listen 127.0.0.1 --health-port 0 \
                     --metrics-port 0 --webhook-port 0 --webhook-url https://127.0.0.1 --execute-cooldown 0s \
                     --schedulers volcano,default-scheduler --allow-ungrouped";
    let mut command = cluster.command(ACCOUNT, BINARY);
    controller.start("controller", command.args(arguments.split_whitespace())).unwrap();
    Some(Bed { cluster, _controller: Mutex::new(controller) })
});

impl Bed {
    /// A Deployment or StatefulSet whose pods run on the nodes given, one after the other.
    fn workload(&self, kind: &str, namespace: &str, name: &str, cards: u32, pins: &[&str]) {
        let labels = json!({"app": name});
        let template = |node: Option<&str>| {
            let mut spec = json!({
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "c", "image": "x", "resources": {
                    "requests": {ASCEND: cards.to_string()}, "limits": {ASCEND: cards.to_string()}}}],
            });
            if let Some(node) = node {
                spec["nodeSelector"] = json!({"kubernetes.io/hostname": node});
            }
            json!({"metadata": {"labels": labels}, "spec": spec})
        };
        // Cordons steer the first placement; the template names no node.
        let _ = pins;
        self.cluster.create(&json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"replicas": pins.len(), "serviceName": name, "selector": {"matchLabels": labels},
                     "podManagementPolicy": "Parallel", "template": template(None)},
        }));
    }

    fn cordon(&self, node: &str, off: bool) {
        let words = if off { "cordon" } else { "uncordon" };
        self.cluster.kubectl_text(&format!("{words} {node}"));
    }

    fn status(&self, run: &str) -> Value {
        let text = self.cluster.kubectl_text(&format!("get repackrun {run} -o json"));
        serde_json::from_str::<Value>(&text).unwrap()["status"].clone()
    }

    fn execute(&self, name: &str, spec: &Value) -> Value {
        let mut all = json!({"mode": "Execute", "goals": [{"resource": ASCEND}]});
        for (key, value) in spec.as_object().unwrap() {
            all[key] = value.clone();
        }
        self.cluster.create(&json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
            "metadata": {"name": name}, "spec": all}));
        self.cluster.wait_for(&format!("run {name} has ended"), SOON, || {
            let status = self.status(name);
            matches!(status["phase"].as_str(), Some("Succeeded" | "Failed")).then_some(status)
        })
    }
}

#[test]
fn pods_of_a_deployment_and_a_statefulset_go_where_they_were_planned_and_their_node_is_free() {
    let Some(bed) = &*BED else { return };
    bed.cluster.nodes(&Pool { prefix: "a-", count: 3, labels: json!({"pool": "a"}), ..Pool::default() });
    bed.cluster.namespace("a");
    for (free, kind, name, cards) in [
        ("a-01", "Deployment", "web", 1),
        ("a-01", "StatefulSet", "db", 1),
        ("a-02", "StatefulSet", "x", 6),
        ("a-03", "StatefulSet", "y", 6),
    ] {
        for node in ["a-01", "a-02", "a-03"] {
            bed.cordon(node, node != free);
        }
        bed.workload(kind, "a", name, cards, &[free]);
        bed.cluster.pods_run("a");
    }
    for node in ["a-01", "a-02", "a-03"] {
        bed.cordon(node, false);
    }
    let status = bed.execute("all", &json!({}));
    assert_eq!(status["conditions"][1]["reason"], "ExecutionCompleted", "{status:#}");
    assert_eq!(status["result"]["freedNodes"], json!(["a-01"]));
    assert_eq!(status["result"]["metricsVerified"], true);
    for relocation in status["relocations"].as_array().unwrap() {
        assert_eq!(
            relocation["placement"]["actualNodeName"], relocation["plannedNodeName"],
            "{relocation:#}"
        );
    }
    let pods = bed.cluster.kubectl_text("get pod -A --field-selector spec.nodeName=a-01 -o name");
    assert_eq!(pods.trim(), "");
    // A job that needs a whole node fits.
    bed.workload("StatefulSet", "a", "big", 8, &["a-01"]);
    bed.cluster.pods_run("a");
    let run = bed.cluster.kubectl_text("get repackrun all -o json");
    let run: Value = serde_json::from_str(&run).unwrap();
    assert!(run["metadata"]["finalizers"].is_null() && run["metadata"]["labels"].is_null(), "{run:#}");
    let left = bed.cluster.kubectl_text("get mutatingwebhookconfiguration kubectl-repack -o jsonpath={.webhooks[*].namespaceSelector.matchExpressions[*].operator}");
    assert_eq!(left.trim(), "DoesNotExist DoesNotExist");
}
