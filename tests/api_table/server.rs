//! The same table, and what else users meet of the CRD, at a real API server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::cluster::{Cluster, Options};
use super::{COMPLETE, complete, run_of, table};

const RUNS: &str = "/apis/repack.volcano.sh/v1alpha1/repackruns";
/// What `kubectl apply` and `create` do: unknown fields are refused.
const STRICT: &str = "dryRun=All&fieldValidation=Strict";
/// The status of a run that Volcano's own engine finished.
const FINISHED: &str = include_str!("../fixtures/api/status.yaml");

/// One API server with our types, without nodes and schedulers.
static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(|| with_types(&[]));

fn with_types(apiserver: &[&str]) -> Option<Cluster> {
    Cluster::start(&Options { kwok: false, scheduler: false, apiserver, ..Options::default() })
}

fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn named(name: &str, spec: &Value) -> Value {
    let mut run = run_of(spec);
    run["metadata"]["name"] = json!(name);
    run
}

#[test]
fn the_server_takes_what_is_valid_and_refuses_the_rest_by_field() {
    let Some(cluster) = &*CLUSTER else { return };
    holds_to_the_table(cluster);
}

#[test]
fn a_server_that_behaves_like_an_older_one_does_the_same() {
    let Some(cluster) = with_types(&["--emulated-version=1.34"]) else { return };
    holds_to_the_table(&cluster);
}

