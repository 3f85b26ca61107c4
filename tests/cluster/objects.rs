//! Objects that tests fill a cluster with: nodes of cards, namespaces, and workloads of Volcano and Kthena, played.
//!
//! Played: the objects are those that Volcano's and Kthena's controllers would have made, owners, PodGroups and bound pods
//! with their labels, but nobody makes them again when they go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::Cluster;

/// The extended resource of the guides.
pub const ASCEND: &str = "huawei.com/ascend-1980";
/// For what controllers and kwok do in well under a second on an idle machine.
pub const SOON: Duration = Duration::from_mins(1);

/// Nodes of one size, named `PREFIX01`, `PREFIX02`, …
#[derive(Clone, Debug)]
pub struct Pool<'a> {
    /// What the names begin with.
    pub prefix: &'a str,
    /// How many.
    pub count: usize,
    /// Extended resource that they offer.
    pub resource: &'a str,
    /// Cards of it on each.
    pub cards: u32,
    /// Labels, beside the host name.
    pub labels: Value,
}

impl Default for Pool<'_> {
    fn default() -> Self {
        Self { prefix: "node-", count: 1, resource: ASCEND, cards: 8, labels: json!({}) }
    }
}

/// A Volcano Job that runs: one task `worker`, a pod for every node that is named.
#[derive(Clone, Debug)]
pub struct PlayedJob<'a> {
    /// Namespace, which has to be there.
    pub namespace: &'a str,
    /// Name of the Job.
    pub name: &'a str,
    /// Labels of the Job, which Volcano copies to the PodGroup.
    pub labels: Value,
    /// Cards of each pod.
    pub cards: u32,
    /// Where the pods run, in the order of their indices.
    pub nodes: &'a [&'a str],
    /// `minAvailable` of the Job and `minMember` of the PodGroup.
    pub min_available: usize,
    /// Node selector of the pods.
    pub node_selector: Value,
}

/// What a played workload became.
#[derive(Clone, Debug)]
pub struct Played {
    /// The owner as the server has it.
    pub owner: Value,
    /// Names of the PodGroups.
    pub groups: Vec<String>,
    /// Names of the pods.
    pub pods: Vec<String>,
}

impl Cluster {
    /// Installs the CRDs of a folder, one to a file, and waits until they are served.
    ///
    /// # Panics
    /// When a file is no CRD or the server refuses it.
    pub fn install_types(&self, folder: &Path) {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |file: PathBuf| -> Value {
            serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
        };
        let types: Vec<Value> = files.map(read).collect();
        self.create_all(&types);
        for crd in types {
            let spec = &crd["spec"];
            for version in list_at(&spec["versions"]).iter().filter(|version| version["served"] == true) {
                let parts = [&spec["group"], &version["name"], &spec["names"]["plural"]];
                let path = format!("/apis/{}?limit=1", parts.map(|part| part.as_str().unwrap()).join("/"));
                self.wait_for(&format!("{path} is served"), SOON, || {
                    (self.get("admin", &path).code == 200).then_some(())
                });
            }
        }
    }

    /// Creates a namespace and waits until pods may be created in it.
    pub fn namespace(&self, name: &str) {
        self.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        self.wait_for(&format!("the default account of namespace {name}"), SOON, || {
            (self.get("admin", &account).code == 200).then_some(())
        });
    }

    /// Creates nodes and waits until they are Ready and pods may be bound to them; their names.
    pub fn nodes(&self, pool: &Pool) -> Vec<String> {
        let names: Vec<String> =
            (1..=pool.count).map(|number| format!("{}{number:02}", pool.prefix)).collect();
        let nodes: Vec<Value> = names.iter().map(|name| node(name, pool)).collect();
        self.create_all(&nodes);
        self.wait_for("the nodes are Ready", SOON, || {
            let listed = self.get("admin", "/api/v1/nodes").ok();
            let is_ready = |name: &String| {
                let node = list(&listed).iter().find(|node| node["metadata"]["name"] == *name);
                node.is_some_and(|node| {
                    has_condition(node, "Ready") && list_at(&node["spec"]["taints"]).is_empty()
                })
            };
            names.iter().all(is_ready).then_some(())
        });
        names
    }

    /// Creates a Deployment of one pod, which is its label `app`, for kube's scheduler, and waits until it runs on the node;
    /// the other nodes take no pods meanwhile.
    pub fn deployment_on(&self, node: &str, nodes: &[String], namespace: &str, name: &str, cards: u32) {
        let others = || nodes.iter().filter(|other| *other != node);
        for other in others() {
            self.kubectl_text(&format!("cordon {other}"));
        }
        let (labels, amounts) = (json!({"app": name}), json!({ASCEND: cards.to_string()}));
        let container =
            json!({"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}});
        self.create(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": name},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}},
        }));
        self.pods_run(namespace);
        for other in others() {
            self.kubectl_text(&format!("uncordon {other}"));
        }
    }

