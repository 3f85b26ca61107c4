//! The controller as a process against a real control plane, under the rights that its manifests give it.
//!
//! One cluster, the guide's; each test has it for itself, since two controllers of different tests would answer each
//! other's runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::audit::Call;
use cluster::controller::{ACCOUNT, Controller, LEASE, RUNS, ended, reason};
use cluster::objects::ASCEND;
use cluster::{Cluster, Options};
use serde_json::{Value, json};

/// The same rights under another name, so that the audit log tells two controllers apart.
const SECOND: &str = "second";
const SOON: Duration = Duration::from_secs(30);

static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(|| {
    let options = Options { users: &[ACCOUNT, SECOND], ..Options::default() };
    let cluster = Cluster::start(&options)?;
    cluster.install_controller();
    let bind = |kind: &str, rest: &str| {
        cluster.kubectl_text(&format!("create {kind} second-{rest} --user={SECOND}"));
    };
    bind("clusterrolebinding", "all --clusterrole=kubectl-repack-controller");
    bind("rolebinding", "leader -n kubectl-repack --role=kubectl-repack-controller-leader");
    bind("rolebinding", "events -n default --role=kubectl-repack-controller-events");
    cluster.guide();
    Some(cluster)
});

/// The cluster for one test, without runs; none: there is no Go.
fn cluster() -> Option<(&'static Cluster, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = CLUSTER.as_ref()?;
    cluster.kubectl_text("delete repackruns --all");
    Some((cluster, alone))
}

fn start(cluster: &Cluster, user: &str, name: &str, more: &[&str]) -> Controller {
    Controller::start(cluster, env!("CARGO_BIN_EXE_kubectl-repack").as_ref(), user, name, more)
}

/// The same, and waits until it is ready.
fn ready(cluster: &Cluster, user: &str, name: &str, more: &[&str]) -> Controller {
    let controller = start(cluster, user, name, more);
    controller.is_ready(cluster);
    controller
}

fn run(name: &str, change: &Value) -> Value {
    let mut run = json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": name},
        "spec": {"mode": "DryRun", "goals": [{"resource": ASCEND}]},
    });
    merge(&mut run, change);
    run
}

/// A JSON merge patch without deletions.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn get(cluster: &Cluster, name: &str) -> Value {
    cluster.get("admin", &format!("{RUNS}/{name}")).body
}

/// The candidate that holds the lease, and how often it changed hands.
fn holder(cluster: &Cluster) -> (String, i64) {
    let spec = cluster.get("admin", LEASE).body["spec"].clone();
    let holder = spec["holderIdentity"].as_str().unwrap_or_default();
    let name = holder.rsplit_once('_').map_or(holder, |(name, _)| name);
    (name.to_owned(), spec["leaseTransitions"].as_i64().unwrap_or(0))
}

fn wait_for_leader(cluster: &Cluster, name: &str) -> i64 {
    cluster.wait_for(&format!("{name} to lead"), SOON, || {
        let (holder, transitions) = holder(cluster);
        (holder == name).then_some(transitions)
    })
}

fn writes<'a>(calls: &'a [Call], user: &str) -> Vec<&'a Call> {
    let reading = ["get", "list", "watch"];
    calls.iter().filter(|call| call.user == user && !reading.contains(&call.verb.as_str())).collect()
}

