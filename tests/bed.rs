//! The test bed itself: a real control plane that starts, does its work, and leaves nothing behind.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may fail where it stands

mod cluster;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use cluster::guide::NAMESPACE;
use cluster::objects::{Pool, SOON, has_condition, list};
use cluster::process::is_alive;
use cluster::{Cluster, Options, tools};
use serde_json::{Value, json};

static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(|| {
    let cluster = Cluster::start(&Options { users: &["nobody"], ..Options::default() })?;
    tools::say(&format!("the cluster was ready after {:.1} s", cluster.ready_after().as_secs_f64()));
    Some(cluster)
});

/// Nothing at all but the API: for what is said about starts and ends.
const BARE: Options = Options {
    users: &[],
    kwok: false,
    scheduler: false,
    schedulers: &[],
    garbage_collector: true,
    volcano: false,
    repack: false,
    apiserver: &[],
    folder: None,
};

fn deployment(namespace: &str, name: &str, scheduler: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "schedulerName": scheduler,
                    "containers": [{
                        "name": "main",
                        "image": "alpine:3.20",
                        "resources": {"limits": {"example.com/card": 1}},
                    }],
                },
            },
        },
    })
}

fn ready_pods(cluster: &Cluster, namespace: &str, app: &str) -> Vec<Value> {
    let path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector=app%3D{app}");
    let listed = cluster.get("admin", &path).ok();
    list(&listed).iter().filter(|pod| has_condition(pod, "Ready")).cloned().collect()
}

#[test]
fn pods_of_deployments_are_bound_and_ready_and_a_budget_blocks_an_eviction() {
    let Some(cluster) = &*CLUSTER else { return };
    cluster.nodes(&Pool {
        prefix: "plain-",
        count: 2,
        resource: "example.com/card",
        cards: 4,
        ..Pool::default()
    });
    cluster.namespace("bound");
    for scheduler in ["default-scheduler", "volcano", "hami-scheduler"] {
        cluster.create(&deployment("bound", scheduler, scheduler, 2));
    }
    for scheduler in ["default-scheduler", "volcano", "hami-scheduler"] {
        let pods = cluster.wait_for(&format!("the pods of {scheduler} are Ready"), SOON, || {
            let pods = ready_pods(cluster, "bound", scheduler);
            (pods.len() == 2).then_some(pods)
        });
        for pod in pods {
            let node = pod["spec"]["nodeName"].as_str().unwrap();
            assert!(node.starts_with("plain-"), "a node without cards was chosen: {node}");
        }
    }

    cluster.create(&json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "bound", "name": "all"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "volcano"}}},
    }));
    let budget = "/apis/policy/v1/namespaces/bound/poddisruptionbudgets/all";
    cluster.wait_for("the budget counts its pods", SOON, || {
        (cluster.get("admin", budget).ok()["status"]["currentHealthy"] == 2).then_some(())
    });
    let held = ready_pods(cluster, "bound", "volcano");
    let answer = cluster.evict("admin", "bound", held[0]["metadata"]["name"].as_str().unwrap());
    assert_eq!(answer.code, 429, "{}", answer.body);
    assert!(answer.message().contains("disruption budget"), "{}", answer.message());

    let free = ready_pods(cluster, "bound", "hami-scheduler");
    let evicted = free[0]["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(cluster.evict("admin", "bound", &evicted).code, 201);
    cluster.wait_for("a replacement of the evicted pod is Ready", SOON, || {
        let pods = ready_pods(cluster, "bound", "hami-scheduler");
        (pods.len() == 2 && pods.iter().all(|pod| pod["metadata"]["name"] != *evicted)).then_some(())
    });
}

