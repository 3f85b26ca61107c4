//! The DryRun steps of the operator's guide, command by command, on a real control plane with our controller.
//!
//! The commands and the numbers are the guide's: three nodes of eight cards, 33 % -> 0 %, one node freed, two cards moved.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::path::PathBuf;
use std::process::Output;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use cluster::process::Processes;
use cluster::{Cluster, Options};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-repack");
const SOON: Duration = Duration::from_mins(1);

/// The guide's cluster, with our CRD and a controller.
struct Bed {
    cluster: Cluster,
    _controller: Mutex<Processes>,
}

static BED: LazyLock<Option<Bed>> = LazyLock::new(|| {
    let cluster = Cluster::start(&Options::default())?;
    cluster.guide();
    let mut controller = Processes::new(&cluster.folder().join("controller")).unwrap();
    let arguments = "controller --lease-namespace default --lease-duration 2s --listen 127.0.0.1 --health-port 0 \
                     --metrics-port 0 --webhook-port 0 --webhook-url https://127.0.0.1";
    let mut command = cluster.command("admin", BINARY);
    controller.start("controller", command.args(arguments.split_whitespace())).unwrap();
    Some(Bed { cluster, _controller: Mutex::new(controller) })
});

const BASE: &str = "apiVersion: repack.volcano.sh/v1alpha1
kind: RepackRun
metadata:
  name: NAME
spec:
  mode: DryRun
";

const GOAL: &str = "  goals:
    - resource: huawei.com/ascend-1980
";

const SCOPE: &str = "  scope:
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
";

const WITH_EXCLUDES: &str = "  scope:
    podGroups:
      include:
        selector:
          matchLabels:
            repack.volcano.sh/eligible: \"true\"
      exclude:
        selector:
          matchLabels:
            repack.volcano.sh/protected: \"true\"
    nodes:
      include:
        selector:
          matchLabels:
            accelerator-pool: ascend-npu
      exclude:
        selector:
          matchLabels:
            maintenance-state: draining
";

const GUARDED: &str = "  goals:
    - resource: huawei.com/ascend-1980
      minFragImprovementPercent: 10
  maxPerRun:
    podGroups: 1
    resources:
      huawei.com/ascend-1980: 4
  ttlSecondsAfterFinished: 86400
";

impl Bed {
    /// Applies a run as the guide does, from a file, and waits for its end.
    fn run(&self, name: &str, spec: &str) {
        let file = self.cluster.folder().join(format!("{name}.yaml"));
        std::fs::write(&file, format!("{}{spec}", BASE.replace("NAME", name))).unwrap();
        let applied = self.cluster.kubectl_text(&format!("apply -f {}", file.display()));
        assert_eq!(applied.trim(), format!("repackrun.repack.volcano.sh/{name} created"));
        self.cluster.wait_for(&format!("run {name} has ended"), SOON, || {
            let phase = self.ask(name, "{.status.phase}");
            matches!(phase.as_str(), "Succeeded" | "Failed").then_some(())
        });
    }

    /// `kubectl get repackrun NAME -o jsonpath='…'`.
    fn ask(&self, name: &str, path: &str) -> String {
        let mut kubectl = self.cluster.command("admin", "kubectl");
        let done =
            kubectl.args(["get", "repackrun", name, "-o", &format!("jsonpath={path}")]).output().unwrap();
        text(&done)
    }
}

fn text(done: &Output) -> String {
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout.clone()).unwrap()
}

#[test]
fn step_1_the_smallest_dry_run_recommends_a_plan() {
    let Some(bed) = &*BED else { return };
    bed.run("ascend-npu-dryrun", GOAL);
    let kubectl = |arguments: &str| bed.cluster.kubectl_text(arguments);
    let table = kubectl("get repackrun ascend-npu-dryrun");
    let columns: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(columns, ["NAME", "MODE", "RESOURCE", "PHASE", "PLAN-FREED", "ACTUAL-FREED", "AGE"]);
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..5], ["ascend-npu-dryrun", "DryRun", "huawei.com/ascend-1980", "Succeeded", "1"]);
    assert!(kubectl("get rpr ascend-npu-dryrun -o wide").contains("RepackRecommended"));
    assert!(kubectl("get repackrun ascend-npu-dryrun -o yaml").contains("reason: RepackRecommended"));
    let complete = bed.ask("ascend-npu-dryrun", "{.status.conditions[?(@.type==\"Complete\")].reason}");
    assert_eq!(complete, "RepackRecommended");
    // The plan moved nothing.
    let on_first = kubectl("get pod -A --field-selector spec.nodeName=ascend-node-01 -o name");
    assert_eq!(on_first.lines().count(), 2, "{on_first}");
}

#[test]
fn step_2_the_workloads_are_found_under_the_names_of_the_guide() {
    let Some(bed) = &*BED else { return };
    for (command, expected) in [
        ("get vcjob -n repack-demo", "ascend-batch-training"),
        ("get modelserving -n repack-demo", "ascend-online-serving"),
        ("get pod -n repack-demo -o wide", "ascend-node-01"),
        ("get podgroup -n repack-demo --show-labels", "repack.volcano.sh/eligible=true"),
        ("describe node ascend-node-01", "huawei.com/ascend-1980"),
    ] {
        assert!(bed.cluster.kubectl_text(command).contains(expected), "{command}");
    }
}

