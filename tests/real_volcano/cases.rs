//! The cases. Where nothing else is said: the first node holds the workload, the others have room for it, and the plan is to
//! free the first.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bed::{Case, Ended, Row, is_going};
use crate::cluster::objects::{list_at, name_of};
use crate::cluster::poll;

/// Name, what it is about, and the case.
type Named = (&'static str, &'static str, fn(&Case<'_>) -> Row);

pub const ALL: [Named; 17] = [
    ("plain", "vcjob without policies", |case| vcjob(case, None)),
    ("pod", "vcjob, PodEvicted->RestartPod", restart_pod),
    ("task", "vcjob, PodEvicted->RestartTask", |case| vcjob(case, Some("RestartTask"))),
    ("job", "vcjob, PodEvicted->RestartJob, a member on another node", restart_job),
    ("abort", "vcjob, PodEvicted->AbortJob", |case| not_moved(case, &[("w", 2, 1)], "AbortJob")),
    ("retries", "vcjob, PodEvicted->RestartPod, more pods than retries", |case| {
        not_moved(case, &[("w", 3, 1)], "RestartPod")
    }),
    ("deployment", "Deployment", |case| set(case, "Deployment")),
    ("statefulset", "StatefulSet", |case| set(case, "StatefulSet")),
    ("batch", "Job of Kubernetes", batch_job),
    ("gang", "gang of four, one after the other", |case| gang(case, 1)),
    ("together", "gang of four, all at once", |case| gang(case, 4)),
    ("whole-node", "gang of four, a vcjob waits for the whole node", waits_for_the_node),
    ("part", "gang of four, a vcjob waits for what one pod leaves", waits_for_a_part),
    ("large-one", "gang of four, a vcjob as large waits", |case| waits_for_all(case, None)),
    ("large-all", "gang of four that restarts, a vcjob as large waits", |case| {
        waits_for_all(case, Some("RestartJob"))
    }),
    ("labels", "Deployment in a scope by its pods' labels, beside another", |case| {
        scope_by_labels(case, true)
    }),
    ("owner", "Deployment in a scope by its own labels, beside another", |case| scope_by_labels(case, false)),
];

const NODES: usize = 3;

/// Two nodes with room for two cards each beside a first one that is empty.
fn two_receivers(case: &Case<'_>) {
    case.nodes(NODES, 8);
    case.hold(2, 6);
    case.hold(3, 6);
}

/// Everything went as planned and the first node is free.
fn as_planned(case: &Case<'_>, mut ended: Ended) -> Ended {
    ended.ends("ExecutionCompleted", &[case.node(1)]);
    ended.runs_again(case);
    ended
}

fn vcjob(case: &Case<'_>, on_eviction: Option<&str>) -> Row {
    two_receivers(case);
    let tasks = [("w", 2, 1), ("x", 1, 1)];
    case.stand(&case.vcjob("job", &tasks, on_eviction), 3, NODES, &[1]);
    let mut ended = as_planned(case, case.execute(&json!({})));
    is_running(case, &mut ended, "job");
    ended.row
}

fn is_running(case: &Case<'_>, ended: &mut Ended, job: &str) {
    let running = poll(Duration::from_secs(20), || (case.job_phase(job) == "Running").then_some(()));
    ended.expect(&format!("Job {job} is Running, not {}", case.job_phase(job)), running.is_some());
}

/// One member stands on a receiver: it is recreated along, and comes back to where it was.
fn restart_job(case: &Case<'_>) -> Row {
    two_receivers(case);
    case.hold(1, 6);
    case.stand(&case.vcjob("job", &[("w", 2, 2)], Some("RestartJob")), 2, NODES, &[1, 2]);
    case.let_go(1);
    let mut ended = as_planned(case, case.execute(&json!({})));
    is_running(case, &mut ended, "job");
    ended.row
}

fn uids(case: &Case<'_>) -> Vec<Value> {
    case.pods().iter().map(|pod| pod["metadata"]["uid"].clone()).collect()
}

/// Every eviction takes one of the Job's three retries, and the third ends it.
fn restart_pod(case: &Case<'_>) -> Row {
    two_receivers(case);
    case.stand(&case.vcjob("job", &[("w", 2, 1)], Some("RestartPod")), 2, NODES, &[1]);
    let mut ended = as_planned(case, case.execute(&json!({})));
    is_running(case, &mut ended, "job");
    ended.row
}

/// Moving the pods would end the Job.
fn not_moved(case: &Case<'_>, tasks: &[(&str, u32, u32)], on_eviction: &str) -> Row {
    two_receivers(case);
    let pods = usize::try_from(tasks[0].1).unwrap();
    case.stand(&case.vcjob("job", tasks, Some(on_eviction)), pods, NODES, &[1]);
    let before = uids(case);
    let mut ended = case.execute(&json!({}));
    ended.ends("InsufficientImprovement", &[]);
    ended.expect("no pod was touched", uids(case) == before);
    is_running(case, &mut ended, "job");
    ended.row
}

fn set(case: &Case<'_>, kind: &str) -> Row {
    two_receivers(case);
    case.stand(&case.set(kind, "set", 1, 2, &json!({})), 2, NODES, &[1]);
    as_planned(case, case.execute(&json!({}))).row
}

fn batch_job(case: &Case<'_>) -> Row {
    two_receivers(case);
    let mut spec = case.spec(1);
    spec["restartPolicy"] = json!("Never");
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": case.name, "name": "job"},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": spec}}});
    case.stand(&job, 2, NODES, &[1]);
    as_planned(case, case.execute(&json!({}))).row
}

