//! Commands on a real cluster: the same answers as on what `kubectl` printed, under few rights, and without a cluster.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::path::PathBuf;
use std::process::Output;
use std::sync::LazyLock;

use cluster::{Cluster, Options};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-repack");
/// PodGroups beside those of the guide: more than two pages of a list.
const MANY: usize = 1_100;

/// The guide's cluster, without the CRD of runs.
static BED: LazyLock<Option<Cluster>> = LazyLock::new(|| {
    let bed = Cluster::start(&Options {
        users: &["reader", "half", "nobody"],
        repack: false,
        ..Options::default()
    })?;
    bed.guide();
    bed.namespace("many");
    let group = |at: usize| {
        json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"namespace": "many", "name": format!("idle-{at:04}")},
            "spec": {"minMember": 1},
        })
    };
    let groups: Vec<Value> = (0..MANY).map(group).collect();
    bed.create_all(&groups);
    bed.apply(&role("reader", "*"));
    bed.apply(&role("half", r#"nodes", "pods", "namespaces", "podgroups", "jobs", "modelservings"#));
    Some(bed)
});

/// May list these resources everywhere.
fn role(user: &str, resources: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: test-{user}}}
rules: [{{apiGroups: ['*'], resources: [\"{resources}\"], verbs: [list]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: test-{user}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: test-{user}}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
"
    )
}

fn repack(bed: &Cluster, user: &str, arguments: &str) -> Output {
    bed.command(user, BINARY).args(arguments.split_whitespace()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn plan(text: &str) -> Value {
    let run: Value = serde_json::from_str(text).unwrap();
    run["status"]["plan"].clone()
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_cluster_gives_the_plan_of_what_kubectl_printed_of_it() {
    let Some(bed) = &*BED else { return };
    let printed = bed.kubectl_text(
        "get nodes,namespaces,pods,podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh,\
         jobs.batch.volcano.sh,modelservings.workload.serving.volcano.sh,pdb,storageclasses,csinodes -A -o json",
    );
    let printed = file("printed.json", &printed);
    let live = repack(bed, "admin", "dryrun --local -o json");
    let offline = repack(bed, "admin", &format!("dryrun --snapshot {} -o json", printed.display()));
    assert_eq!(plan(&stdout(&live)), plan(&stdout(&offline)));
    let summary = &plan(&stdout(&live))["summary"];
    let numbers = [
        "/fragBeforePercent",
        "/fragAfterPercent",
        "/freedNodeCount",
        "/movedCardCount",
        "/resolvedScope/nodeCount",
    ]
    .map(|path| summary.pointer(path).and_then(Value::as_i64).unwrap());
    assert_eq!(numbers, [33, 0, 1, 2, 3]);
    // A run on a cluster has a time, one on a file has none.
    let time = |text: &str| serde_json::from_str::<Value>(text).unwrap()["status"]["completionTime"].clone();
    assert!(time(&stdout(&live)).is_string() && time(&stdout(&offline)).is_null());
}

#[test]
fn a_snapshot_of_a_cluster_holds_every_page_and_plans_alike() {
    let Some(bed) = &*BED else { return };
    let saved = file("saved.json", "");
    let written = repack(bed, "reader", &format!("snapshot -o {}", saved.display()));
    stdout(&written);
    let text = std::fs::read_to_string(&saved).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let idle =
        document["items"].as_array().unwrap().iter().filter(|item| item["metadata"]["namespace"] == "many");
    assert_eq!(idle.filter(|item| item["kind"] == "PodGroup").count(), MANY);
    assert!(document["takenAt"].is_string());
    assert!(!text.contains("managedFields") && !text.contains("tail -f"), "only what planning reads");
    let live = repack(bed, "reader", "dryrun --local -o json");
    let offline = repack(bed, "reader", &format!("dryrun --snapshot {} -o json", saved.display()));
    assert_eq!(plan(&stdout(&live)), plan(&stdout(&offline)));
}

#[test]
fn without_the_crd_a_dry_run_is_planned_on_this_machine_and_says_so() {
    let Some(bed) = &*BED else { return };
    let output = repack(bed, "admin", "dryrun");
    assert!(stdout(&output).starts_with("DryRun: "), "{output:?}");
    assert!(
        stderr(&output).contains("RepackRuns are not installed in this cluster: planned on this machine.")
    );
}

#[test]
fn reports_and_explanations_read_the_cluster_too() {
    let Some(bed) = &*BED else { return };
    assert!(stdout(&repack(bed, "reader", "report")).contains("huawei.com/ascend-1980"));
    assert!(stdout(&repack(bed, "reader", "explain node ascend-node-02")).contains("ascend-node-02"));
    let fits = repack(bed, "reader", "fit --replicas 1 --cards 8");
    assert!(stdout(&fits).contains("ascend-node-01"), "{fits:?}");
}

#[test]
fn a_missing_right_is_named_with_verb_and_resource_and_is_no_empty_list() {
    let Some(bed) = &*BED else { return };
    let refused = repack(bed, "nobody", "report");
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stdout.is_empty());
    assert!(stderr(&refused).contains("cannot list nodes"), "{refused:?}");
    let half = repack(bed, "half", "dryrun --local -o json");
    assert_eq!(plan(&stdout(&half))["summary"]["freedNodeCount"], 1);
    let told = stderr(&half);
    assert!(told.contains("PodDisruptionBudget objects are unknown"), "{told}");
    assert!(told.contains("cannot list poddisruptionbudgets.policy"), "{told}");
    // What was not read stands in the file, too.
    let saved = file("half.json", "");
    stdout(&repack(bed, "half", &format!("snapshot -o {}", saved.display())));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&saved).unwrap()).unwrap();
    let left_out = document["leftOut"].as_array().unwrap();
    assert!(left_out.iter().any(|missing| missing["kind"] == "PodDisruptionBudget"), "{left_out:?}");
}

#[test]
fn another_user_can_be_acted_as() {
    let Some(bed) = &*BED else { return };
    stdout(&repack(bed, "admin", "report --as reader"));
    let refused = repack(bed, "admin", "report --as nobody");
    assert!(stderr(&refused).contains("User \"nobody\" cannot list resource \"nodes\""), "{refused:?}");
}

#[test]
fn the_doctor_lists_everything_that_is_missing_at_once() {
    let Some(bed) = &*BED else { return };
    let healthy = repack(bed, "admin", "doctor -o json");
    let checks = serde_json::from_str::<Value>(&stdout(&healthy)).unwrap()["checks"].clone();
    let state = |checks: &Value, name: &str| {
        let all = checks.as_array().unwrap();
        all.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("{name}"))["state"].clone()
    };
    assert_eq!(state(&checks, "server version"), "Ok");
    assert_eq!(state(&checks, "rights to read"), "Ok");
    assert_eq!(state(&checks, "PodGroups"), "Ok");
    assert_eq!(state(&checks, "RepackRun CRD"), "Warning");
    let poor = repack(bed, "nobody", "doctor -o json");
    assert_eq!(poor.status.code(), Some(3), "{poor:?}");
    let checks: Value = serde_json::from_slice(&poor.stdout).unwrap();
    assert_eq!(state(&checks["checks"], "rights to read"), "Missing");
    assert_eq!(state(&checks["checks"], "rights to run"), "Warning");
    assert_eq!(state(&checks["checks"], "controller"), "Unknown");
}

#[test]
fn without_any_cluster_a_file_is_pointed_to() {
    let output = std::process::Command::new(BINARY)
        .arg("report")
        .env("HOME", "/nonexistent")
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let told = stderr(&output);
    assert!(told.contains("no kubeconfig was found"), "{told}");
    assert!(told.contains("--snapshot"), "{told}");
}
