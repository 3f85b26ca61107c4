//! The cluster of the guides, with the numbers that they print: 33 % -> 0 %, one node freed, two cards moved.
//!
//! Three nodes of eight cards in one pool. On the first run the two workers of the Job `ascend-batch-training`, one card
//! each, which carry the label that the guide's scope asks for. On each of the others runs a ServingGroup of the
//! ModelServing `ascend-online-serving`: an entry of four cards and a worker of three, without that label.

use serde_json::{Value, json};

use super::Cluster;
use super::objects::{ASCEND, Played, PlayedJob, Pool, bound_pod, merge, name_of, pod_group, pod_spec};

/// Namespace of the workloads.
pub const NAMESPACE: &str = "repack-demo";
/// The Job that may move.
pub const TRAINING: &str = "ascend-batch-training";
/// The ModelServing that stays.
pub const SERVING: &str = "ascend-online-serving";
/// The nodes.
pub const NODES: [&str; 3] = ["ascend-node-01", "ascend-node-02", "ascend-node-03"];

const ENTRY_CARDS: u32 = 4;
const WORKER_CARDS: u32 = 3;

/// The workloads of the guide's cluster.
#[derive(Clone, Debug)]
pub struct Guide {
    /// `ascend-batch-training`.
    pub training: Played,
    /// `ascend-online-serving`.
    pub serving: Played,
}

impl Cluster {
    /// Fills the cluster, which has kwok and Volcano's types, and waits until everything runs.
    pub fn guide(&self) -> Guide {
        self.guide_with(2)
    }

    /// The same with so many workers of the Job on the first node.
    pub fn guide_with(&self, workers: usize) -> Guide {
        let pool = json!({"accelerator-pool": "ascend-npu"});
        self.nodes(&Pool {
            prefix: "ascend-node-",
            count: NODES.len(),
            labels: pool.clone(),
            ..Pool::default()
        });
        self.namespace(NAMESPACE);
        let training = self.play_job(&PlayedJob {
            namespace: NAMESPACE,
            name: TRAINING,
            labels: json!({
                "workload-type": "training",
                "repack.volcano.sh/eligible": "true",
                "repack.volcano.sh/protected": "false",
            }),
            cards: 1,
            nodes: &vec![NODES[0]; workers],
            min_available: workers,
            node_selector: pool.clone(),
        });
        let serving = self.play_serving(&pool);
        self.pods_run(NAMESPACE);
        Guide { training, serving }
    }

    /// One ServingGroup on each of the last two nodes.
    fn play_serving(&self, pool: &Value) -> Played {
        let labels = json!({"workload-type": "inference"});
        let [entry, worker] =
            [(ENTRY_CARDS, "leader"), (WORKER_CARDS, "worker")].map(|(cards, container)| {
                let mut spec = pod_spec(cards, container, pool);
                spec["restartPolicy"] = json!("Always");
                spec
            });
        let owner = self.create(&json!({
            "apiVersion": "workload.serving.volcano.sh/v1alpha1",
            "kind": "ModelServing",
            "metadata": {"namespace": NAMESPACE, "name": SERVING, "labels": labels},
            "spec": {
                "schedulerName": "volcano",
                "replicas": 2,
                "recoveryPolicy": "ServingGroupRecreate",
                "template": {
                    "restartGracePeriodSeconds": 30,
                    "gangPolicy": {"minRoleReplicas": {"inference": 1}},
                    "roles": [{
                        "name": "inference",
                        "replicas": 1,
                        "workerReplicas": 1,
                        "entryTemplate": {"spec": entry},
                        "workerTemplate": {"spec": worker},
                    }],
                },
            },
            "status": {"replicas": 2, "availableReplicas": 2, "currentReplicas": 2, "updatedReplicas": 2},
        }));
        let mut played = Played { owner: owner.clone(), groups: Vec::new(), pods: Vec::new() };
        for (index, node) in NODES[1..].iter().enumerate() {
            let group = format!("{SERVING}-{index}");
            let marks = json!({
                "modelserving.volcano.sh/name": SERVING,
                "modelserving.volcano.sh/group-name": group,
            });
            let mut group_labels = labels.clone();
            merge(&mut group_labels, &marks);
            let mut object = pod_group(&owner, &group, &group_labels, 2, 2, 0);
            object["spec"]["minResources"] = json!({ASCEND: (ENTRY_CARDS + WORKER_CARDS).to_string()});
            self.create(&object);
            for (number, (role, spec)) in [("true", &entry), ("false", &worker)].into_iter().enumerate() {
                let mut pod = bound_pod(&owner, &format!("{group}-inference-0-{number}"), &group, node, spec);
                pod["metadata"]["labels"] = marks.clone();
                merge(
                    &mut pod["metadata"]["labels"],
                    &json!({
                        "modelserving.volcano.sh/role": "inference",
                        "modelserving.volcano.sh/role-id": "inference-0",
                    }),
                );
                if role == "true" {
                    pod["metadata"]["labels"]["modelserving.volcano.sh/entry"] = json!(role);
                }
                pod["metadata"]["annotations"]["volcano.sh/task-spec"] = json!("inference-0");
                self.create(&pod);
                played.pods.push(name_of(&pod));
            }
            played.groups.push(group);
        }
        played
    }
}