fn gang(case: &Case<'_>, at_once: u32) -> Row {
    two_receivers(case);
    case.stand(&case.vcjob("gang", &[("w", 4, 1)], None), 4, NODES, &[1]);
    let spec = json!({"execution": {"maxConcurrentEvictions": at_once}});
    let mut ended = as_planned(case, case.execute(&spec));
    is_running(case, &mut ended, "gang");
    ended.row
}

/// The pods of a Job of Volcano that run, with their nodes.
fn nodes_of(case: &Case<'_>, job: &str) -> Vec<String> {
    let of_job = |pod: &&Value| pod["metadata"]["labels"]["volcano.sh/job-name"] == job && !is_going(pod);
    let pods = case.pods();
    let nodes = pods.iter().filter(of_job).filter_map(|pod| pod["spec"]["nodeName"].as_str());
    nodes.map(str::to_owned).collect()
}

/// It gets the node that was freed for it, and the result counts the node all the same.
fn waits_for_the_node(case: &Case<'_>) -> Row {
    two_receivers(case);
    case.stand(&case.vcjob("gang", &[("w", 4, 1)], None), 4, NODES, &[1]);
    wait_in_queue(case, &case.vcjob("large", &[("w", 1, 8)], None));
    let mut ended = as_planned_beside(case, "gang", 4);
    let there = poll(Duration::from_secs(20), || (nodes_of(case, "large") == [case.node(1)]).then_some(()));
    ended.expect("the Job that waited runs on the freed node", there.is_some());
    ended.row
}

/// A Job that nobody can place yet, known to the scheduler.
fn wait_in_queue(case: &Case<'_>, job: &Value) {
    case.bed.cluster.create(job);
    let name = name_of(job);
    let known = poll(Duration::from_secs(20), || {
        case.group_phases().iter().any(|phase| phase == "Pending" || phase == "Inqueue").then_some(())
    });
    assert!(known.is_some(), "Job {name} has no PodGroup that waits: {:?}", case.group_phases());
    // Two cycles, so that its pods are there if it is let in.
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(nodes_of(case, &name).is_empty(), "Job {name} did not have to wait");
}

/// The gang runs again where it was planned, and the first node counts as free.
fn as_planned_beside(case: &Case<'_>, gang: &str, pods: usize) -> Ended {
    let mut ended = case.execute(&json!({}));
    ended.ends("ExecutionCompleted", &[case.node(1)]);
    let back = poll(Duration::from_secs(20), || (nodes_of(case, gang).len() == pods).then_some(()));
    ended.expect("the gang runs again", back.is_some());
    ended
}

/// Five cards are free on the first node as soon as one of the gang has left: whoever waits for five may come before the
/// node is empty. What is said then has to be true.
fn waits_for_a_part(case: &Case<'_>) -> Row {
    two_receivers(case);
    case.stand(&case.vcjob("gang", &[("w", 4, 1)], None), 4, NODES, &[1]);
    wait_in_queue(case, &case.vcjob("five", &[("w", 1, 5)], None));
    let mut ended = case.execute(&json!({}));
    honest(case, &mut ended);
    let back = poll(Duration::from_secs(20), || (nodes_of(case, "gang").len() == 4).then_some(()));
    ended.expect("the gang runs again", back.is_some());
    ended.row
}

