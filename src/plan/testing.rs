//! Small clusters for unit tests, written down in a few words per object and read like any other input.
//!
//! May import: snapshot

use crate::snapshot::model::{PodIdx, Snapshot};
use crate::snapshot::read::read_all;
use crate::snapshot::{BuildOptions, Builder};

/// The resource of these clusters.
pub const CARDS: &str = "x.io/npu";

/// A cluster to be.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    items: Vec<serde_json::Value>,
}

impl Cluster {
    /// An empty cluster.
    pub fn new() -> Self {
        Self::default()
    }

    /// `count` Ready nodes `n1`, `n2`, … with that many cards each.
    #[must_use]
    pub fn nodes(mut self, count: usize, cards: u32) -> Self {
        for at in 1..=count {
            self.items.push(serde_json::json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at}"), "labels": {"pool": "a"}},
                "status": {
                    "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", CARDS: cards.to_string()},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }));
        }
        self
    }

    /// A `PodGroup` `namespace/name` with a minimum.
    #[must_use]
    pub fn group(mut self, key: &str, min_member: u32) -> Self {
        let (namespace, name) = key.split_once('/').unwrap();
        self.items.push(serde_json::json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"namespace": namespace, "name": name}, "spec": {"minMember": min_member},
        }));
        self
    }

    /// A pod `NAMESPACE/NAME NODE CARDS [GROUP [PHASE]]`; node `-` = not bound, group `-` = none. It is controlled
    /// by a Volcano Job of the group's name (no such object is in the file), runs and is Ready.
    #[must_use]
    pub fn pod(self, words: &str) -> Self {
        self.pod_with(words, &serde_json::json!({}))
    }

    /// The same, with a JSON merge patch over the object.
    #[must_use]
    pub fn pod_with(mut self, words: &str, patch: &serde_json::Value) -> Self {
        let words: Vec<&str> = words.split_whitespace().collect();
        let (namespace, name) = words[0].split_once('/').unwrap();
        let node = if words[1] == "-" { "" } else { words[1] };
        let group = words.get(3).copied().unwrap_or("-");
        let phase = words.get(4).copied().unwrap_or(if node.is_empty() { "Pending" } else { "Running" });
        let ready = if phase == "Running" { "True" } else { "False" };
        let requests =
            if words[2] == "0" { serde_json::json!({}) } else { serde_json::json!({CARDS: words[2]}) };
        let mut pod = serde_json::json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": name, "uid": format!("uid-{namespace}-{name}")},
            "spec": {
                "schedulerName": "volcano",
                "nodeName": node,
                "containers": [{"name": "main", "resources": {"requests": requests}}],
            },
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
        });
        if group != "-" {
            pod["metadata"]["annotations"] = serde_json::json!({"scheduling.k8s.io/group-name": group});
            pod["metadata"]["ownerReferences"] = serde_json::json!([
                {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": group, "controller": true}
            ]);
        }
        merge(&mut pod, patch);
        self.items.push(pod);
        self
    }

    /// A `PodGroup` with a minimum of 1 for each that pods name and that is not there.
    #[must_use]
    pub fn with_groups(mut self) -> Self {
        let named = |item: &serde_json::Value| {
            let group = item["metadata"]["annotations"]["scheduling.k8s.io/group-name"].as_str()?;
            Some(format!("{}/{group}", item["metadata"]["namespace"].as_str()?))
        };
        let mut keys: Vec<String> = self.items.iter().filter_map(named).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let there = |i: &serde_json::Value| {
                let key = key.split_once('/').unwrap();
                i["kind"] == "PodGroup"
                    && i["metadata"]["namespace"] == key.0
                    && i["metadata"]["name"] == key.1
            };
            if !self.items.iter().any(there) {
                self = self.group(&key, 1);
            }
        }
        self
    }

    /// Any object, as YAML.
    #[must_use]
    pub fn yaml(mut self, text: &str) -> Self {
        self.items.push(serde_saphyr::from_str(text).unwrap());
        self
    }

    /// A JSON merge patch over the object of that kind and name.
    #[must_use]
    pub fn patch(mut self, kind: &str, name: &str, patch: &serde_json::Value) -> Self {
        let item =
            self.items.iter_mut().find(|i| i["kind"] == kind && i["metadata"]["name"] == name).unwrap();
        merge(item, patch);
        self
    }

    /// Reads and builds it.
    pub fn build(self) -> Snapshot {
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": self.items});
        let mut builder = Builder::new(BuildOptions::default());
        read_all(list.to_string().as_bytes(), "test.json", &mut builder).unwrap();
        builder.finish().unwrap()
    }
}

/// RFC 7396.
fn merge(target: &mut serde_json::Value, patch: &serde_json::Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = serde_json::json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}

/// The pod of that name.
pub fn pod(snapshot: &Snapshot, name: &str) -> PodIdx {
    PodIdx::new(snapshot.pods.iter().position(|p| snapshot.text(p.name) == name).unwrap())
}
