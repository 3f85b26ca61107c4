//! An Execute for each kind of workload, on a real control plane: what its controller does about a pod that goes is part of
//! the plan, and every pod comes back where it was planned. Jobs, `ReplicaSets` and `StatefulSets` have their real
//! controllers; those of sets of leaders, sets of Jobs, Ray clusters and unknown kinds are played as documented.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cluster::controller::{ACCOUNT, start_executor};
use cluster::objects::{Pool, controller_reference, list, name_of};
use cluster::process::Processes;
use cluster::{Cluster, Options};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(2);
const LOOK: Duration = Duration::from_millis(50);

/// The kinds whose controllers are played: group, version, kind, plural.
const PLAYED: [(&str, &str, &str, &str); 4] = [
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
    ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    ("ray.io", "v1", "RayCluster", "rayclusters"),
    ("trainers.example.com", "v1", "Trainer", "trainers"),
];

struct Bed {
    // Ended in this order: the controller first.
    _controller: Processes,
    cluster: Arc<Cluster>,
}

fn bed() -> Option<Bed> {
    let cluster = Arc::new(Cluster::start(&Options { users: &[ACCOUNT], ..Options::default() })?);
    for (group, version, kind, plural) in PLAYED {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        cluster.create(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"),
                         "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                     "versions": [{"name": version, "served": true, "storage": true,
                                   "schema": {"openAPIV3Schema": any}}]},
        }));
        let path = format!("/apis/{group}/{version}/{plural}");
        cluster.wait_for(&format!("{path} is served"), SOON, || {
            (cluster.get("admin", &path).code == 200).then_some(())
        });
    }
    let words = "--schedulers volcano,default-scheduler --allow-ungrouped --allow-custom-owners --allow-late-recovery \
                 --allow-may-terminate";
    let controller = start_executor(&cluster, env!("CARGO_BIN_EXE_kubectl-repack"), words);
    Some(Bed { _controller: controller, cluster })
}

/// A kind's own part of the cluster: three nodes of a resource of its own, two of them with room for two cards.
struct Part<'a> {
    bed: &'a Bed,
    name: &'a str,
    resource: String,
}

impl Bed {
    fn part<'a>(&'a self, name: &'a str) -> Part<'a> {
        let resource = format!("{name}.example.com/card");
        let prefix = format!("{name}-");
        let pool = Pool { prefix: &prefix, count: 3, resource: &resource, ..Pool::default() };
        self.cluster.nodes(&pool);
        self.cluster.namespace(name);
        let part = Part { bed: self, name, resource };
        for node in ["02", "03"] {
            // Bare pods never move.
            let mut pod = part.template(6);
            pod["spec"]["nodeName"] = json!(format!("{name}-{node}"));
            pod["apiVersion"] = json!("v1");
            pod["kind"] = json!("Pod");
            pod["metadata"] = json!({"namespace": name, "name": format!("fixed-{node}")});
            self.cluster.create(&pod);
            self.cluster.kubectl_text(&format!("cordon {name}-{node}"));
        }
        part
    }
}