/// What the result says of nodes and of pods is what the cluster shows.
fn honest(case: &Case<'_>, ended: &mut Ended) {
    let taken: Vec<&Value> =
        list_at(&ended.status["result"]["takenNodes"]).iter().map(|t| &t["node"]).collect();
    let free = list_at(&ended.status["result"]["freedNodes"]).iter().filter(|node| !taken.contains(node));
    let pods = case.pods();
    // A job that waits may come right after the list.
    let of_run: Vec<&str> =
        list_at(&ended.status["relocations"]).iter().filter_map(|r| r["podGroupName"].as_str()).collect();
    let of_ours = |pod: &Value| {
        pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
            .as_str()
            .is_some_and(|name| of_run.contains(&name))
    };
    let held: Vec<String> = free
        .filter(|node| pods.iter().any(|pod| pod["spec"]["nodeName"] == **node && of_ours(pod)))
        .map(ToString::to_string)
        .collect();
    let placed: Vec<String> = list_at(&ended.status["relocations"])
        .iter()
        .filter(|r| r["placement"]["phase"] == "Placed")
        .filter(|r| {
            !pods.iter().any(|pod| {
                pod["metadata"]["uid"] == r["placement"]["replacementPodUID"]
                    && pod["spec"]["nodeName"] == r["placement"]["actualNodeName"]
            })
        })
        .map(|r| r["victimPodName"].to_string())
        .collect();
    ended.expect(&format!("nodes told free are free of what moved: {held:?}"), held.is_empty());
    ended.expect(&format!("replacements told placed are there: {placed:?}"), placed.is_empty());
    ended.expect("the result was verified", ended.status["result"]["metricsVerified"] == true);
    let complete = ended.row.reason.starts_with("ExecutionCompleted");
    let planned = list_at(&ended.status["plan"]["freedNodes"]).len();
    let freed = list_at(&ended.status["result"]["freedNodes"]).len();
    ended.expect("all planned nodes where it says completed", !complete || freed == planned);
}

/// Three nodes of four cards, a gang on four pods of two, and a Job as large that waits for room: nobody holds the room
/// of the gang while that is away, so it moves only where it never is away as a whole.
fn waits_for_all(case: &Case<'_>, on_eviction: Option<&str>) -> Row {
    case.nodes(NODES, 4);
    case.hold(2, 2);
    case.hold(3, 2);
    case.stand(&case.vcjob("gang", &[("w", 4, 2)], on_eviction), 4, NODES, &[1, 2, 3]);
    case.let_go(2);
    case.let_go(3);
    wait_in_queue(case, &case.vcjob("other", &[("w", 4, 2)], None));
    let before = uids(case);
    let mut ended = case.execute(&json!({"execution": {"timeoutSeconds": 60}}));
    honest(case, &mut ended);
    if on_eviction.is_some() {
        ended.ends("EvictionFailed", &[]);
        ended.expect("no pod was touched", uids(case) == before);
    } else {
        let planned = list_at(&ended.status["plan"]["freedNodes"]).len();
        ended.expect("it is moved as planned", ended.row.reason == "ExecutionCompleted" && planned == 1);
    }
    let back = poll(Duration::from_secs(20), || (nodes_of(case, "gang").len() == 4).then_some(()));
    ended.expect("the gang runs", back.is_some());
    ended.row
}

/// Stock Volcano puts no labels on the PodGroups that it makes: the scope has to look at the owner's and the pods'.
fn scope_by_labels(case: &Case<'_>, on_pods: bool) -> Row {
    case.nodes(NODES, 8);
    case.hold(3, 4);
    let labelled = |name: &str, team: &str| {
        let labels = json!({"team": team});
        let mut set = case.set("Deployment", name, 1, 2, if on_pods { &labels } else { &Value::Null });
        if !on_pods {
            set["metadata"]["labels"] = labels;
        }
        set
    };
    case.stand(&labelled("mine", "blue"), 2, NODES, &[1]);
    case.stand(&labelled("theirs", "red"), 2, NODES, &[2]);
    let theirs = |case: &Case<'_>| -> Vec<Value> {
        let of = |pod: &&Value| pod["metadata"]["labels"]["app"] == "theirs";
        case.pods().iter().filter(of).map(|pod| pod["metadata"]["uid"].clone()).collect()
    };
    let before = theirs(case);
    let scope = json!({"scope": {"podGroups": {"include": {"selector": {"matchLabels": {"team": "blue"}}}}}});
    let mut ended = as_planned(case, case.execute(&scope));
    ended.expect("the other Deployment was not touched", theirs(case) == before);
    ended.row
}
