//! What others do in the cluster as time passes: pods end, controllers make them anew, a scheduler binds them.
//!
//! The scheduler is an unfriendly one: without a nomination it prefers empty nodes, and it forgets a nomination at the
//! first failed try.
//!
//! May import: execute

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::world::{CARDS, World, run};
use crate::execute::admission::Expected;

/// The name of the group of a pod of Volcano's Job.
fn group_name(owner: &Value) -> String {
    let text = |field: &str| owner["metadata"][field].as_str().unwrap_or_default();
    format!("{}-{}{}", text("name"), text("uid"), text("life"))
}

/// The group of a Job.
pub fn group(owner: &Value, uid: &str, minimum: &Value) -> Value {
    let meta = &owner["metadata"];
    json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": meta["namespace"], "name": group_name(owner), "uid": uid, "ownerReferences": [
            {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"],
             "controller": true}]},
        "spec": {"minMember": minimum, "queue": "default"}, "status": {"phase": "Running"}})
}

/// A pod of an owner, by its number.
pub fn pod_of(owner: &Value, at: usize, uid: &str) -> Value {
    let (meta, kind) = (&owner["metadata"], owner["kind"].as_str().unwrap());
    let name = meta["name"].as_str().unwrap();
    let template = match kind {
        "Job" => &owner["spec"]["tasks"][0]["template"],
        _ => &owner["spec"]["template"],
    };
    let mut pod = template.clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["namespace"] = meta["namespace"].clone();
    pod["metadata"]["uid"] = json!(uid);
    pod["metadata"]["name"] = json!(match kind {
        "Job" => format!("{name}-w-{at}"),
        "StatefulSet" => format!("{name}-{at}"),
        _ => format!("{name}-{uid}"),
    });
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": owner["apiVersion"], "kind": kind,
        "name": name, "uid": meta["uid"], "controller": true}]);
    if kind == "Job" {
        pod["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": group_name(owner),
            "volcano.sh/task-spec": "w"});
    }
    pod["status"] = json!({"phase": "Pending"});
    pod
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn cards(pod: &Value) -> i64 {
    let amount = &pod["spec"]["containers"][0]["resources"]["requests"][CARDS];
    amount.as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl World {
    /// Lets time pass, with everything that happens meanwhile.
    pub fn advance(&mut self, to: Timestamp) {
        loop {
            let next = self.gone_at.values().copied().chain([self.next_cycle]).min().unwrap_or(to);
            if next > to {
                break;
            }
            self.now = self.now.max(next);
            self.end_pods();
            if self.now >= self.next_cycle {
                self.schedule();
                self.next_cycle = self.now + SignedDuration::from_millis(200);
            }
        }
        self.now = self.now.max(to);
    }

    /// A pod is on its way out.
    pub fn terminate(&mut self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        let now = self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let Some(pod) = self.store.pods.get(&key).cloned() else { return };
        if !text(&pod, "/metadata/deletionTimestamp").is_empty() {
            return;
        }
        self.change(|store| {
            store.pods.get_mut(&key).unwrap()["metadata"]["deletionTimestamp"] = json!(now);
        });
        let uid = text(&pod, "/metadata/uid").to_owned();
        let bound = !text(&pod, "/spec/nodeName").is_empty();
        let ends = if bound { SignedDuration::from_secs(self.ends_after) } else { SignedDuration::ZERO };
        self.gone_at.insert(uid, self.now + ends);
        if text(&pod, "/metadata/ownerReferences/0/kind") == "ReplicaSet" {
            self.make_up(&pod);
        }
    }

    fn end_pods(&mut self) {
        let due: Vec<String> =
            self.gone_at.iter().filter(|(_, at)| **at <= self.now).map(|(uid, _)| uid.clone()).collect();
        for uid in due {
            self.gone_at.remove(&uid);
            let found = self.store.pods.iter().find(|(_, pod)| text(pod, "/metadata/uid") == uid);
            let Some((key, pod)) = found.map(|(key, pod)| (key.clone(), pod.clone())) else { continue };
            self.change(|store| store.pods.remove(&key));
            match text(&pod, "/metadata/ownerReferences/0/kind") {
                "StatefulSet" => self.make_up(&pod),
                "Job" => self.restart(&pod),
                _ => {}
            }
        }
    }

    /// Somebody scales a ReplicaSet, which makes the pods at once.
    pub fn scale(&mut self, name: &str, replicas: usize) {
        let key = ("a".to_owned(), name.to_owned());
        self.change(|store| store.owners.get_mut(&key).unwrap()["spec"]["replicas"] = json!(replicas));
        let owner = self.store.owners[&key].clone();
        let living = self.store.pods.values().filter(|pod| {
            pod["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
                && text(pod, "/metadata/deletionTimestamp").is_empty()
        });
        for at in living.count()..replicas {
            let uid = self.uid("pod");
            self.create(pod_of(&owner, at, &uid));
        }
    }

    /// Somebody deletes an owner, and the garbage collector its pods and groups.
    pub fn delete_owner(&mut self, name: &str) {
        let key = ("a".to_owned(), name.to_owned());
        let owner = self.store.owners[&key].clone();
        let is_of =
            |object: &Value| object["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"];
        self.change(|store| {
            store.owners.remove(&key);
            store.groups.retain(|_, group| !is_of(group));
        });
        let pods: Vec<String> =
            self.store.pods.iter().filter(|(_, pod)| is_of(pod)).map(|(key, _)| key.1.clone()).collect();
        for pod in pods {
            self.terminate("a", &pod);
        }
    }

    /// A node goes, and its pods with it.
    pub fn delete_node(&mut self, node: &str) {
        self.change(|store| store.nodes.remove(&(String::new(), node.to_owned())));
        let on = self.store.pods.iter().filter(|(_, pod)| text(pod, "/spec/nodeName") == node);
        let pods: Vec<String> = on.map(|(key, _)| key.1.clone()).collect();
        for pod in pods {
            self.terminate("a", &pod);
        }
    }

    /// Somebody cordons a node.
    pub fn cordon(&mut self, node: &str) {
        let key = (String::new(), node.to_owned());
        self.change(|store| store.nodes.get_mut(&key).unwrap()["spec"]["unschedulable"] = json!(true));
    }

    /// Where the pods of each owner stand, in lines: `web n1 n2 -`.
    pub fn standing(&self) -> Vec<String> {
        let mut lines: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
        for pod in self.store.pods.values() {
            let owner = text(pod, "/metadata/ownerReferences/0/name");
            let node = Some(text(pod, "/spec/nodeName")).filter(|node| !node.is_empty());
            if !owner.is_empty() {
                lines.entry(owner).or_default().push(node.unwrap_or("-"));
            }
        }
        let line = |(owner, mut nodes): (&str, Vec<&str>)| {
            nodes.sort_unstable();
            format!("{owner} {}", nodes.join(" "))
        };
        lines.into_iter().map(line).collect()
    }

    fn owner(&self, pod: &Value) -> Option<Value> {
        let key = ("a".to_owned(), text(pod, "/metadata/ownerReferences/0/name").to_owned());
        self.store.owners.get(&key).cloned()
    }

    /// A controller makes the pod again, if it still wants it.
    fn make_up(&mut self, pod: &Value) {
        let Some(owner) = self.owner(pod) else { return };
        let living = self.store.pods.values().filter(|other| {
            other["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
                && text(other, "/metadata/deletionTimestamp").is_empty()
        });
        let living = living.count();
        let wanted = owner["spec"]["replicas"].as_u64().or(owner["spec"]["tasks"][0]["replicas"].as_u64());
        if living as u64 >= wanted.unwrap_or(0) {
            return;
        }
        let number =
            text(pod, "/metadata/name").rsplit_once('-').and_then(|(_, n)| n.parse().ok()).unwrap_or(0);
        let uid = self.uid("pod");
        self.create(pod_of(&owner, number, &uid));
    }

    /// A pod of a Job of Volcano is gone: its policy decides what comes again.
    fn restart(&mut self, pod: &Value) {
        let Some(owner) = self.owner(pod) else { return };
        let action = text(&owner, "/spec/policies/0/action");
        if !matches!(action, "RestartJob" | "RestartTask") {
            self.make_up(pod);
            return;
        }
        let keeps_group = action == "RestartTask";
        let uid = &owner["metadata"]["uid"];
        let mates: Vec<Value> = self
            .store
            .pods
            .values()
            .filter(|other| other["metadata"]["ownerReferences"][0]["uid"] == *uid)
            .cloned()
            .collect();
        let going = mates.iter().any(|mate| !text(mate, "/metadata/deletionTimestamp").is_empty());
        let fresh = mates.iter().all(|mate| text(mate, "/spec/nodeName").is_empty());
        if mates.iter().any(|mate| !text(mate, "/spec/nodeName").is_empty()) && !going {
            // The group of a Job that restarts goes with the pods and is made anew, without annotations.
            if !keeps_group {
                self.change(|store| store.groups.remove(&("a".to_owned(), group_name(&owner))));
            }
            if owner["spec"]["renames"] == true {
                let key = ("a".to_owned(), text(&owner, "/metadata/name").to_owned());
                self.change(|store| {
                    store.owners.get_mut(&key).unwrap()["metadata"]["life"] = json!("-again");
                });
            }
            for mate in &mates {
                self.terminate("a", text(mate, "/metadata/name"));
            }
            return;
        }
        if !mates.is_empty() && (!fresh || going) {
            return;
        }
        if mates.is_empty() {
            let wanted = owner["spec"]["tasks"][0]["replicas"].as_u64().unwrap_or(0);
            // The pods may come before their group.
            for at in 0..usize::try_from(wanted).unwrap() {
                let uid = self.uid("pod");
                self.create(pod_of(&owner, at, &uid));
            }
            if keeps_group {
                return;
            }
            let mut group = group(&owner, &self.uid("group"), &owner["spec"]["minAvailable"]);
            if let Some(expected) = self.expected() {
                let changes = expected.patch_group("a", &group);
                patch(&mut group, &changes);
            }
            self.change(|store| store.groups.insert(("a".to_owned(), group_name(&owner)), group));
        }
    }

    fn expected(&self) -> Option<Expected> {
        let status = self.run.as_ref().and_then(|run| run.status.clone());
        let listens = self.webhook_up && self.webhooks.iter().any(|namespace| namespace == "a");
        status.filter(|_| listens).and_then(|status| Expected::of(&run(), &status))
    }

    /// A pod is created and passes the webhook.
    pub fn create(&mut self, mut pod: Value) {
        if let Some(expected) = self.expected() {
            let changes = expected.patch_pod("a", &pod);
            patch(&mut pod, &changes);
        }
        pod["metadata"]["creationTimestamp"] = json!(self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            pod["status"]["conditions"] =
                json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
        }
        self.put_pod(pod);
    }

    /// What a node has left.
    pub fn free(&self, node: &str) -> i64 {
        let on = self.store.pods.values().filter(|pod| text(pod, "/spec/nodeName") == node);
        8 - on.map(cards).sum::<i64>()
    }

    /// One cycle of the scheduler.
    fn schedule(&mut self) {
        let waiting: Vec<(String, String)> = self
            .store
            .pods
            .iter()
            .filter(|(_, pod)| {
                text(pod, "/spec/nodeName").is_empty()
                    && text(pod, "/metadata/deletionTimestamp").is_empty()
                    && pod["spec"]["schedulingGates"].as_array().is_none_or(Vec::is_empty)
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in waiting {
            let pod = self.store.pods[&key].clone();
            let need = cards(&pod);
            let open = |node: &str| {
                self.store
                    .nodes
                    .get(&(String::new(), node.to_owned()))
                    .is_some_and(|node| node["spec"]["unschedulable"] != true)
            };
            let nominated = text(&pod, "/status/nominatedNodeName").to_owned();
            let nodes = self.store.nodes.keys().map(|(_, name)| name.clone());
            let fitting = nodes.filter(|node| open(node) && self.free(node) >= need);
            let node = if !nominated.is_empty() && open(&nominated) && self.free(&nominated) >= need {
                Some(nominated)
            } else {
                fitting.max_by_key(|node| self.free(node))
            };
            let mut tried = pod.clone();
            tried["status"]["nominatedNodeName"] = Value::Null;
            match node {
                Some(node) => {
                    tried["spec"]["nodeName"] = json!(node);
                    tried["status"]["phase"] = json!("Running");
                    tried["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "True"},
                        {"type": "Ready", "status": "True"}]);
                }
                None => {
                    tried["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False",
                        "reason": "Unschedulable"}]);
                }
            }
            if tried != pod {
                self.change(|store| store.pods.insert(key, tried));
            }
        }
    }
}

/// Carries out the operations that our webhooks answer with.
pub fn patch(object: &mut Value, operations: &[Value]) {
    for operation in operations {
        let path = operation["path"].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/");
        let parent = object.pointer_mut(parent).unwrap();
        if key == "-" {
            parent.as_array_mut().unwrap().push(operation["value"].clone());
        } else {
            parent[key] = operation["value"].clone();
        }
    }
}
