//! The reactions of Volcano's and Kthena's controllers to pods that go, played: documented behaviour, a look every 50 ms.
//!
//! A Volcano Job makes a lost pod again under its name; with the policy `RestartJob` on `PodEvicted` it deletes its
//! PodGroup and all pods and makes them anew. A ModelServing with `ServingGroupRecreate` does so with the group of a lost
//! pod. A Job that has nothing yet gets its PodGroup and its pods. Pods may come before their group, as in the real thing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Cluster;
use super::objects::{controller_reference, group_pod, list, list_at, merge, name_of};

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/jobs";
const SERVINGS: &str = "/apis/workload.serving.volcano.sh/v1alpha1/modelservings";
const LOOK: Duration = Duration::from_millis(50);

/// Pods that belong to one PodGroup.
struct Unit {
    group: Value,
    pods: Vec<Value>,
    /// A lost pod takes the others along.
    whole: bool,
}

/// Plays from now on, for as long as somebody holds the cluster.
pub fn play(cluster: &Arc<Cluster>) {
    let cluster = Arc::downgrade(cluster);
    thread::spawn(move || {
        let mut restarting = BTreeSet::new();
        while let Some(cluster) = cluster.upgrade() {
            for path in [JOBS, SERVINGS] {
                let answer = cluster.get("admin", path);
                if answer.code != 200 {
                    return;
                }
                for owner in list(&answer.ok()) {
                    let units = if path == JOBS { job(owner) } else { serving(owner) };
                    for unit in &units {
                        look_after(&cluster, unit, &mut restarting);
                    }
                }
            }
            drop(cluster);
            thread::sleep(LOOK);
        }
    });
}

/// Makes what a unit lacks.
fn look_after(cluster: &Cluster, unit: &Unit, restarting: &mut BTreeSet<String>) {
    let namespace = unit.group["metadata"]["namespace"].as_str().unwrap();
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    let groups = format!("/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups");
    let group = format!("{groups}/{}", name_of(&unit.group));
    let there = |pod: &&Value| cluster.get("admin", &format!("{pods}/{}", name_of(pod))).code == 200;
    let (present, missing): (Vec<&Value>, Vec<&Value>) = unit.pods.iter().partition(there);
    if missing.is_empty() {
        return;
    }
    if unit.whole && !present.is_empty() {
        if restarting.insert(group.clone()) {
            cluster.delete("admin", &group);
            for pod in present {
                cluster.delete("admin", &format!("{pods}/{}", name_of(pod)));
            }
        }
        return;
    }
    restarting.remove(&group);
    for pod in missing {
        cluster.post("admin", &pods, pod);
    }
    if cluster.get("admin", &group).code == 404 {
        cluster.post("admin", &groups, &unit.group);
    }
}

fn job(owner: &Value) -> Vec<Unit> {
    let (meta, spec) = (&owner["metadata"], &owner["spec"]);
    let name = name_of(owner);
    let group = format!("{name}-{}", meta["uid"].as_str().unwrap());
    let mut pods = Vec::new();
    for task in list_at(&spec["tasks"]) {
        let task_name = task["name"].as_str().unwrap();
        for index in 0..task["replicas"].as_u64().unwrap_or(0) {
            let marks = json!({
                "volcano.sh/job-name": name,
                "volcano.sh/job-namespace": meta["namespace"],
                "volcano.sh/queue-name": "default",
                "volcano.sh/task-spec": task_name,
                "volcano.sh/task-index": index.to_string(),
            });
            let mut pod =
                group_pod(owner, &format!("{name}-{task_name}-{index}"), &group, &task["template"]["spec"]);
            pod["metadata"]["labels"] = marks.clone();
            merge(&mut pod["metadata"]["annotations"], &marks);
            pods.push(pod);
        }
    }
    let restarts = list_at(&spec["policies"])
        .iter()
        .any(|policy| policy["event"] == "PodEvicted" && policy["action"] == "RestartJob");
    vec![Unit { group: group_of(owner, &group, &spec["minAvailable"]), pods, whole: restarts }]
}

fn serving(owner: &Value) -> Vec<Unit> {
    let name = name_of(owner);
    let spec = &owner["spec"];
    let role = &spec["template"]["roles"][0];
    let role_name = role["name"].as_str().unwrap();
    let count = role["workerReplicas"].as_u64().unwrap_or(0) + 1;
    let units = (0..spec["replicas"].as_u64().unwrap_or(1)).map(|index| {
        let group = format!("{name}-{index}");
        let pods = (0..count).map(|number| {
            let template = if number == 0 { &role["entryTemplate"] } else { &role["workerTemplate"] };
            let mut pod =
                group_pod(owner, &format!("{group}-{role_name}-0-{number}"), &group, &template["spec"]);
            pod["metadata"]["labels"] = json!({
                "modelserving.volcano.sh/name": name,
                "modelserving.volcano.sh/group-name": group,
                "modelserving.volcano.sh/role": role_name,
                "modelserving.volcano.sh/role-id": format!("{role_name}-0"),
            });
            if number == 0 {
                pod["metadata"]["labels"]["modelserving.volcano.sh/entry"] = json!("true");
            }
            pod["metadata"]["annotations"]["volcano.sh/task-spec"] = json!(format!("{role_name}-0"));
            pod
        });
        let whole = spec["recoveryPolicy"] == "ServingGroupRecreate";
        Unit { pods: pods.collect(), group: group_of(owner, &group, &json!(count)), whole }
    });
    units.collect()
}

fn group_of(owner: &Value, name: &str, minimum: &Value) -> Value {
    json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "namespace": owner["metadata"]["namespace"],
            "name": name,
            "labels": owner["metadata"]["labels"],
            "ownerReferences": [controller_reference(owner)],
        },
        "spec": {"minMember": minimum, "queue": "default"},
        "status": {"phase": "Running"},
    })
}