impl Part<'_> {
    fn template(&self, cards: u32) -> Value {
        let amounts = json!({self.resource.as_str(): cards.to_string()});
        let container =
            json!({"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}});
        json!({"metadata": {"labels": {"app": self.name}},
               "spec": {"terminationGracePeriodSeconds": 1, "restartPolicy": "Always", "containers": [container]}})
    }

    fn pods(&self) -> Vec<Value> {
        let path = format!("/api/v1/namespaces/{}/pods?labelSelector=app", self.name);
        list(&self.bed.cluster.get("admin", &path).ok()).to_vec()
    }

    /// So many pods stand on the first node; then the others take pods again.
    fn stands(&self, pods: usize) {
        let first = format!("{}-01", self.name);
        self.bed.cluster.wait_for(&format!("{pods} pods on {first}"), SOON, || {
            let there = self.pods().into_iter().filter(|pod| {
                pod["spec"]["nodeName"] == first.as_str() && pod["status"]["phase"] == "Running"
            });
            (there.count() == pods).then_some(())
        });
        for node in ["02", "03"] {
            self.bed.cluster.kubectl_text(&format!("uncordon {}-{node}", self.name));
        }
    }

    /// Carries a run out and checks that everything went as planned; how many pods were evicted, and how many went along.
    fn executes(&self) -> (usize, usize) {
        let cluster = &self.bed.cluster;
        let run = json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
            "metadata": {"name": self.name},
            "spec": {"mode": "Execute", "goals": [{"resource": self.resource}],
                     "execution": {"timeoutSeconds": 60}}});
        cluster.create(&run);
        let status = cluster.wait_for(&format!("run {} has ended", self.name), SOON, || {
            let path = format!("/apis/repack.volcano.sh/v1alpha1/repackruns/{}", self.name);
            let status = cluster.get("admin", &path).ok()["status"].clone();
            matches!(status["phase"].as_str(), Some("Succeeded" | "Failed")).then_some(status)
        });
        assert_eq!(status["conditions"][1]["reason"], "ExecutionCompleted", "{status:#}");
        assert_eq!(status["result"]["freedNodes"], json!([format!("{}-01", self.name)]), "{status:#}");
        let relocations = status["relocations"].as_array().unwrap();
        for each in relocations {
            assert_eq!(each["placement"]["actualNodeName"], each["plannedNodeName"], "{each:#}");
        }
        for pod in self.pods() {
            assert!(
                pod["spec"]["schedulingGates"].is_null() && pod["spec"]["nodeName"].is_string(),
                "{pod:#}"
            );
        }
        let of = |phase: &str| relocations.iter().filter(|each| each["eviction"]["phase"] == phase).count();
        (of("Accepted"), of("IndirectlyRemoved"))
    }

    fn create(&self, kind: &str, api: &str, name: &str, spec: &Value) -> Value {
        self.bed.cluster.create(&json!({"apiVersion": api, "kind": kind,
            "metadata": {"namespace": self.name, "name": name}, "spec": spec}))
    }

    /// Looks again and again, until the cluster is gone, and does what a controller would.
    fn play(&self, mut react: impl FnMut(&Cluster) + Send + 'static) {
        let cluster = Arc::downgrade(&self.bed.cluster);
        std::thread::spawn(move || {
            while let Some(cluster) = cluster.upgrade() {
                react(&cluster);
                drop(cluster);
                std::thread::sleep(LOOK);
            }
        });
    }
}

fn listed(cluster: &Cluster, path: &str) -> Vec<Value> {
    let answer = cluster.get("admin", path);
    if answer.code == 200 { list(&answer.ok()).to_vec() } else { Vec::new() }
}

fn of_label<'a>(object: &'a Value, label: &str) -> &'a str {
    object["metadata"]["labels"][label].as_str().unwrap_or_default()
}

fn replicas_of_a_bare_replica_set(bed: &Bed) {
    let part = bed.part("rs");
    let spec =
        json!({"replicas": 2, "selector": {"matchLabels": {"app": "rs"}}, "template": part.template(1)});
    part.create("ReplicaSet", "apps/v1", "web", &spec);
    part.stands(2);
    assert_eq!(part.executes(), (2, 0));
}

fn pods_of_a_job(bed: &Bed) {
    let part = bed.part("job");
    let mut template = part.template(1);
    template["spec"]["restartPolicy"] = json!("Never");
    let spec = json!({"parallelism": 2, "completions": 2, "template": template});
    part.create("Job", "batch/v1", "train", &spec);
    part.stands(2);
    assert_eq!(part.executes(), (2, 0));
}

/// A lost pod takes its group along: the leader is deleted, and the workers' StatefulSet, which belongs to it, with it.
fn a_group_of_a_set_of_leaders(bed: &Bed) {
    let part = bed.part("lws");
    let set = part.create(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io/v1",
        "serve",
        &json!({
        "replicas": 1, "leaderWorkerTemplate": {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart"}}),
    );
    let labels = |index: &str| {
        json!({"app": "lws", "leaderworkerset.sigs.k8s.io/name": "serve",
               "leaderworkerset.sigs.k8s.io/group-index": "0", "leaderworkerset.sigs.k8s.io/worker-index": index})
    };
    let stateful = |name: &str, index: &str, start: u32, owner: Value| {
        let mut template = part.template(1);
        template["metadata"]["labels"] = labels(index);
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
               "metadata": {"namespace": "lws", "name": name, "ownerReferences": [owner]},
               "spec": {"replicas": 1, "serviceName": name, "podManagementPolicy": "Parallel",
                        "ordinals": {"start": start}, "selector": {"matchLabels": labels(index)},
                        "template": template}})
    };
    bed.cluster.create(&stateful("serve", "0", 0, controller_reference(&set)));
    let workers = stateful("serve-0", "1", 1, Value::Null);
    let mut whole: BTreeSet<String> = BTreeSet::new();
    part.play(move |cluster| {
        let pods = "/api/v1/namespaces/lws/pods";
        let all = listed(cluster, &format!("{pods}?labelSelector=leaderworkerset.sigs.k8s.io/name=serve"));
        let Some(leader) =
            all.iter().find(|pod| of_label(pod, "leaderworkerset.sigs.k8s.io/worker-index") == "0")
        else {
            return;
        };
        let going = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
        let uids: BTreeSet<String> = all
            .iter()
            .filter(|pod| !going(pod))
            .map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned())
            .collect();
        // A member of a group that was whole is lost: the leader goes, and what belongs to it.
        if uids.len() < 2 && uids.iter().any(|uid| whole.contains(uid)) && !going(leader) {
            cluster.delete("admin", &format!("{pods}/{}", name_of(leader)));
            return;
        }
        if uids.len() == 2 {
            whole = uids;
        }
        if !going(leader)
            && cluster.get("admin", "/apis/apps/v1/namespaces/lws/statefulsets/serve-0").code == 404
        {
            let mut workers = workers.clone();
            let mut owner = controller_reference(leader);
            owner["apiVersion"] = json!("v1");
            owner["kind"] = json!("Pod");
            workers["metadata"]["ownerReferences"] = json!([owner]);
            cluster.post("admin", "/apis/apps/v1/namespaces/lws/statefulsets", &workers);
        }
    });
    part.stands(2);
    assert_eq!(part.executes(), (1, 1));
}