#[test]
fn step_3_the_scope_is_resolved_and_the_moves_are_listed() {
    let Some(bed) = &*BED else { return };
    bed.run("ascend-scoped-dryrun", &format!("{GOAL}{SCOPE}"));
    let name = "ascend-scoped-dryrun";
    assert_eq!(
        bed.ask(
            name,
            r#"podGroups={.status.plan.summary.resolvedScope.podGroupCount}, nodes={.status.plan.summary.resolvedScope.nodeCount}{"\n"}"#
        ),
        "podGroups=1, nodes=3\n"
    );
    let moves = bed.ask(
        name,
        r#"{range .status.plan.moves[*]}{.owner.kind}{"/"}{.owner.name}{"\t"}{.namespace}{"/"}{.podGroupName}{"\t"}{.cards}{" cards\n"}{range .pods[*]}{"  "}{.name}{": "}{.fromNode}{" -> "}{.toNode}{"\n"}{end}{end}"#,
    );
    let lines: Vec<&str> = moves.lines().collect();
    assert!(lines[0].starts_with("Job/ascend-batch-training\trepack-demo/ascend-batch-training-"), "{moves}");
    assert!(lines[0].ends_with("\t2 cards"), "{moves}");
    assert_eq!(
        lines[1..],
        [
            "  ascend-batch-training-worker-0: ascend-node-01 -> ascend-node-02",
            "  ascend-batch-training-worker-1: ascend-node-01 -> ascend-node-03",
        ]
    );
    assert_eq!(bed.ask(name, r#"{.status.plan.freedNodes}{"\n"}"#), "[\"ascend-node-01\"]\n");
}

#[test]
fn step_3_exclusions_are_part_of_the_scope() {
    let Some(bed) = &*BED else { return };
    bed.run("ascend-excluding-dryrun", &format!("{GOAL}{WITH_EXCLUDES}"));
    assert_eq!(bed.ask("ascend-excluding-dryrun", "{.status.plan.summary.resolvedScope.podGroupCount}"), "1");
    assert_eq!(bed.ask("ascend-excluding-dryrun", "{.status.plan.freedNodes}"), "[\"ascend-node-01\"]");
}

#[test]
fn step_4_threshold_and_budget_let_the_plan_of_the_guide_pass() {
    let Some(bed) = &*BED else { return };
    bed.run("ascend-guarded-dryrun", &format!("{SCOPE}{GUARDED}"));
    assert_eq!(
        bed.ask(
            "ascend-guarded-dryrun",
            r#"fragmentation={.status.plan.summary.fragBeforePercent}% -> {.status.plan.summary.fragAfterPercent}%, freedNodes={.status.plan.summary.freedNodeCount}, movedCards={.status.plan.summary.movedCardCount}{"\n"}"#
        ),
        "fragmentation=33% -> 0%, freedNodes=1, movedCards=2\n"
    );
}

#[test]
fn step_4_a_budget_of_no_podgroup_moves_nothing_and_is_no_failure() {
    let Some(bed) = &*BED else { return };
    bed.run("ascend-frozen-dryrun", &format!("{GOAL}  maxPerRun:\n    podGroups: 0\n"));
    assert_eq!(bed.ask("ascend-frozen-dryrun", "{.status.phase}"), "Succeeded");
    let reason = bed.ask("ascend-frozen-dryrun", "{.status.conditions[?(@.type==\"Complete\")].reason}");
    assert_eq!(reason, "InsufficientImprovement");
}

#[test]
fn the_events_of_a_run_are_found_by_the_commands_of_the_questions() {
    let Some(bed) = &*BED else { return };
    bed.run("ascend-events-dryrun", GOAL);
    let events = bed.cluster.wait_for("the events of the run", SOON, || {
        let events = bed.cluster.kubectl_text("get events -A --sort-by=.lastTimestamp");
        (events.contains("RepackRecommended") && events.contains("ascend-events-dryrun")).then_some(events)
    });
    assert!(events.contains("PlanComputed"), "{events}");
}

#[test]
fn the_plugin_makes_a_run_and_shows_the_picture_of_its_plan() {
    let Some(bed) = &*BED else { return };
    let repack = |arguments: &str| {
        bed.cluster.command("admin", BINARY).args(arguments.split_whitespace()).output().unwrap()
    };
    let kept = repack("dryrun --ttl 1d");
    let local = repack("dryrun --local");
    assert_eq!(text(&kept), text(&local), "{kept:?}");
    let told = String::from_utf8_lossy(&kept.stderr).into_owned();
    let name = told.lines().find_map(|line| line.strip_prefix("repackrun.repack.volcano.sh/")).unwrap();
    let name = name.strip_suffix(" created").unwrap().to_owned();
    let status = text(&repack(&format!("status {name}")));
    assert!(status.starts_with(&format!("{name}: DryRun Succeeded (RepackRecommended)")), "{status}");
    assert!(status.contains("frees ascend-node-01"), "{status}");
    assert!(text(&repack("status")).contains(&name));
    assert_eq!(repack(&format!("status {name} -w --timeout 5s")).status.code(), Some(0));
    assert!(text(&repack(&format!("explain run/{name}"))).contains("CONDITION"));
    // The plan of the run is that of the same snapshot offline.
    let saved = PathBuf::from(bed.cluster.folder()).join("same.json");
    text(&repack(&format!("snapshot -o {}", saved.display())));
    let plan =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["status"]["plan"].clone();
    let offline = text(&repack(&format!("dryrun --snapshot {} -o json", saved.display())));
    let stored = text(&repack(&format!("status {name} -o json")));
    assert_eq!(plan(&stored), plan(&offline));
}
