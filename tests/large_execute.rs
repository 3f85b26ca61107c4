//! An execution of many moves on a real control plane: what it asks of the API server, how long it takes, and how much it
//! writes.
//!
//! `LARGE_EXECUTE=1000` makes that many nodes instead of a few, and a tenth as many moves; `MOVES` says how many moves and
//! `IN_FLIGHT` how many of them are under way at the same time. `RELEASE_BINARY` names the program that runs. Of ten nodes one or none is to be emptied: two pods of one card each, of a
//! ReplicaSet of their own. So many others have one card free for each of them, and the rest is full. Pods that stay
//! have no owner, and are not scheduled but made where they are; so are those that move, until the ReplicaSet adopts them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cluster::controller::{ACCOUNT, Controller, RUNS, reason};
use cluster::measure::peak;
use cluster::objects::{ASCEND, Pool, list, pod_spec};
use cluster::server::Proxy;
use cluster::{Cluster, Options, poll, tools};
use serde_json::{Value, json};

/// Nodes of a run that is not told otherwise.
const NODES: usize = 60;
const CARDS: usize = 8;
const NAMESPACE: &str = "large";
/// Pods on a page of the controller's list.
const PAGE: usize = 500;
/// For what depends on the number of moves, besides.
const PATIENCE: Duration = Duration::from_mins(2);
/// Longest that a move may take on average, on a busy machine without optimisation.
const MOST_PER_MOVE: Duration = Duration::from_secs(20);
/// Most requests of a move on average: the victim is read and evicted; its replacement nominated, read back, and let go,
/// which reads and changes it; two events tell of it; its record is written as begun, selected, nominated and placed.
/// Twelve, and a few again where a look comes between. A list or a look per turn would be far beyond.
const MOST_REQUESTS_PER_MOVE: usize = 16;
/// Requests of a run that do not depend on the moves: begin, webhooks, probes, the list, clean-up, end.
const BESIDES: usize = 50;

/// The status writes of a run, by their bytes.
type Written = Arc<Mutex<Vec<usize>>>;

fn pod(name: &str, node: &str, app: &str, cards: usize) -> Value {
    let mut spec = pod_spec(u32::try_from(cards).unwrap(), "c", &json!({}));
    spec["schedulerName"] = json!("default-scheduler");
    spec["restartPolicy"] = json!("Always");
    spec["nodeName"] = json!(node);
    spec["terminationGracePeriodSeconds"] = json!(1);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": NAMESPACE, "name": name, "labels": {"app": app}}, "spec": spec,
    })
}

