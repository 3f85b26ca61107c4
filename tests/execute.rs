//! Execute on a real control plane, with the real scheduler and controllers: the plan is carried out, and a job that
//! needed a whole node fits.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::controller::{ACCOUNT, start_executor};
use cluster::objects::{ASCEND, Pool};
use cluster::process::Processes;
use cluster::{Cluster, Options};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-repack");
/// People with the roles of the manifests.
const RUNNER: &str = "runner";
const OPERATOR: &str = "operator";
const SOON: Duration = Duration::from_mins(2);

struct Bed {
    // Ended in this order: the controller first.
    _controller: Processes,
    cluster: Arc<Cluster>,
    /// Control planes start one after the other: two cores carry one well.
    _alone: MutexGuard<'static, ()>,
}

/// A cluster with a controller under exactly the shipped roles; none: there is no Go.
fn bed() -> Option<Bed> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = Cluster::start(&Options { users: &[ACCOUNT, RUNNER, OPERATOR], ..Options::default() })?;
    let controller =
        start_executor(&cluster, BINARY, "--schedulers volcano,default-scheduler --allow-ungrouped");
    Some(Bed { _controller: controller, cluster: Arc::new(cluster), _alone: alone })
}

impl Bed {
    /// A Deployment or StatefulSet with so many pods.
    fn workload(&self, kind: &str, namespace: &str, name: &str, cards: u32, replicas: u32) {
        let labels = json!({"app": name});
        let amounts = json!({ASCEND: cards.to_string()});
        let container =
            json!({"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}});
        self.cluster.create(&json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": labels},
                     "podManagementPolicy": "Parallel", "template": {"metadata": {"labels": labels},
                     "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}},
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
    let Some(bed) = bed() else { return };
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
        bed.workload(kind, "a", name, cards, 1);
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
    bed.workload("StatefulSet", "a", "big", 8, 1);
    bed.cluster.pods_run("a");
    let run = bed.cluster.kubectl_text("get repackrun all -o json");
    let run: Value = serde_json::from_str(&run).unwrap();
    assert!(run["metadata"]["finalizers"].is_null() && run["metadata"]["labels"].is_null(), "{run:#}");
    let left = bed.cluster.kubectl_text("get mutatingwebhookconfiguration kubectl-repack -o jsonpath={.webhooks[*].namespaceSelector.matchExpressions[*].operator}");
    assert_eq!(left.trim(), "DoesNotExist DoesNotExist");
}

const GUARDED: &str = "apiVersion: repack.volcano.sh/v1alpha1
kind: RepackRun
metadata:
  name: ascend-execute-001
  labels:
    change-ticket: change-20260730
spec:
  mode: Execute
  scope:
    podGroups:
      include:
        selector:
          matchLabels:
            repack.volcano.sh/eligible: \"true\"
    nodes:
      include:
        selector:
          matchLabels:
            accelerator-pool: ascend-npu
  goals:
    - resource: huawei.com/ascend-1980
      minFragImprovementPercent: 10
  maxPerRun:
    podGroups: 1
    resources:
      huawei.com/ascend-1980: 4
  eviction:
    gracePeriodSeconds: 30
  ttlSecondsAfterFinished: 604800
";

const LARGE: &str = "apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: ascend-large-training
  namespace: repack-demo
  labels:
    workload-type: training
spec:
  schedulerName: volcano
  queue: default
  minAvailable: 2
  tasks:
    - name: worker
      replicas: 2
      template:
        spec:
          schedulerName: volcano
          nodeSelector:
            accelerator-pool: ascend-npu
          containers:
            - name: trainer
              image: alpine:3.20
              command: [\"sh\", \"-c\", \"tail -f /dev/null\"]
              resources:
                requests:
                  huawei.com/ascend-1980: 4
                limits:
                  huawei.com/ascend-1980: 4
          restartPolicy: Never
";

/// Steps 5 to 7 of the operator's guide, with the numbers of its sample: one pod moves, a node is free, the job of step 7
/// fits on it.
#[test]
fn steps_5_to_7_of_the_guide_move_a_pod_and_the_large_job_fits_on_the_freed_node() {
    let Some(bed) = bed() else { return };
    let cluster = &*bed.cluster;
    cluster.guide_with(1);
    cluster::played::play(&bed.cluster);
    let file = cluster.folder().join("ascend-execute-001.yaml");
    fs::write(&file, GUARDED).unwrap();
    cluster.kubectl_text(&format!("apply -f {}", file.display()));
    let ask = |path: &str| {
        let path = format!("jsonpath={path}");
        let mut kubectl = cluster.command("admin", "kubectl");
        let done = kubectl.args(["get", "repackrun", "ascend-execute-001", "-o", &path]).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    cluster.wait_for("the run has ended", SOON, || {
        matches!(ask("{.status.phase}").as_str(), "Succeeded" | "Failed").then_some(())
    });
    let conditions = ask(
        r#"{range .status.conditions[*]}{.type}{"\t"}{.status}{"\t"}{.reason}{"\t"}{.message}{"\n"}{end}"#,
    );
    let sentence = "Repack succeeded for huawei.com/ascend-1980: all 1 replacement Pod was scheduled and all 1 planned \
                    node was verified free [ascend-node-01]; cluster fragmentation changed from 33% to 0%.";
    let expected = ["Progressing\tFalse", "Complete\tTrue"]
        .map(|state| format!("{state}\tExecutionCompleted\t{sentence}\n"));
    assert_eq!(conditions, expected.concat());
    let numbers = ask(
        r#"plan: frag {.status.plan.summary.fragBeforePercent}% -> {.status.plan.summary.fragAfterPercent}%, freed {.status.plan.summary.freedNodeCount}, moved {.status.plan.summary.movedCardCount}{"\n"}result: frag {.status.result.fragAfterPercent}%, freed {.status.result.freedNodeCount}, moved {.status.result.movedCardCount}, verified {.status.result.metricsVerified}{"\n"}"#,
    );
    assert_eq!(
        numbers,
        "plan: frag 33% -> 0%, freed 1, moved 1\nresult: frag 0%, freed 1, moved 1, verified true\n"
    );
    let pods = ask(
        r#"{range .status.relocations[*]}{.namespace}{"/"}{.victimPodName}{"\teviction="}{.eviction.phase}{"\tplacement="}{.placement.phase}{"\tplanned="}{.plannedNodeName}{"\tselected="}{.placement.selectedNodeName}{"\tactual="}{.placement.actualNodeName}{"\treplacement="}{.placement.replacementPodName}{"\n"}{end}"#,
    );
    assert_eq!(
        pods,
        "repack-demo/ascend-batch-training-worker-0\teviction=Accepted\tplacement=Placed\tplanned=ascend-node-02\t\
         selected=ascend-node-02\tactual=ascend-node-02\treplacement=ascend-batch-training-worker-0\n"
    );
    for (command, part) in [
        ("get repackrun ascend-execute-001 -o wide", "ExecutionCompleted"),
        ("get vcjob -n repack-demo", "ascend-batch-training"),
        ("get modelserving -n repack-demo", "ascend-online-serving"),
        ("get podgroup -n repack-demo", "ascend-batch-training"),
        ("get pod -n repack-demo -o wide", "ascend-batch-training-worker-0"),
        ("describe node ascend-node-01", "huawei.com/ascend-1980"),
    ] {
        assert!(cluster.kubectl_text(command).contains(part), "{command}");
    }
    let on_first = "get pod -A --field-selector spec.nodeName=ascend-node-01 -o name";
    assert_eq!(cluster.kubectl_text(on_first).trim(), "");

    let file = cluster.folder().join("ascend-large-training.yaml");
    fs::write(&file, LARGE).unwrap();
    cluster.kubectl_text(&format!("apply -f {}", file.display()));
    cluster.kubectl_text("get job.batch.volcano.sh ascend-large-training -n repack-demo");
    cluster.wait_for("both workers run on the freed node", SOON, || {
        let pods = cluster.kubectl_text(
            "get pod -n repack-demo -l volcano.sh/job-name=ascend-large-training -o wide --no-headers",
        );
        let running = pods.lines().filter(|line| line.contains("Running") && line.contains("ascend-node-01"));
        (running.count() == 2).then_some(())
    });
}

/// `execute` shows the plan of the controller and carries out that one; another than the one that was approved is refused
/// with what differs.
#[test]
fn the_plugin_executes_the_plan_that_was_shown_and_refuses_another() {
    let Some(bed) = bed() else { return };
    let cluster = &*bed.cluster;
    cluster.guide_with(2);
    cluster::played::play(&bed.cluster);
    let plugin = |words: &str| {
        let mut command = cluster.command("admin", BINARY);
        let done =
            command.args(words.split_whitespace()).stdin(std::process::Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let on_first = || {
        let listed = cluster.kubectl_text("get pod -A --field-selector spec.nodeName=ascend-node-01 -o name");
        listed.lines().count()
    };
    let scope = "--include-podgroups repack.volcano.sh/eligible=true -r huawei.com/ascend-1980";
    // Nobody is asked where nobody can answer.
    let (code, _, told) = plugin(&format!("execute {scope}"));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("--yes executes without a question"), "{told}");
    assert_eq!(on_first(), 2);
    let id = cluster.kubectl_text("get repackrun -o jsonpath={.items[0].status.plan.id}");
    // A pod is made again: the plan is another one.
    for node in ["ascend-node-02", "ascend-node-03"] {
        bed.cordon(node, true);
    }
    cluster.kubectl_text("delete pod -n repack-demo ascend-batch-training-worker-1");
    cluster.wait_for("another worker in its place", SOON, || (on_first() == 2).then_some(()));
    for node in ["ascend-node-02", "ascend-node-03"] {
        bed.cordon(node, false);
    }
    let (code, _, told) = plugin(&format!("execute {scope} --expect {id} --yes"));
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains(&format!("not {id}; nothing was moved")) && told.contains("plan "), "{told}");
    assert_eq!(on_first(), 2);
    let (code, printed, told) = plugin(&format!("execute {scope} --yes"));
    assert_eq!(code, Some(0), "{told}");
    assert!(printed.contains("ExecutionCompleted"), "{printed}\n{told}");
    assert_eq!(on_first(), 0);
    let (code, _, told) = plugin("cancel nothing");
    assert_eq!(code, Some(1), "{told}");
}

#[test]
fn who_may_only_plan_creates_no_run_that_moves_pods_and_an_operator_creates_and_cancels_one() {
    let Some(bed) = bed() else { return };
    let cluster = &*bed.cluster;
    for user in [RUNNER, OPERATOR] {
        cluster.kubectl_text(&format!(
            "create clusterrolebinding {user} --clusterrole=kubectl-repack-{user} --user={user}"
        ));
    }
    let create = |user: &str, name: &str, mode: &str| {
        let run = json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
            "metadata": {"name": name}, "spec": {"mode": mode, "goals": [{"resource": ASCEND}]}});
        cluster.post(user, "/apis/repack.volcano.sh/v1alpha1/repackruns", &run)
    };
    cluster.wait_for("the policy and the roles", SOON, || {
        let refused = create(RUNNER, "moves", "Execute");
        (refused.code == 403 && refused.message().contains("takes the verb execute")).then_some(())
    });
    assert_eq!(create(RUNNER, "plans", "DryRun").code, 201);
    assert_eq!(create(OPERATOR, "moves", "Execute").code, 201);
    let cancelled = |user: &str| {
        let mut command = cluster.command(user, BINARY);
        command.args(["cancel", "moves"]).output().unwrap()
    };
    assert!(cancelled(OPERATOR).status.success());
}
