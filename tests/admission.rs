//! Who creates runs, and whose webhooks the API server trusts, on a real control plane.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::controller::{ACCOUNT, RUNS, start_executor};
use cluster::objects::{ASCEND, Pool};
use cluster::process::Processes;
use cluster::{Cluster, Options};
use serde_json::{Value, json};

const OPERATOR: &str = "operator";
const SOON: Duration = Duration::from_mins(2);

struct Bed {
    _controller: Processes,
    cluster: Cluster,
    _alone: MutexGuard<'static, ()>,
}

/// A pod of one card on the first of two nodes, a controller, and an operator; none: there is no Go.
fn bed(more: &str) -> Option<Bed> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = Cluster::start(&Options { users: &[ACCOUNT, OPERATOR], ..Options::default() })?;
    let nodes = cluster.nodes(&Pool { prefix: "a-", count: 2, ..Pool::default() });
    cluster.namespace("a");
    for (node, name, cards) in [("a-01", "web", 1), ("a-02", "x", 6)] {
        cluster.deployment_on(node, &nodes, "a", name, cards);
    }
    let words = format!("--schedulers volcano,default-scheduler --allow-ungrouped {more}");
    let controller = start_executor(&cluster, env!("CARGO_BIN_EXE_kubectl-repack"), &words);
    cluster.kubectl_text("create clusterrolebinding o --clusterrole=kubectl-repack-operator --user=operator");
    cluster.wait_for("the webhooks", SOON, || {
        let done = cluster.kubectl("admin", "get mutatingwebhookconfiguration kubectl-repack");
        done.status.success().then_some(())
    });
    Some(Bed { _controller: controller, cluster, _alone: alone })
}

fn run(name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
           "metadata": {"name": name, "annotations": annotations},
           "spec": {"mode": "Execute", "goals": [{"resource": ASCEND}]}})
}

impl Bed {
    fn get(&self, name: &str) -> Value {
        self.cluster.get("admin", &format!("{RUNS}/{name}")).ok()
    }

    /// Reason and message of the run's end.
    fn end(&self, name: &str) -> (String, String) {
        self.cluster.wait_for(&format!("run {name} has ended"), SOON, || {
            let run = self.get(name);
            let last = run["status"]["conditions"].as_array()?.last()?.clone();
            let over = matches!(run["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            let word = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
            over.then(|| (word("reason"), word("message")))
        })
    }

    /// Does something while the API server calls nobody about runs.
    fn without_webhooks(&self, work: impl FnOnce()) {
        self.cluster.kubectl_text("delete mutatingwebhookconfiguration kubectl-repack");
        // The server takes up a changed configuration within about a second.
        self.cluster.wait_for("a run that is not noted", SOON, || {
            let mut run = run("probe", &json!({}));
            run["spec"]["mode"] = json!("DryRun");
            let made = self.cluster.post("admin", &format!("{RUNS}?dryRun=All"), &run).ok();
            made["metadata"]["annotations"].is_null().then_some(())
        });
        work();
    }

    fn evictions(&self) -> usize {
        let calls = self.cluster.audit();
        calls.iter().filter(|call| call.resource == "pods/eviction" && call.code == 201).count()
    }
}

#[test]
fn a_run_moves_only_pods_that_whoever_created_it_may_evict_and_nobody_lies_about_who_that_is() {
    let Some(bed) = bed("") else { return };
    let cluster = &bed.cluster;
    let create = |name: &str, annotations: &Value| cluster.post(OPERATOR, RUNS, &run(name, annotations));
    cluster.wait_for("the policy and the roles", SOON, || {
        (create("first", &json!({})).code == 201).then_some(())
    });
    let (reason, message) = bed.end("first");
    assert_eq!(reason, "ExecutionPreparationFailed", "{message}");
    assert!(message.contains("pods/eviction in namespace a for operator"), "{message}");
    assert_eq!(bed.evictions(), 0);

    // What somebody claims is written over by what the server says.
    let noted = "repack.volcano.sh/creator";
    assert_eq!(create("claims", &json!({noted: "admin"})).code, 201);
    assert_eq!(bed.get("claims")["metadata"]["annotations"][noted], OPERATOR);
    assert_eq!(bed.end("claims").0, "ExecutionPreparationFailed");
    // So is every later change.
    let changed = cluster.kubectl("admin", &format!("annotate repackrun claims --overwrite {noted}=admin"));
    assert!(String::from_utf8_lossy(&changed.stderr).contains("never change"));
    assert!(cluster.kubectl("admin", "annotate repackrun claims mine=1").status.success());
    // Where no webhook writes it over, a claim is refused.
    let groups = "repack.volcano.sh/creator-groups";
    bed.without_webhooks(|| {
        let refused = create("lies", &json!({noted: "admin"}));
        assert_eq!(refused.code, 403);
        assert!(refused.message().contains("names somebody else"), "{}", refused.message());
        let of_claims = bed.get("claims")["metadata"]["annotations"][groups].clone();
        let own = create("tells", &json!({noted: OPERATOR, groups: of_claims}));
        assert_eq!(own.code, 201, "{}", own.message());
    });
    assert_eq!(bed.end("tells").0, "ExecutionPreparationFailed");

    cluster.kubectl_text("create rolebinding o -n a --clusterrole=kubectl-repack-evictor --user=operator");
    assert_eq!(create("second", &json!({})).code, 201);
    let (reason, message) = bed.end("second");
    assert_eq!(reason, "ExecutionCompleted", "{message}");
    assert_eq!(bed.evictions(), 1);
}

#[test]
fn certificates_are_renewed_while_the_webhooks_go_on_answering() {
    let Some(bed) = bed("--webhook-certificate-lifetime 8s --check-creator false") else { return };
    let note = || {
        let lease = bed.cluster.get(
            "admin",
            "/apis/coordination.k8s.io/v1/namespaces/kubectl-repack/leases/kubectl-repack-controller",
        );
        let annotations = lease.ok()["metadata"]["annotations"].clone();
        let all: Vec<String> = annotations
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| key.starts_with("ca.repack.volcano.sh/"))
            .map(|(_, value)| value.as_str().unwrap().split_once('\n').unwrap().1.to_owned())
            .collect();
        all.concat()
    };
    let mut seen: Vec<String> = Vec::new();
    bed.cluster.wait_for("the third certificate", SOON, || {
        let now = note();
        if now.matches("BEGIN").count() == 1 && !seen.contains(&now) {
            seen.push(now);
        }
        (seen.len() >= 3).then_some(())
    });
    assert_eq!(bed.cluster.post("admin", RUNS, &run("gated", &json!({}))).code, 201);
    assert_eq!(bed.end("gated").0, "ExecutionCompleted");
    assert_eq!(bed.get("gated")["metadata"]["annotations"]["repack.volcano.sh/creator"], "admin");
}