fn holds_to_the_table(cluster: &Cluster) {
    let create = |run: &Value| cluster.post("admin", &format!("{RUNS}?{STRICT}"), run);
    assert_eq!(create(&complete()).code, 201);
    let mut faults = Vec::new();
    for (name, spec) in table::valid() {
        let answer = create(&run_of(&spec));
        if answer.code != 201 {
            faults.push(format!("{name}: {}", answer.message()));
        }
    }
    for row in table::refused() {
        let answer = create(&run_of(&row.spec));
        let said = answer.message();
        if answer.code < 400 || !said.contains(&row.field) || !said.contains(row.server) {
            faults.push(format!(
                "{}: {} {said}\n  is no: {} … {}",
                row.name, answer.code, row.field, row.server
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_unknown_field_is_refused_by_kubectl_and_dropped_where_nobody_looks() {
    let Some(cluster) = &*CLUSTER else { return };
    let run = named("pruned", &json!({"mode": "DryRun", "maxperrun": {"podGroups": 1}}));
    let made = cluster.post("admin", &format!("{RUNS}?dryRun=All&fieldValidation=Ignore"), &run).ok();
    assert_eq!(made["spec"], json!({"mode": "DryRun"}));
}

#[test]
fn defaults_are_filled_in_where_their_part_is_given_and_nulls_are_absent() {
    let Some(cluster) = &*CLUSTER else { return };
    let spec = json!({
        "mode": "DryRun", "goals": [{"resource": "x.io/npu"}], "scope": null,
        "planner": {"effort": null}, "execution": {}, "networkTopology": {"hyperNodeTier": 2},
    });
    let made = cluster.post("admin", &format!("{RUNS}?{STRICT}"), &run_of(&spec)).ok();
    assert_eq!(
        made["spec"],
        json!({
            "mode": "DryRun",
            "goals": [{"resource": "x.io/npu", "minFragImprovementPercent": 0}],
            "planner": {"algorithm": "Search", "effort": 18_000_000},
            "execution": {
                "timeoutSeconds": 600, "maxConcurrentEvictions": 1, "onBlockedPDB": "Fail", "requireReady": false,
            },
            "networkTopology": {"hyperNodeTier": 2, "nodeBlockSize": 1, "requiredNodeBlocks": 0, "mode": "binpack"},
        })
    );
}

#[test]
fn the_spec_never_changes_while_labels_and_status_do() {
    let Some(cluster) = &*CLUSTER else { return };
    cluster.create(&named("fixed", &json!({"mode": "DryRun"})));
    let path = format!("{RUNS}/fixed");
    for spec in [
        json!({"mode": "Execute"}),
        json!({"goals": [{"resource": "x.io/npu"}]}),
        json!({"managedBy": "example.com/other"}),
    ] {
        let answer = cluster.patch("admin", &path, &json!({"spec": spec}));
        assert_eq!(answer.code, 422);
        let said = "spec is immutable; create another RepackRun";
        assert!(answer.message().contains(said), "{}", answer.message());
    }
    let labels = cluster.patch("admin", &path, &json!({"metadata": {"labels": {"ticket": "1"}}}));
    assert_eq!(labels.ok()["metadata"]["labels"]["ticket"], "1");
    // A status in a patch of the object itself is nobody's business.
    let sneaked = cluster.patch("admin", &path, &json!({"status": {"phase": "Failed", "message": "x"}})).ok();
    assert_eq!(sneaked["status"], Value::Null);
    let phase = json!({"status": {"phase": "Running", "message": "planning"}, "spec": {"mode": "Execute"}});
    let written = cluster.patch("admin", &format!("{path}/status"), &phase).ok();
    assert_eq!(
        (&written["status"]["phase"], &written["spec"]["mode"]),
        (&json!("Running"), &json!("DryRun"))
    );
}

/// The schema knows every field that the program writes: none is dropped on the way.
#[test]
fn what_dryrun_prints_is_stored_unchanged() {
    let Some(cluster) = &*CLUSTER else { return };
    for (number, flags) in
        ["", "--max-podgroups 2 --min-benefit 1", "--free 1 --algorithm drain"].iter().enumerate()
    {
        let done = Command::new(env!("CARGO_BIN_EXE_kubectl-repack"))
            .args(["dryrun", "-o", "json", "--snapshot"])
            .arg(tree("examples/npu-8.yaml"))
            .args(flags.split_whitespace())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let mut run: Value = serde_json::from_slice(&done.stdout).unwrap();
        run["metadata"]["name"] = json!(format!("printed-{number}"));
        assert!(!run["status"]["plan"]["moves"].as_array().unwrap().is_empty(), "{flags}");
        let tried = cluster.post("admin", &format!("{RUNS}?{STRICT}"), &run);
        assert_eq!(tried.code, 201, "{}", tried.message());
        let stored = cluster.create(&run);
        assert_eq!(stored["status"], run["status"], "{flags}");
    }
}

#[test]
fn kubectl_shows_the_columns_of_the_contract() {
    let Some(cluster) = &*CLUSTER else { return };
    let mut run = complete();
    run["metadata"]["name"] = json!("shown");
    let status: Value = serde_saphyr::from_str(FINISHED).unwrap();
    run["status"] = status["status"].clone();
    cluster.create(&run);
    cluster.create(&named("waiting", &json!({"mode": "DryRun"})));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for name in ["rpr", "repackrun", "repackruns"] {
        let shown = cluster.kubectl_text(&format!("get {name} shown waiting"));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(words(lines[0]).join(" "), "NAME MODE RESOURCE PHASE PLAN-FREED ACTUAL-FREED AGE");
        let cells = words(lines[1]);
        assert_eq!(cells[..6], ["shown", "Execute", "huawei.com/ascend-1980", "Succeeded", "1", "1"]);
        assert_eq!(words(lines[2])[..2], ["waiting", "DryRun"]);
    }
    let wide = cluster.kubectl_text("get rpr shown -o wide");
    let lines: Vec<&str> = wide.lines().collect();
    assert!(lines[0].trim_end().ends_with("FRAG-BEFORE   FRAG-AFTER   REASON"), "{wide}");
    assert_eq!(words(lines[1])[7..], ["33", "0", "ExecutionCompleted"]);
    // The objects are what they were: nothing of a foreign engine's status is lost.
    let read = cluster.get("admin", &format!("{RUNS}/shown")).ok();
    assert_eq!(read["status"], status["status"]);
}

#[test]
fn the_complete_run_of_the_guides_is_applied_as_it_stands_and_explained() {
    let Some(cluster) = &*CLUSTER else { return };
    assert!(COMPLETE.contains("huawei.com/ascend-1980: 8"));
    let path = tree("tests/fixtures/api/complete.yaml");
    let apply = format!("apply -f {}", path.display());
    let run = "repackrun.repack.volcano.sh/ascend-complete-execute-001";
    assert_eq!(cluster.kubectl_text(&apply), format!("{run} created\n"));
    assert_eq!(cluster.kubectl_text(&apply), format!("{run} unchanged\n"));
    let shown = cluster.kubectl_text(
        "get repackrun ascend-complete-execute-001 -o jsonpath={.spec.maxPerRun.resources.huawei\\.com/ascend-1980}",
    );
    assert_eq!(shown, "8");
    let told = cluster.kubectl_text("explain repackrun.spec.goals.minFragImprovementPercent");
    assert!(told.contains("Percentage points by which the fragmentation rate has to fall"), "{told}");
    assert_eq!(cluster.kubectl("admin", &format!("delete -f {}", path.display())).status.code(), Some(0));
}

#[test]
fn the_base_is_accepted_and_gives_the_rights_it_says() {
    let Some(cluster) = &*CLUSTER else { return };
    let base = tree("manifests");
    // A server that only tries finds no namespace for what stands in it.
    cluster.kubectl_text("create namespace kubectl-repack");
    let tried = cluster.kubectl_text(&format!("apply --dry-run=server -k {}", base.display()));
    assert_eq!(
        tried.lines().filter(|line| line.ends_with("(server dry run)")).count(),
        tried.lines().count()
    );
    cluster.kubectl_text(&format!("apply --server-side --force-conflicts -k {}", base.display()));

    let account = "system:serviceaccount:kubectl-repack:kubectl-repack-controller";
    let may = |who: &str, what: &str| {
        let done = cluster.kubectl("admin", &format!("auth can-i {what} --as={who}"));
        String::from_utf8_lossy(&done.stdout).trim() == "yes"
    };
    for what in [
        "list pods -A",
        "watch podgroups.scheduling.volcano.sh -A",
        "delete repackruns.repack.volcano.sh",
        "update repackruns.repack.volcano.sh --subresource=status",
        "watch customresourcedefinitions.apiextensions.k8s.io/repackruns.repack.volcano.sh",
        "create events -n default",
        // To execute: the victim is looked at before it is evicted, and events are told of pods where they are.
        "get pods -A",
        "get repackruns.repack.volcano.sh",
        "create pods --subresource=eviction -A",
        "create events -n kube-system",
        "create leases.coordination.k8s.io -n kubectl-repack",
        "update leases.coordination.k8s.io/kubectl-repack-controller -n kubectl-repack",
    ] {
        assert!(may(account, what), "the controller may not {what}");
    }
    for what in [
        "get secrets -A",
        "get customresourcedefinitions.apiextensions.k8s.io/repackruns.repack.volcano.sh",
        "patch repackruns.repack.volcano.sh --subresource=status",
        "patch events -n default",
        "create repackruns.repack.volcano.sh",
        "delete pods -A",
        "patch nodes",
        "update leases.coordination.k8s.io/other -n kubectl-repack",
        "get leases.coordination.k8s.io/kubectl-repack-controller -n default",
        "update customresourcedefinitions.apiextensions.k8s.io/repackruns.repack.volcano.sh",
    ] {
        assert!(!may(account, what), "the controller may {what}");
    }
    cluster
        .kubectl_text("create clusterrolebinding reader --clusterrole=kubectl-repack-reader --user=reader");
    cluster
        .kubectl_text("create clusterrolebinding runner --clusterrole=kubectl-repack-runner --user=runner");
    for (who, what, allowed) in [
        ("reader", "list pods -A", true),
        ("reader", "watch repackruns.repack.volcano.sh", true),
        ("reader", "create repackruns.repack.volcano.sh", false),
        ("reader", "get customresourcedefinitions.apiextensions.k8s.io/repackruns.repack.volcano.sh", true),
        ("reader", "get leases.coordination.k8s.io/kubectl-repack-controller -n kubectl-repack", true),
        ("reader", "get secrets -A", false),
        ("runner", "create repackruns.repack.volcano.sh", true),
        ("runner", "delete repackruns.repack.volcano.sh", false),
        ("runner", "get leases.coordination.k8s.io/kubectl-repack-controller -n kubectl-repack", true),
        ("runner", "list pods -A", false),
    ] {
        assert_eq!(may(who, what), allowed, "{who}: {what}");
    }
}