/// Jobs that may not fail: where one does, the set makes all of them anew, under their names and with other pods.
fn a_set_of_jobs(bed: &Bed) {
    let part = bed.part("set");
    let set = part.create(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        "train",
        &json!({
        "failurePolicy": {"maxRestarts": 5}, "replicatedJobs": [{"name": "a", "replicas": 2}]}),
    );
    let job = |index: u32| {
        let mut template = part.template(1);
        template["spec"]["restartPolicy"] = json!("Never");
        template["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] = json!("train");
        json!({"apiVersion": "batch/v1", "kind": "Job",
               "metadata": {"namespace": "set", "name": format!("train-a-{index}"),
                            "labels": {"jobset.sigs.k8s.io/jobset-name": "train"},
                            "ownerReferences": [controller_reference(&set)]},
               "spec": {"backoffLimit": 0, "template": template}})
    };
    let jobs = [job(0), job(1)];
    part.play(move |cluster| {
        let path = "/apis/batch/v1/namespaces/set/jobs";
        let there = listed(cluster, path);
        let failed = there.iter().any(|job| job["status"]["failed"].as_i64().unwrap_or(0) > 0);
        if failed {
            for job in there {
                cluster.delete("admin", &format!("{path}/{}?propagationPolicy=Background", name_of(&job)));
            }
        } else if there.is_empty() {
            for job in &jobs {
                cluster.post("admin", path, job);
            }
        }
    });
    part.stands(2);
    assert_eq!(part.executes(), (1, 1));
}

/// Workers of a Ray cluster come back under other names, after the operator noticed.
fn workers_of_a_ray_cluster(bed: &Bed) {
    made_again_under_other_names(
        bed,
        "ray",
        "RayCluster",
        "ray.io/v1",
        &json!({
        "ray.io/cluster": "c", "ray.io/node-type": "worker", "ray.io/group": "g"}),
    );
}

/// A controller of an unknown kind, taken to make one pod again at a time.
fn pods_of_an_unknown_owner(bed: &Bed) {
    made_again_under_other_names(bed, "own", "Trainer", "trainers.example.com/v1", &json!({}));
}

fn made_again_under_other_names(bed: &Bed, name: &str, kind: &str, api: &str, labels: &Value) {
    let part = bed.part(name);
    let owner = part.create(kind, api, "c", &json!({}));
    let mut pod = part.template(1);
    for (key, value) in labels.as_object().unwrap() {
        pod["metadata"]["labels"][key] = value.clone();
    }
    pod["metadata"]["generateName"] = json!("c-");
    pod["metadata"]["ownerReferences"] = json!([controller_reference(&owner)]);
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    let pods = format!("/api/v1/namespaces/{name}/pods");
    part.play(move |cluster| {
        let all = listed(cluster, &format!("{pods}?labelSelector=app"));
        let living = all.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).count();
        // The list came, or there would be no telling how many are missing.
        for _ in living..2 {
            cluster.post("admin", &pods, &pod);
        }
    });
    part.stands(2);
    assert_eq!(part.executes(), (2, 0));
}

#[test]
fn every_kind_of_workload_comes_back_where_it_was_planned() {
    let Some(bed) = bed() else { return };
    replicas_of_a_bare_replica_set(&bed);
    pods_of_a_job(&bed);
    workers_of_a_ray_cluster(&bed);
    pods_of_an_unknown_owner(&bed);
    a_group_of_a_set_of_leaders(&bed);
    a_set_of_jobs(&bed);
}
