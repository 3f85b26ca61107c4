//! The largest real cluster of the bench on a real API server: 1,213 nodes, some 8,500 objects.
//!
//! The bench's `to_k8s.py` makes the objects; the Volcano Jobs that they name as owners are created first, and the
//! references pointed at them. Nothing else runs in the cluster: no scheduler, and no garbage collector.
//!
//! Reads the bench where it is (`BENCH`, by default `../shared/bench`) and says `skipped` without it. Times and memory are printed;
//! they are held to their limits only for the program that `RELEASE_BINARY` names, since one without optimisation plans
//! for minutes; it is given less effort and one run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cluster::controller::{ACCOUNT, Controller, RUNS, reason};
use cluster::measure::{measured, peak};
use cluster::{Cluster, Options, poll, tools};
use serde_json::{Value, json};

const INSTANCE: &str = "openb-1213";
const RESOURCE: &str = "nvidia.com/gpu";
/// From the command line to the end of `report`.
const MOST_REPORT: Duration = Duration::from_secs(3);
/// From the creation of a run to its end.
const MOST_RUN: Duration = Duration::from_secs(5);
/// Peak memory of the controller.
const MOST_MEMORY: u64 = 300 << 20;
/// Effort of a program without optimisation.
const LITTLE: u64 = 100_000;
/// For a program without optimisation on a busy machine.
const PATIENCE: Duration = Duration::from_mins(8);

/// The bench's objects by kind, in the order in which they have to be created.
struct Objects {
    nodes: Vec<Value>,
    groups: Vec<Value>,
    pods: Vec<Value>,
}