#[test]
fn a_user_without_rights_is_refused_and_the_audit_log_says_so() {
    let Some(cluster) = &*CLUSTER else { return };
    let mark = cluster.audit_mark();
    let answer = cluster.get("nobody", "/api/v1/pods?limit=7");
    assert_eq!(answer.code, 403, "{}", answer.body);
    assert!(
        answer.message().contains(r#"User "nobody" cannot list resource "pods""#),
        "{}",
        answer.message()
    );
    let done = cluster.kubectl("nobody", "get nodes");
    assert!(!done.status.success());
    assert!(String::from_utf8_lossy(&done.stderr).contains("Forbidden"), "{done:?}");

    let calls: Vec<_> = cluster.audit_since(mark).into_iter().filter(|call| call.user == "nobody").collect();
    let pods = calls.iter().find(|call| call.resource == "pods").unwrap();
    assert_eq!((pods.verb.as_str(), pods.code, pods.uri.as_str()), ("list", 403, "/api/v1/pods?limit=7"));
    let nodes = calls.iter().find(|call| call.resource == "nodes").unwrap();
    assert_eq!((nodes.verb.as_str(), nodes.code), ("list", 403));
    assert!(nodes.agent.starts_with("kubectl/"), "{}", nodes.agent);

    cluster.apply(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: nobody-views},
          roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view},
          subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: nobody}]}",
    );
    cluster.wait_for("the role is in force", SOON, || {
        (cluster.get("nobody", "/api/v1/pods?limit=7").code == 200).then_some(())
    });
    assert_eq!(cluster.get("nobody", "/api/v1/secrets").code, 403);
}

