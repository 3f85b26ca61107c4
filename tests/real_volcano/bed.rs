//! The bed of the cases: a cluster with Volcano and our controller, and what a case says about its part of it.

use std::cell::Cell;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::audit::Call;
use crate::cluster::controller::{ACCOUNT, RUNS, start_executor};
use crate::cluster::objects::{Pool, has_condition, list, list_at, name_of};
use crate::cluster::process::Processes;
use crate::cluster::{Cluster, Options, poll, volcano};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-repack");
const PODS: &str = "/api/v1/pods";
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/podgroups";
/// For what takes Volcano some cycles of a second.
const SOON: Duration = Duration::from_mins(1);
/// A replacement that finds no room is let go after five minutes.
const ENDS: Duration = Duration::from_mins(8);

/// The cluster and everything that runs beside it, ended in this order.
pub struct Bed {
    controller: Mutex<Processes>,
    volcano: Mutex<Processes>,
    pub cluster: Cluster,
}

/// What came of a case.
#[derive(Default)]
pub struct Row {
    pub evicted: String,
    pub landed: String,
    pub reason: String,
    pub freed: String,
    pub seconds: f64,
    pub message: String,
    /// What is not as it should be.
    pub faults: Vec<String>,
}

/// A run that has ended.
pub struct Ended {
    pub status: Value,
    pub row: Row,
}

impl Bed {
    pub fn start() -> Self {
        let programs = volcano::folder();
        let options = Options {
            users: &[ACCOUNT, volcano::ACCOUNT],
            schedulers: &["default-scheduler"],
            volcano: false,
            ..Options::default()
        };
        let cluster = Cluster::start(&options).expect("Go builds the programs of the cluster");
        let volcano = Mutex::new(cluster.start_volcano(&programs));
        let controller = Mutex::new(start_executor(&cluster, BINARY, ""));
        Self { controller, volcano, cluster }
    }

    /// The part of the cluster that is a case's own.
    pub fn case(&self, name: &'static str) -> Case<'_> {
        self.cluster.namespace(name);
        Case { bed: self, name, pods: Cell::new(0) }
    }

    /// Every program still runs.
    pub fn is_whole(&self) {
        for programs in [&self.controller, &self.volcano] {
            let ended = programs.lock().unwrap().ended();
            assert!(ended.is_none(), "{ended:?}");
        }
    }

    /// What is left of runs on the cluster, in clauses.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        for pod in list(&self.cluster.get("admin", PODS).ok()) {
            let key = format!("{}/{}", pod["metadata"]["namespace"].as_str().unwrap(), name_of(pod));
            let gates = list_at(&pod["spec"]["schedulingGates"]);
            let owner = &pod["metadata"]["annotations"]["repack.volcano.sh/placement-gate-owner"];
            if !gates.is_empty() || owner.is_string() {
                left.push(format!("a gate on pod {key}"));
            }
            if let Some(node) = pod["status"]["nominatedNodeName"].as_str() {
                left.push(format!("a nomination of pod {key} to {node}"));
            }
        }
        for group in list(&self.cluster.get("admin", GROUPS).ok()) {
            if group["metadata"]["annotations"]["repack.volcano.sh/placement-lease"].is_string() {
                left.push(format!("a lease on PodGroup {}", name_of(group)));
            }
        }
        for run in list(&self.cluster.get("admin", RUNS).ok()) {
            if !list_at(&run["metadata"]["finalizers"]).is_empty() {
                left.push(format!("a finalizer on run {}", name_of(run)));
            }
            if run["metadata"]["labels"].as_object().is_some_and(|labels| !labels.is_empty()) {
                left.push(format!("a label on run {}", name_of(run)));
            }
        }
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kubectl-repack";
        for webhook in list_at(&self.cluster.get("admin", path).ok()["webhooks"]) {
            let rule = &webhook["namespaceSelector"]["matchExpressions"][0];
            // Runs have no namespace: their webhook selects all, and stays.
            let of_runs = webhook["rules"][0]["resources"][0] == "repackruns";
            if !of_runs && rule["operator"] != "DoesNotExist" {
                left.push(format!("namespaces of webhook {}: {}", webhook["name"], rule["values"]));
            }
        }
        left
    }
}

/// A case: its name is that of its namespace, its resource and, with a number, its nodes.
pub struct Case<'b> {
    pub bed: &'b Bed,
    pub name: &'static str,
    /// Pods that were made to run.
    pods: Cell<usize>,
}