    /// Creates a Volcano Job with its PodGroup and its bound pods. They run once [`Cluster::pods_run`] says so.
    pub fn play_job(&self, job: &PlayedJob) -> Played {
        let count = job.nodes.len();
        let metadata = json!({"namespace": job.namespace, "name": job.name, "labels": job.labels});
        let template = pod_spec(job.cards, "trainer", &job.node_selector);
        let owner = self.create(&json!({
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": metadata,
            "spec": {
                "schedulerName": "volcano",
                "queue": "default",
                "minAvailable": job.min_available,
                "maxRetry": 3,
                "tasks": [{"name": "worker", "replicas": count, "template": {"spec": template}}],
            },
            "status": {
                "state": {"phase": "Running"}, "minAvailable": job.min_available, "running": count, "version": 1,
            },
        }));
        let uid = owner["metadata"]["uid"].as_str().unwrap();
        let group = format!("{}-{uid}", job.name);
        self.create(&pod_group(&owner, &group, &job.labels, job.min_available, count, job.cards));
        let pods: Vec<Value> = (0..count)
            .map(|index| {
                let name = format!("{}-worker-{index}", job.name);
                let marks = json!({
                    "volcano.sh/job-name": job.name,
                    "volcano.sh/job-namespace": job.namespace,
                    "volcano.sh/queue-name": "default",
                    "volcano.sh/task-spec": "worker",
                    "volcano.sh/task-index": index.to_string(),
                });
                let mut pod = bound_pod(&owner, &name, &group, job.nodes[index], &template);
                pod["metadata"]["labels"] = marks.clone();
                merge(&mut pod["metadata"]["annotations"], &marks);
                pod["metadata"]["annotations"]["volcano.sh/job-version"] = json!("0");
                pod
            })
            .collect();
        self.create_all(&pods);
        Played { owner, groups: vec![group], pods: pods.iter().map(name_of).collect() }
    }

    /// Waits until every pod of the namespace runs.
    pub fn pods_run(&self, namespace: &str) {
        self.wait_for(&format!("every pod of {namespace} is Ready"), SOON, || {
            let pods = self.get("admin", &format!("/api/v1/namespaces/{namespace}/pods")).ok();
            list(&pods).iter().all(|pod| has_condition(pod, "Ready")).then_some(())
        });
    }
}

/// A queue of Volcano that is open.
pub fn queue(name: &str, weight: u32) -> Value {
    json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight, "reclaimable": true},
        "status": {"state": "Open"},
    })
}

/// A running PodGroup of an owner; `cards` is what each of its pods asks for.
pub fn pod_group(
    owner: &Value,
    name: &str,
    labels: &Value,
    min_member: usize,
    running: usize,
    cards: u32,
) -> Value {
    let minimum = usize::try_from(cards).unwrap() * min_member;
    json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "namespace": owner["metadata"]["namespace"],
            "name": name,
            "labels": labels,
            "ownerReferences": [controller_reference(owner)],
        },
        "spec": {"minMember": min_member, "queue": "default", "minResources": {ASCEND: minimum.to_string()}},
        "status": {"phase": "Running", "running": running},
    })
}

/// A pod of a PodGroup on its node.
pub fn bound_pod(owner: &Value, name: &str, group: &str, node: &str, spec: &Value) -> Value {
    let mut pod = group_pod(owner, name, group, spec);
    pod["spec"]["nodeName"] = json!(node);
    pod
}

/// A pod of a PodGroup that nobody has placed yet.
pub fn group_pod(owner: &Value, name: &str, group: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": owner["metadata"]["namespace"],
            "name": name,
            "labels": {},
            "annotations": {"scheduling.k8s.io/group-name": group},
            "ownerReferences": [controller_reference(owner)],
        },
        "spec": spec,
    })
}

/// The spec of a pod of one container that Volcano places.
pub fn pod_spec(cards: u32, container: &str, node_selector: &Value) -> Value {
    json!({
        "schedulerName": "volcano",
        "nodeSelector": node_selector,
        "terminationGracePeriodSeconds": 30,
        "restartPolicy": "Never",
        "containers": [{
            "name": container,
            "image": "alpine:3.20",
            "command": ["sh", "-c", "tail -f /dev/null"],
            "resources": {"requests": {ASCEND: cards}, "limits": {ASCEND: cards}},
        }],
    })
}

fn node(name: &str, pool: &Pool) -> Value {
    let mut labels = pool.labels.clone();
    merge(&mut labels, &json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}));
    let amounts =
        json!({"cpu": "128", "memory": "1Ti", "pods": "110", pool.resource: pool.cards.to_string()});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
        },
    })
}

/// The reference by which an object says that the owner controls it.
pub fn controller_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Puts every entry of an object into another.
pub fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().unwrap() {
        into[key] = value.clone();
    }
}

/// `metadata.name`.
pub fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// `items` of a list.
pub fn list(listed: &Value) -> &[Value] {
    list_at(&listed["items"])
}

/// The items of an array; none where it is absent.
pub fn list_at(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |items| items)
}

/// True when a condition of the object is `True`.
pub fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = list_at(&object["status"]["conditions"]);
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}