#[test]
fn foreign_types_answer_to_the_names_of_the_guides_and_the_plan_has_the_guides_numbers() {
    let Some(cluster) = &*CLUSTER else { return };
    let guide = cluster.guide();
    let group = &guide.training.groups[0];
    let shown = |arguments: &str| cluster.kubectl_text(&format!("get {arguments}"));
    assert!(shown("vcjob -n repack-demo").contains("ascend-batch-training"));
    assert!(shown("modelserving -n repack-demo").contains("ascend-online-serving"));
    assert!(shown("podgroup -n repack-demo --show-labels").contains("repack.volcano.sh/eligible=true"));
    assert!(shown("pg -n repack-demo -o name").contains(group.as_str()));
    assert!(shown("queue").contains("Open"));
    assert!(shown("hypernodes -o name").is_empty());
    assert!(shown("repackruns -o name").is_empty());

    let state = cluster.folder().join("state.json");
    let kinds = "nodes,namespaces,pods,podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh,\
                 jobs.batch.volcano.sh,modelservings,jobs.batch,replicasets,statefulsets,pdb";
    std::fs::write(&state, shown(&format!("{kinds} -A -o json"))).unwrap();
    let run = cluster.folder().join("run.yaml");
    std::fs::write(
        &run,
        "{apiVersion: repack.volcano.sh/v1alpha1, kind: RepackRun, metadata: {name: ascend-scoped-dryrun},
          spec: {mode: DryRun, goals: [{resource: huawei.com/ascend-1980}], scope: {
            podGroups: {include: {selector: {matchLabels: {repack.volcano.sh/eligible: \"true\"}}}},
            nodes: {include: {selector: {matchLabels: {accelerator-pool: ascend-npu}}}}}}}",
    )
    .unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-repack"))
        .args(["dryrun", "-o", "json", "-f"])
        .arg(&run)
        .arg("--snapshot")
        .arg(&state)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let plan = serde_json::from_slice::<Value>(&done.stdout).unwrap()["status"]["plan"].take();
    let summary = &plan["summary"];
    assert_eq!((&summary["fragBeforePercent"], &summary["fragAfterPercent"]), (&json!(33), &json!(0)));
    assert_eq!((&summary["freedNodeCount"], &summary["movedCardCount"]), (&json!(1), &json!(2)));
    assert_eq!(summary["resolvedScope"], json!({"podGroupCount": 1, "nodeCount": 3}));
    assert_eq!(plan["freedNodes"], json!(["ascend-node-01"]));
    assert_eq!(plan["moves"][0]["podGroupName"], json!(group));
    assert_eq!(plan["moves"][0]["owner"]["kind"], "Job");
    let pods = list_of_moves(&plan);
    assert_eq!(
        pods,
        [
            "ascend-batch-training-worker-0: ascend-node-01 -> ascend-node-02",
            "ascend-batch-training-worker-1: ascend-node-01 -> ascend-node-03",
        ]
    );
    assert_eq!(plan["moves"][0]["namespace"], NAMESPACE);
}

fn list_of_moves(plan: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pods = plan["moves"][0]["pods"].as_array().unwrap();
    let line = |pod: &Value| {
        format!("{}: {} -> {}", text(&pod["name"]), text(&pod["fromNode"]), text(&pod["toNode"]))
    };
    pods.iter().map(line).collect()
}

/// Set for the test that is run to be killed.
const KILLED: &str = "CLUSTER_TEST_IS_KILLED";

#[test]
#[ignore = "is killed by another test"]
fn a_run_that_waits_for_its_end() {
    if std::env::var_os(KILLED).is_none() {
        return;
    }
    let cluster = Cluster::start(&BARE).unwrap();
    for (name, pid) in cluster.ids() {
        println!("started {name} {pid}");
    }
    println!("started all");
    std::thread::sleep(Duration::from_mins(10));
}

#[test]
fn nothing_is_left_after_a_drop_a_panic_or_the_death_of_the_test() {
    let Some(cluster) = Cluster::start(&BARE) else { return };
    let (ids, folder, server) = (cluster.ids(), cluster.folder().to_owned(), cluster.server().to_owned());
    let names: Vec<&str> = ids.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["kube-controller-manager", "kube-apiserver", "etcd"]);
    let address = server.trim_start_matches("https://");
    assert!(ids.iter().all(|(_, pid)| is_alive(*pid)));
    assert!(TcpStream::connect(address).is_ok());
    drop(cluster);
    assert!(ids.iter().all(|(_, pid)| !is_alive(*pid)), "{ids:?}");
    assert!(TcpStream::connect(address).is_err());
    assert!(!folder.exists());

    let cluster = Cluster::start(&BARE).unwrap();
    let (ids, folder) = (cluster.ids(), cluster.folder().to_owned());
    let ended = catch_unwind(AssertUnwindSafe(move || {
        let _cluster = cluster;
        panic!("this panic is part of the test");
    }));
    assert!(ended.is_err());
    assert!(ids.iter().all(|(_, pid)| !is_alive(*pid)), "{ids:?}");
    assert!(folder.join("logs/kube-apiserver.log").exists(), "the logs of a failed test are kept");
    std::fs::remove_dir_all(folder).unwrap();

    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_run_that_waits_for_its_end", "--nocapture"])
        .env(KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ids: Vec<u32> = lines
        .take_while(|line| line != "started all")
        .filter_map(|line| line.strip_prefix("started ")?.split(' ').nth(1)?.parse().ok())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|pid| is_alive(*pid)));
    child.kill().unwrap();
    child.wait().unwrap();
    let waited = std::time::Instant::now();
    while ids.iter().any(|pid| is_alive(*pid)) {
        assert!(waited.elapsed() < SOON, "still there after the death of their test: {ids:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a target of the Makefile on a demo of this test's own.
fn make(target: &str, folder: &Path) -> Output {
    let mut command = Command::new("make");
    command.arg(target).arg(format!("DEMO={}", folder.display())).current_dir(env!("CARGO_MANIFEST_DIR"));
    // Build scripts look at what cargo says about the package that runs, and would have half the crates built again.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|head| name.to_string_lossy().starts_with(head)) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn make_demo_prints_commands_that_work_and_make_demo_down_ends_it() {
    let is_there = Command::new("make").arg("--version").stdout(Stdio::null()).status();
    if is_there.is_err() {
        return tools::say("skipped: make is not installed");
    }
    if CLUSTER.is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("demo-{}", std::process::id()));
    let done = make("demo", &folder);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let ids = std::fs::read_to_string(folder.join("ids")).unwrap();
    let ids: Vec<u32> = ids.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(ids.len(), 5);

    // What is indented is what a reader copies: two lines for the shell and three commands.
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert_eq!(lines.len(), 5, "{text}");
    let tried = Command::new("sh").args(["-ec", &lines.join("\n")]).output().unwrap();
    let shown = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{shown}{}", String::from_utf8_lossy(&tried.stderr));
    assert!(shown.contains("20 nodes, 17 occupied, optimum 11, rate 30.0%"), "{shown}");
    assert!(shown.contains("freed 6 of at most 6"), "{shown}");

    let second = make("demo", &folder);
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("a demo runs already in "), "{second:?}");

    let ended = make("demo-down", &folder);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(ids.iter().all(|pid| !is_alive(*pid)), "{ids:?}");
    assert!(!folder.exists());
}