impl Case<'_> {
    pub fn resource(&self) -> String {
        format!("{}.example.com/npu", self.name)
    }

    pub fn node(&self, number: usize) -> String {
        format!("{}-{number:02}", self.name)
    }

    pub fn nodes(&self, count: usize, cards: u32) {
        let prefix = format!("{}-", self.name);
        let resource = self.resource();
        self.bed.cluster.nodes(&Pool {
            prefix: &prefix,
            count,
            resource: &resource,
            cards,
            ..Pool::default()
        });
    }

    /// The spec of a pod of one container.
    pub fn spec(&self, cards: u32) -> Value {
        let amounts = json!({ self.resource(): cards.to_string() });
        json!({
            "schedulerName": "volcano", "restartPolicy": "Always", "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}}],
        })
    }

    /// A bare pod on a node, which nobody moves.
    pub fn hold(&self, number: usize, cards: u32) {
        let mut spec = self.spec(cards);
        spec["nodeName"] = json!(self.node(number));
        spec["schedulerName"] = json!("default-scheduler");
        self.bed.cluster.create(&json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": self.name, "name": format!("held-{number:02}")}, "spec": spec}));
        self.run(1);
    }

    /// Takes that pod away again.
    pub fn let_go(&self, number: usize) {
        self.bed.cluster.kubectl_text(&format!("delete pod -n {} held-{number:02}", self.name));
        self.pods.set(self.pods.get() - 1);
    }

    /// A Job of Volcano whose pods all have to run: name, pods and cards of each task.
    pub fn vcjob(&self, name: &str, tasks: &[(&str, u32, u32)], on_eviction: Option<&str>) -> Value {
        let task = |&(name, replicas, cards): &(&str, u32, u32)| {
            let mut spec = self.spec(cards);
            spec["restartPolicy"] = json!("OnFailure");
            json!({"name": name, "replicas": replicas, "template": {"spec": spec}})
        };
        let all: u32 = tasks.iter().map(|task| task.1).sum();
        let policies: Vec<Value> =
            on_eviction.iter().map(|action| json!({"event": "PodEvicted", "action": action})).collect();
        json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
            "metadata": {"namespace": self.name, "name": name},
            "spec": {"minAvailable": all, "schedulerName": "volcano", "policies": policies,
                     "tasks": tasks.iter().map(task).collect::<Vec<_>>()}})
    }

    /// A Deployment or StatefulSet; `labels` are those of its pods, beside the one that it selects them by.
    pub fn set(&self, kind: &str, name: &str, cards: u32, replicas: u32, labels: &Value) -> Value {
        let app = json!({"app": name});
        let mut all = labels.clone();
        all["app"] = json!(name);
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"namespace": self.name, "name": name},
            "spec": {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": app},
                     "template": {"metadata": {"labels": all}, "spec": self.spec(cards)}}})
    }

    /// Creates a workload of so many pods and waits until they run, on these nodes only.
    pub fn stand(&self, object: &Value, pods: usize, all: usize, on: &[usize]) {
        let others: Vec<usize> = (1..=all).filter(|number| !on.contains(number)).collect();
        for &number in &others {
            self.bed.cluster.kubectl_text(&format!("cordon {}", self.node(number)));
        }
        self.bed.cluster.create(object);
        self.run(pods);
        for &number in &others {
            self.bed.cluster.kubectl_text(&format!("uncordon {}", self.node(number)));
        }
    }

    /// Waits until so many pods more run.
    pub fn run(&self, more: usize) {
        self.pods.set(self.pods.get() + more);
        let what = format!("{} pods of {} run", self.pods.get(), self.name);
        self.bed.cluster.wait_for(&what, SOON, || self.runs().then_some(()));
    }

    fn runs(&self) -> bool {
        let pods = self.pods();
        let ready = |pod: &&Value| has_condition(pod, "Ready") && !is_going(pod);
        pods.iter().filter(ready).count() == self.pods.get()
    }

    /// The pods of the case.
    pub fn pods(&self) -> Vec<Value> {
        let path = format!("/api/v1/namespaces/{}/pods", self.name);
        list(&self.bed.cluster.get("admin", &path).ok()).to_vec()
    }

    /// The phase of a Job of Volcano.
    pub fn job_phase(&self, name: &str) -> String {
        let path = format!("/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs/{name}", self.name);
        self.bed.cluster.get("admin", &path).ok()["status"]["state"]["phase"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The phases of its PodGroups.
    pub fn group_phases(&self) -> Vec<String> {
        let path = format!("/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups", self.name);
        let groups = self.bed.cluster.get("admin", &path).ok();
        list(&groups)
            .iter()
            .map(|group| group["status"]["phase"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Executes on the nodes of the case and waits until the run has ended and everything is off the cluster. `spec` is
    /// what the run asks for beside that.
    pub fn execute(&self, spec: &Value) -> Ended {
        let cluster = &self.bed.cluster;
        let mark = cluster.audit_mark();
        let since = Instant::now();
        let mut all = json!({"mode": "Execute", "goals": [{"resource": self.resource()}]});
        for (key, value) in spec.as_object().unwrap() {
            all[key] = value.clone();
        }
        cluster.create(&json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
            "metadata": {"name": self.name}, "spec": all}));
        let status = cluster.wait_for(&format!("run {} has ended", self.name), ENDS, || {
            let run = cluster.get("admin", &format!("{RUNS}/{}", self.name)).body;
            matches!(run["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
                .then(|| run["status"].clone())
        });
        let seconds = since.elapsed().as_secs_f64();
        let mut row = row_of(&status, seconds);
        // The label and the finalizer go after the last status.
        let mut left = Vec::new();
        let clean = poll(Duration::from_secs(5), || {
            left = self.bed.left();
            left.is_empty().then_some(())
        });
        if clean.is_none() {
            row.faults.extend(left.into_iter().map(|what| format!("left: {what}")));
        }
        let accepted =
            list_at(&status["relocations"]).iter().filter(|r| r["eviction"]["phase"] == "Accepted");
        let asked =
            |call: &Call| call.resource == "pods/eviction" && call.user == ACCOUNT && call.code == 201;
        let asked = cluster.audit_since(mark).iter().filter(|call| asked(call)).count();
        if asked != accepted.clone().count() {
            row.faults.push(format!("{asked} evictions were sent, {} are told", accepted.count()));
        }
        Ended { status, row }
    }
}

impl Ended {
    /// Notes a fault where this is not so.
    pub fn expect(&mut self, what: &str, is_so: bool) {
        if !is_so {
            self.row.faults.push(format!("not so: {what}"));
        }
    }

    /// The run ends with this reason, and so many nodes are free, by the list.
    pub fn ends(&mut self, reason: &str, freed: &[String]) {
        let told = self.row.reason == reason && self.status["result"]["freedNodes"] == json!(freed);
        self.expect(&format!("{reason} with {freed:?}: {}", self.status["message"]), told);
    }

    /// Everything of the case runs again.
    pub fn runs_again(&mut self, case: &Case<'_>) {
        let settled = poll(SOON, || case.runs().then_some(()));
        self.expect("every pod runs", settled.is_some());
    }
}

pub fn is_going(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string()
}

/// The line of a run.
fn row_of(status: &Value, seconds: f64) -> Row {
    let all = list_at(&status["relocations"]);
    let count = |phase: &str| all.iter().filter(|r| r["eviction"]["phase"] == phase).count();
    let evicted = match (count("Accepted"), count("IndirectlyRemoved"), all.len()) {
        (_, _, 0) => "none".to_owned(),
        (own, 0, all) => format!("{own} of {all}"),
        (own, along, all) => format!("{own}+{along} of {all}"),
    };
    let number =
        |node: &Value| node.as_str().map_or("-", |name| name.rsplit('-').next().unwrap_or(name)).to_owned();
    let landed = |relocation: &Value| {
        let (planned, actual) = (&relocation["plannedNodeName"], &relocation["placement"]["actualNodeName"]);
        if planned == actual { number(actual) } else { format!("{} ({})", number(actual), number(planned)) }
    };
    let landed: Vec<String> = all.iter().map(landed).collect();
    let reason = list_at(&status["conditions"]).last().map(|c| c["reason"].as_str().unwrap_or_default());
    let names = |list: &Value, key: Option<&str>| -> Vec<String> {
        list_at(list).iter().map(|one| number(key.map_or(one, |key| &one[key]))).collect()
    };
    let mut freed = names(&status["result"]["freedNodes"], None).join(",");
    let taken = names(&status["result"]["takenNodes"], Some("node"));
    if !taken.is_empty() {
        freed = format!("{freed} (taken {})", taken.join(","));
    }
    Row {
        evicted,
        landed: landed.join(","),
        reason: reason.unwrap_or_default().to_owned(),
        freed,
        seconds,
        message: status["message"].as_str().unwrap_or_default().to_owned(),
        faults: Vec::new(),
    }
}