/// Fills the cluster; how many pods it has then.
fn fill(cluster: &Cluster, nodes: usize, moves: usize) -> usize {
    let names = cluster.nodes(&Pool { prefix: "n-", count: nodes, ..Pool::default() });
    cluster.namespace(NAMESPACE);
    let emptied = moves / 2;
    // Those with room for one card each; where they are too few, for more.
    let others = &names[emptied..];
    let room = |at: usize| moves / others.len() + usize::from(at < moves % others.len());
    let mut pods: Vec<Value> = Vec::new();
    for (at, node) in names[..emptied].iter().enumerate() {
        pods.extend((0..2).map(|number| pod(&format!("w-{at}-{number}"), node, &format!("w-{at}"), 1)));
    }
    for (at, node) in others.iter().enumerate() {
        pods.push(pod(&format!("stays-{at}"), node, "stays", CARDS - room(at)));
    }
    cluster.create_all(&pods);
    let sets = (0..emptied).map(|at| {
        let labels = json!({"app": format!("w-{at}")});
        let mut spec = pods[2 * at]["spec"].clone();
        spec.as_object_mut().unwrap().remove("nodeName");
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"namespace": NAMESPACE, "name": format!("w-{at}")},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": spec}},
        })
    });
    cluster.create_all(&sets.collect::<Vec<Value>>());
    cluster.wait_for("every pod is Ready and has its owner", PATIENCE, || {
        let all = cluster.get("admin", "/api/v1/namespaces/large/pods").ok();
        let adopted = list(&all).iter().filter(|pod| !pod["metadata"]["ownerReferences"].is_null()).count();
        (adopted == 2 * emptied && list(&all).len() == pods.len()).then_some(())
    });
    cluster.pods_run(NAMESPACE);
    pods.len()
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn a_run_of_many_moves_completes_lists_once_and_asks_a_few_things_of_each() {
    let nodes = number("LARGE_EXECUTE", NODES);
    let moves = number("MOVES", nodes / 10);
    let Some(cluster) = Cluster::start(&Options { users: &[ACCOUNT], ..Options::default() }) else { return };
    cluster.install_executor();
    let since = Instant::now();
    let pods = fill(&cluster, nodes, moves);
    tools::say(&format!("{nodes} nodes and {pods} pods after {:.0} s", since.elapsed().as_secs_f64()));

    let release = std::env::var_os("RELEASE_BINARY").map(PathBuf::from);
    let program = release.unwrap_or_else(|| env!("CARGO_BIN_EXE_kubectl-repack").into());
    let (proxy, written) = (Proxy::start(&cluster), Written::default());
    let noted = Arc::clone(&written);
    proxy.strike(move |asked| {
        if asked.path.starts_with(RUNS) && asked.path.ends_with("/status") {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(asked.body.len());
        }
        None
    });
    let begun = cluster.audit_mark();
    let kubeconfig = proxy.kubeconfig(&cluster, ACCOUNT);
    // The default lease: a shorter one is lost now and then where so much else has to be done.
    let more = [
        ["--kubeconfig", kubeconfig.to_str().unwrap()],
        ["--webhook-url", "https://127.0.0.1"],
        ["--lease-duration", "20s"],
        ["--webhook-port", "0"],
    ];
    let controller = Controller::executing(&cluster, &program, ACCOUNT, "large", more.as_flattened());
    controller.is_ready(&cluster);
    let mark = cluster.audit_mark();
    let since = Instant::now();
    cluster.create(&json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": "large"},
        "spec": {"mode": "Execute", "goals": [{"resource": ASCEND}], "planner": {"algorithm": "Drain"},
                 "execution": {"maxConcurrentEvictions": number("IN_FLIGHT", 1)}},
    }));
    let patience = PATIENCE + MOST_PER_MOVE * u32::try_from(moves).unwrap();
    let run = poll(patience, || {
        let run = cluster.get("admin", &format!("{RUNS}/large")).body;
        let ended = matches!(run["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        (ended && run["metadata"]["finalizers"].is_null()).then_some(run)
    });
    let run = run.unwrap_or_else(|| panic!("the run does not end: {}", controller.log().last().unwrap()));
    let took = since.elapsed();
    let status = &run["status"];
    assert_eq!(reason(&run), "ExecutionCompleted", "{}", status["message"]);
    let moved = status["relocations"].as_array().unwrap().len();
    assert!(moved == moves || status["plan"]["limitedBySize"] == true, "{moved} of {moves}");

    let of_controller = |mark| cluster.audit_since(mark).into_iter().filter(|call| call.user == ACCOUNT);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for call in of_controller(mark) {
        // Watches end and begin anew, and the lease is renewed, whatever is moved.
        if call.verb != "watch" && !call.resource.starts_with("leases") {
            *kinds.entry(format!("{} {}", call.verb, call.resource)).or_default() += 1;
        }
    }
    let each = |count: usize| format!("{}.{:02}", count / moved, 100 * count / moved % 100);
    let all: usize = kinds.values().sum();
    let sizes = written.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let bytes: usize = sizes.iter().sum();
    let millis = usize::try_from(took.as_millis()).unwrap();
    tools::say(&format!(
        "{moved} moves on {nodes} nodes in {} s, {} ms each; {} requests each; {} status writes each of {} bytes on average, \
         at most {}: {} bytes each; controller {} MiB",
        took.as_secs(),
        millis / moved,
        each(all),
        each(sizes.len()),
        bytes / sizes.len(),
        sizes.iter().max().unwrap(),
        bytes / moved,
        peak(controller.id()) >> 20
    ));
    for (kind, count) in &kinds {
        tools::say(&format!("  {kind}: {count}, {} each", each(*count)));
    }

    // Once, for the result: pods only, page by page.
    let listed = |kind: &str| kinds.get(&format!("list {kind}")).copied().unwrap_or(0);
    assert_eq!(listed("pods"), pods.div_ceil(PAGE), "{kinds:?}");
    let lists: usize =
        kinds.iter().filter(|(kind, _)| kind.starts_with("list ")).map(|(_, &count)| count).sum();
    assert_eq!(lists, listed("pods"), "{kinds:?}");
    // At the start each kind once: as a list or through a watch.
    for kind in ["pods", "nodes"] {
        let calls = of_controller(begun).filter(|call| call.resource == kind && call.code < 300);
        let arrives = |uri: &str| uri.contains("sendInitialEvents=true") || !uri.contains("watch=true");
        let starts =
            calls.filter(|call| ["watch", "list"].contains(&call.verb.as_str()) && arrives(&call.uri));
        let expected = 1 + if kind == "pods" { pods.div_ceil(PAGE) } else { 0 };
        let starts = starts.count();
        assert_eq!(starts, expected, "{kind} were listed {starts} times");
    }
    assert!(all <= MOST_REQUESTS_PER_MOVE * moved + BESIDES, "{kinds:?}");
    controller.end();
}