/// None: there is no bench or no python3.
fn objects() -> Option<Objects> {
    let bench = std::env::var_os("BENCH")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/bench"), PathBuf::from);
    let instance = bench.join(format!("instances/{INSTANCE}.json.gz"));
    if !instance.exists() {
        tools::say(&format!("skipped: there is no {}", instance.display()));
        return None;
    }
    let done = Command::new("python3").arg(bench.join("to_k8s.py")).arg(instance).output();
    let Ok(done) = done else {
        tools::say("skipped: python3 is not installed");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut list: Value = serde_json::from_slice(&done.stdout).unwrap();
    let Value::Array(items) = list["items"].take() else { panic!("no list") };
    let of = |kind: &str| items.iter().filter(|item| item["kind"] == kind).cloned().collect();
    Some(Objects { nodes: of("Node"), groups: of("PodGroup"), pods: of("Pod") })
}

/// Creates everything, owners first.
fn fill(cluster: &Cluster, mut objects: Objects) {
    let namespaces: BTreeSet<String> =
        objects.pods.iter().map(|pod| text(&pod["metadata"]["namespace"])).collect();
    for namespace in &namespaces {
        cluster.namespace(namespace);
    }
    cluster.create_all(&objects.nodes);
    let jobs = cluster.create_all(&jobs(&mut objects));
    let uids: BTreeMap<(String, String), Value> = jobs
        .iter()
        .map(|job| {
            let about = &job["metadata"];
            ((text(&about["namespace"]), text(&about["name"])), about["uid"].clone())
        })
        .collect();
    for object in objects.groups.iter_mut().chain(&mut objects.pods) {
        let about = &mut object["metadata"];
        let owner = (text(&about["namespace"]), text(&about["ownerReferences"][0]["name"]));
        about["ownerReferences"][0]["uid"] = uids[&owner].clone();
    }
    cluster.create_all(&objects.groups);
    cluster.create_all(&objects.pods);
}

/// The Jobs that own pods and groups: a task for each spec among their pods, which say which task is theirs.
fn jobs(objects: &mut Objects) -> Vec<Value> {
    let mut tasks: BTreeMap<(String, String), Vec<(Value, usize)>> = BTreeMap::new();
    for object in &objects.groups {
        let about = &object["metadata"];
        tasks.entry((text(&about["namespace"]), text(&about["ownerReferences"][0]["name"]))).or_default();
    }
    for pod in &mut objects.pods {
        let about = &pod["metadata"];
        let owner = (text(&about["namespace"]), text(&about["ownerReferences"][0]["name"]));
        let mut spec = pod["spec"].clone();
        spec.as_object_mut().unwrap().remove("nodeName");
        let tasks = tasks.entry(owner).or_default();
        let at = tasks.iter().position(|(known, _)| *known == spec).unwrap_or_else(|| {
            tasks.push((spec, 0));
            tasks.len() - 1
        });
        tasks[at].1 += 1;
        pod["metadata"]["annotations"]["volcano.sh/task-spec"] = json!(format!("task{at}"));
    }
    let job = |((namespace, name), tasks): ((String, String), Vec<(Value, usize)>)| {
        let task = |(at, (spec, replicas)): (usize, (Value, usize))| json!({"name": format!("task{at}"), "replicas": replicas, "template": {"spec": spec}});
        json!({
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {
                "schedulerName": "volcano", "queue": "default",
                "tasks": tasks.into_iter().enumerate().map(task).collect::<Vec<Value>>(),
            },
            "status": {"state": {"phase": "Running"}},
        })
    };
    tasks.into_iter().map(job).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn a_real_cluster_of_1213_nodes_is_reported_planned_offline_and_by_the_controller_alike() {
    let Some(objects) = objects() else { return };
    let options = Options {
        users: &[ACCOUNT],
        kwok: false,
        scheduler: false,
        garbage_collector: false,
        ..Options::default()
    };
    let Some(cluster) = Cluster::start(&options) else { return };
    let release = std::env::var_os("RELEASE_BINARY").map(PathBuf::from);
    let program = release.clone().unwrap_or_else(|| env!("CARGO_BIN_EXE_kubectl-repack").into());
    cluster.install_controller();
    let since = Instant::now();
    let (nodes, pods) = (objects.nodes.len(), objects.pods.len());
    fill(&cluster, objects);
    tools::say(&format!(
        "{nodes} nodes and {pods} pods were there after {:.1} s",
        since.elapsed().as_secs_f64()
    ));

    let mut times = Vec::new();
    for _ in 0..3 {
        let mut command = cluster.command("admin", &program);
        let (report, took, memory) = measured(command.args(["report", "--resource", RESOURCE]));
        tools::say(&format!("report: {:.2} s, {} MiB", took.as_secs_f64(), memory >> 20));
        assert!(report.contains("1213 nodes, 1142 occupied"), "{report}");
        times.push(took);
    }
    times.sort_unstable();
    let report = times[1];

    let file = cluster.folder().join("state.json");
    let mut command = cluster.command("admin", &program);
    measured(command.args(["snapshot", "-o"]).arg(&file));
    let mut run = json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": "offline"},
        "spec": {"mode": "DryRun", "goals": [{"resource": RESOURCE}]},
    });
    if release.is_none() {
        run["spec"]["planner"] = json!({"effort": LITTLE});
    }
    let asked = cluster.folder().join("run.json");
    std::fs::write(&asked, run.to_string()).unwrap();
    let mut command = cluster.command("admin", &program);
    let arguments = ["dryrun", "-o", "json", "--snapshot"];
    let (offline, took, memory) = measured(command.args(arguments).arg(&file).arg("-f").arg(&asked));
    tools::say(&format!("dryrun --snapshot: {:.2} s, {} MiB", took.as_secs_f64(), memory >> 20));
    let offline = serde_json::from_str::<Value>(&offline).unwrap()["status"]["plan"].take();
    assert!(offline["summary"]["freedNodeCount"].as_i64().unwrap() > 500, "{}", offline["summary"]);

    let controller = Controller::start(&cluster, &program, ACCOUNT, "large", &[]);
    controller.is_ready(&cluster);
    cluster.wait_for("the controller to lead", Duration::from_secs(30), || {
        controller.asked("metrics_port", "/metrics").1.contains("kubectl_repack_leader 1").then_some(())
    });
    let mut longest = Duration::ZERO;
    for at in 0..if release.is_some() { 3 } else { 1 } {
        let name = format!("run-{at}");
        let mut run = run.clone();
        run["metadata"]["name"] = json!(name);
        let since = Instant::now();
        cluster.create(&run);
        let ended = poll(PATIENCE, || {
            let run = cluster.get("admin", &format!("{RUNS}/{name}")).body;
            matches!(run["status"]["phase"].as_str(), Some("Succeeded" | "Failed")).then_some(run)
        });
        let took = since.elapsed();
        let ended = ended.expect("the run ends");
        tools::say(&format!(
            "run: {:.2} s, object {} bytes; controller {} MiB",
            took.as_secs_f64(),
            ended.to_string().len(),
            peak(controller.id()) >> 20
        ));
        assert_eq!(reason(&ended), "RepackRecommended", "{}", ended["status"]["message"]);
        // Maps of JSON are sorted: this is what `jq -S` prints.
        let [there, here] = [&ended["status"]["plan"], &offline].map(Value::to_string);
        assert!(there == here, "the plans differ");
        longest = longest.max(took);
    }
    let memory = peak(controller.id());
    controller.end();
    if release.is_some() {
        assert!(report <= MOST_REPORT, "report took {report:?}");
        assert!(longest <= MOST_RUN, "a run took {longest:?}");
        assert!(memory < MOST_MEMORY, "the controller had {} MiB", memory >> 20);
    }
}