#[test]
fn a_dry_run_of_the_guide_ends_with_its_numbers_and_nothing_else_is_touched() {
    let Some((cluster, _alone)) = cluster() else { return };
    let mark = cluster.audit_mark();
    let controller = ready(cluster, ACCOUNT, "only", &[]);
    let scope = json!({"spec": {"scope": {
        "podGroups": {"include": {"selector": {"matchLabels": {"repack.volcano.sh/eligible": "true"}}}},
        "nodes": {"include": {"selector": {"matchLabels": {"accelerator-pool": "ascend-npu"}}}},
    }}});
    cluster.create(&run("guide", &scope));
    let run = ended(cluster, "guide");
    let (status, summary) = (&run["status"], &run["status"]["plan"]["summary"]);
    assert_eq!((status["phase"].as_str(), reason(&run)), (Some("Succeeded"), "RepackRecommended"));
    assert_eq!((&summary["fragBeforePercent"], &summary["fragAfterPercent"]), (&json!(33), &json!(0)));
    assert_eq!((&summary["freedNodeCount"], &summary["movedCardCount"]), (&json!(1), &json!(2)));
    assert_eq!(summary["resolvedScope"], json!({"podGroupCount": 1, "nodeCount": 3}));
    assert_eq!(status["plan"]["freedNodes"], json!(["ascend-node-01"]));
    assert_eq!(status["plan"]["moves"][0]["owner"]["name"], "ascend-batch-training");
    for condition in status["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], run["metadata"]["generation"]);
        assert_eq!(
            (&condition["message"], &condition["reason"]),
            (&status["message"], &json!("RepackRecommended"))
        );
    }
    let (start, end) = (status["startTime"].as_str().unwrap(), status["completionTime"].as_str().unwrap());
    assert!(start <= end, "{start} {end}");

    // The events, as the guide asks for them.
    let told = cluster.wait_for("both events", SOON, || {
        let all = cluster.get("admin", "/api/v1/namespaces/default/events").ok();
        let of_run = |event: &&Value| event["involvedObject"]["uid"] == run["metadata"]["uid"];
        let all: Vec<Value> = all["items"].as_array().unwrap().iter().filter(of_run).cloned().collect();
        (all.len() >= 2).then_some(all)
    });
    let mut reasons: Vec<&str> = told.iter().map(|event| event["reason"].as_str().unwrap()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["PlanComputed", "RepackRecommended"]);
    assert!(told.iter().all(|event| event["count"] == 1 && event["lastTimestamp"].is_string()));
    assert!(cluster.kubectl_text("describe repackrun guide").contains("PlanComputed"));
    let (code, metrics) = controller.asked("metrics_port", "/metrics");
    assert_eq!(code, 200);
    let line = r#"kubectl_repack_runs_total{mode="DryRun",reason="RepackRecommended"} 1"#;
    assert!(metrics.contains(line) && metrics.contains("kubectl_repack_leader 1"), "{metrics}");
    assert!(metrics.contains(r#"kubectl_repack_planning_prunings_total{reason=""#), "{metrics}");
    let told = controller.log();
    let of_run = told.iter().find(|line| line["span"]["run"] == "guide").expect("a line of the run's span");
    assert_eq!(of_run["span"]["uid"], run["metadata"]["uid"]);

    controller.end();
    assert_eq!(holder(cluster).0, "", "the lease is given back");
    let calls = cluster.audit_since(mark);
    let ours: Vec<&Call> = calls.iter().filter(|call| call.user == ACCOUNT).collect();
    let mut lists: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for call in &ours {
        assert!(!call.resource.starts_with("secrets"), "{call:?}");
        assert_ne!(call.code, 403, "{call:?}");
        if call.verb == "list" {
            *lists.entry((&call.group, &call.resource)).or_default() += 1;
        }
    }
    assert!(ours.iter().any(|call| call.verb == "watch" && call.resource == "pods"), "nothing was watched");
    assert!(lists.values().all(|&times| times == 1), "{lists:?}");
    for call in writes(&calls, ACCOUNT) {
        let what = (call.verb.as_str(), call.resource.as_str(), call.namespace.as_str());
        assert!(
            matches!(
                what,
                ("update", "repackruns/status", "")
                    | ("create", "events", "default")
                    | ("create" | "update", "leases", "kubectl-repack")
            ),
            "{call:?}"
        );
    }
}

#[test]
fn one_of_two_leads_and_the_other_takes_over_when_the_leader_is_killed() {
    let Some((cluster, _alone)) = cluster() else { return };
    let first = ready(cluster, ACCOUNT, "first", &[]);
    let reign = wait_for_leader(cluster, "first");
    let second = ready(cluster, SECOND, "second", &[]);
    let mark = cluster.audit_mark();
    cluster.create(&run("before", &json!({})));
    ended(cluster, "before");
    assert_eq!(writes(&cluster.audit_since(mark), SECOND).len(), 0, "a follower writes nothing");
    drop(first);
    cluster.create(&run("after", &json!({})));
    assert_eq!(reason(&ended(cluster, "after")), "RepackRecommended");
    assert_eq!(holder(cluster), ("second".to_owned(), reign + 1));
    second.end();
}

#[test]
fn a_leader_that_was_paused_writes_nothing_after_it_is_resumed() {
    let Some((cluster, _alone)) = cluster() else { return };
    let paused = ready(cluster, SECOND, "paused", &[]);
    wait_for_leader(cluster, "paused");
    let other = ready(cluster, ACCOUNT, "other", &[]);
    paused.signal("-STOP");
    // A renewal that was on its way is carried out all the same: it was sent by one who led. A quarter of a lease is
    // enough for it, and too short for the other to take over.
    std::thread::sleep(Duration::from_millis(500));
    let mark = cluster.audit_mark();
    cluster.create(&run("meanwhile", &json!({})));
    wait_for_leader(cluster, "other");
    ended(cluster, "meanwhile");
    paused.signal("-CONT");
    cluster.wait_for("the paused one to notice", SOON, || paused.says("no longer leads").then_some(()));
    cluster.create(&run("later", &json!({})));
    ended(cluster, "later");
    // Longer than a lease: it has had every occasion.
    std::thread::sleep(Duration::from_secs(3));
    let calls = cluster.audit_since(mark);
    assert!(
        calls.iter().any(|call| call.user == SECOND && call.resource == "leases"),
        "it looks at the lease again"
    );
    let written: Vec<String> = writes(&calls, SECOND).iter().map(|call| format!("{call:?}")).collect();
    // What it tries for the lease is refused, and it tries nothing else.
    assert!(written.iter().all(|call| call.contains("leases") && !call.contains("code: 2")), "{written:?}");
    assert_eq!(holder(cluster).0, "other");
    other.end();
}

#[test]
fn runs_are_answered_in_the_order_of_creation_and_one_that_was_begun_is_planned_again() {
    let Some((cluster, _alone)) = cluster() else { return };
    cluster.create(&run("z-begun", &json!({})));
    // As a controller leaves it that is killed while it plans.
    let begun = json!({"status": {
        "phase": "Running", "message": "Planning.", "startTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": "Progressing", "status": "True", "reason": "Planning", "message": "Planning.",
                        "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }});
    cluster.patch("admin", &format!("{RUNS}/z-begun/status"), &begun).ok();
    // Creation times have whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    cluster.create(&run("y", &json!({})));
    std::thread::sleep(Duration::from_millis(1100));
    cluster.create(&run("x", &json!({})));
    let mark = cluster.audit_mark();
    let controller = start(cluster, ACCOUNT, "order", &[]);
    let last = ended(cluster, "x");
    assert_eq!(reason(&last), "RepackRecommended");
    let first = ended(cluster, "z-begun");
    assert_eq!(first["status"]["startTime"], "2026-01-01T00:00:00Z", "the first start stays");
    assert_eq!(reason(&first), "RepackRecommended");
    let calls = cluster.audit_since(mark);
    let mut names: Vec<&str> = writes(&calls, ACCOUNT)
        .iter()
        .filter(|call| call.resource == "repackruns/status")
        .map(|call| call.name.as_str())
        .collect();
    assert_eq!(names.len(), 5, "one write for the run that was begun, two for the others: {names:?}");
    names.dedup();
    assert_eq!(names, ["z-begun", "y", "x"]);
    controller.end();
}

#[test]
fn runs_end_as_their_spec_deserves_go_when_their_time_is_over_and_those_of_others_are_left_alone() {
    let Some((cluster, _alone)) = cluster() else { return };
    cluster.create(&run("foreign", &json!({"spec": {"managedBy": "another-manager"}})));
    cluster.create(&run("execute", &json!({"spec": {"mode": "Execute"}})));
    cluster.create(&run("no-goal", &json!({"spec": {"goals": []}})));
    cluster.create(&run("tier", &json!({"spec": {"networkTopology": {"hyperNodeTier": 1}}})));
    let nowhere = json!({"spec": {"scope": {"nodes": {"include": {"names": ["nowhere"]}}}}});
    cluster.create(&run("nowhere", &nowhere));
    let cancelled = json!({"metadata": {"annotations": {"repack.volcano.sh/cancel": "true"}}});
    cluster.create(&run("cancelled", &cancelled));
    cluster.create(&run("too-much", &json!({"spec": {"maxPerRun": {"podGroups": 0}}})));
    cluster.create(&run("unused", &json!({"spec": {"goals": [{"resource": "other.io/gpu"}]}})));
    cluster.create(&run("short", &json!({"spec": {"ttlSecondsAfterFinished": 1}})));
    let controller = ready(cluster, ACCOUNT, "ends", &[]);
    for (name, phase, why) in [
        ("no-goal", "Failed", "InvalidConfiguration"),
        ("tier", "Failed", "InvalidConfiguration"),
        ("nowhere", "Failed", "ScopeResolutionFailed"),
        ("cancelled", "Failed", "ExecutionCancelled"),
        ("too-much", "Succeeded", "InsufficientImprovement"),
        ("unused", "Succeeded", "NoFragmentation"),
    ] {
        let run = ended(cluster, name);
        assert_eq!((run["status"]["phase"].as_str(), reason(&run)), (Some(phase), why), "{run}");
        assert!(!run["status"]["message"].as_str().unwrap().is_empty());
    }
    let summary = &get(cluster, "too-much")["status"]["plan"]["summary"];
    assert_eq!((&summary["fragBeforePercent"], &summary["fragAfterPercent"]), (&json!(33), &json!(33)));
    let gone = || (cluster.get("admin", &format!("{RUNS}/short")).code == 404).then_some(());
    cluster.wait_for("the run with a short life to go", SOON, gone);
    for name in ["foreign", "execute"] {
        assert_eq!(get(cluster, name)["status"], Value::Null, "{name}");
    }
    assert!(controller.says("managed by another-manager") && controller.says("mode Execute moves pods"));
    controller.end();

    let controller = ready(cluster, ACCOUNT, "default", &["--default-resource", ASCEND]);
    cluster.create(&run("default-goal", &json!({"spec": {"goals": []}})));
    assert_eq!(reason(&ended(cluster, "default-goal")), "RepackRecommended");
    controller.end();
}

#[test]
fn without_the_label_on_the_definition_no_run_is_touched_and_the_controller_is_not_ready() {
    let Some((cluster, _alone)) = cluster() else { return };
    let controller = ready(cluster, ACCOUNT, "owner", &[]);
    let definition = "crd repackruns.repack.volcano.sh";
    cluster.kubectl_text(&format!("label {definition} app.kubernetes.io/managed-by-"));
    cluster.wait_for("the controller to be unready", SOON, || {
        let (code, text) = controller.asked("health_port", "/readyz");
        (code == 503 && text.contains("has no label app.kubernetes.io/managed-by")).then_some(())
    });
    assert_eq!(controller.asked("health_port", "/healthz").0, 200, "it is alive all the same");
    cluster.create(&run("unowned", &json!({})));
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(get(cluster, "unowned")["status"], Value::Null);
    assert!(controller.says("no run is worked on"));
    cluster.kubectl_text(&format!("label {definition} app.kubernetes.io/managed-by=kubectl-repack"));
    assert_eq!(reason(&ended(cluster, "unowned")), "RepackRecommended");
    controller.end();
}

#[test]
fn beside_volcanos_own_engine_no_run_is_touched_until_it_is_stopped() {
    let Some((cluster, _alone)) = cluster() else { return };
    cluster.namespace("volcano-system");
    cluster.create(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "volcano-system", "name": "volcano-repack-engine"},
        "spec": {"selector": {"matchLabels": {"app": "engine"}}, "template": {
            "metadata": {"labels": {"app": "engine"}},
            "spec": {"containers": [{"name": "main", "image": "alpine:3.20"}]},
        }},
    }));
    let engine = "/apis/apps/v1/namespaces/volcano-system/deployments/volcano-repack-engine";
    cluster.wait_for("the engine to run", SOON, || {
        (cluster.get("admin", engine).body["status"]["readyReplicas"] == 1).then_some(())
    });
    let controller = start(cluster, ACCOUNT, "beside", &[]);
    cluster.create(&run("contested", &json!({})));
    cluster.wait_for("the controller to be unready", SOON, || {
        let (code, text) = controller.asked("health_port", "/readyz");
        (code == 503
            && text.contains("another repack engine runs in this cluster, pod volcano-system/volcano-"))
        .then_some(())
    });
    cluster
        .wait_for("a line in the log", SOON, || controller.says("another repack engine runs").then_some(()));
    assert_eq!(get(cluster, "contested")["status"], Value::Null);
    let program = env!("CARGO_BIN_EXE_kubectl-repack");
    let done = cluster.command("admin", program).args(["doctor", "-o", "json"]).output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(told.contains("Volcano's own engine runs in volcano-system"), "{told}");
    cluster.delete("admin", engine).ok();
    assert_eq!(reason(&ended(cluster, "contested")), "RepackRecommended");
    controller.end();
}

#[test]
fn commands_on_runs_warn_of_a_controller_of_another_version_and_of_no_other() {
    let Some((cluster, _alone)) = cluster() else { return };
    let controller = ready(cluster, ACCOUNT, "version", &[]);
    cluster.create(&run("skew", &json!({})));
    ended(cluster, "skew");
    let told = |arguments: &str| {
        let program = env!("CARGO_BIN_EXE_kubectl-repack");
        let done = cluster.command("admin", program).args(arguments.split_whitespace()).output().unwrap();
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    let commands =
        ["status", "status skew", "status skew -w", "dryrun --timeout 0s -r huawei.com/ascend-1980"];
    for command in commands {
        assert!(!told(command).contains("version"), "{command}");
    }
    controller.end();
    let other = json!({
        "metadata": {"annotations": {"repack.volcano.sh/version": "9.9.9"}}, "spec": {"holderIdentity": "x_1"},
    });
    cluster.patch("admin", LEASE, &other).ok();
    for command in commands {
        let told = told(command);
        assert!(
            told.contains("Warning: the controller is version 9.9.9 and this program"),
            "{command}: {told}"
        );
    }
    cluster.patch("admin", LEASE, &json!({"spec": {"holderIdentity": ""}})).ok();
}
