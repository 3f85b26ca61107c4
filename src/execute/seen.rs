//! The cluster as an execution sees it: the model that planning uses, and what few pods have besides.
//!
//! May import: api, snapshot

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::command::PodRef;
use crate::api::names::{GATE_OWNER_ANNOTATION, PLACEMENT_GATE};
use crate::snapshot::Snapshot;
use crate::snapshot::model::PodIdx;

/// What an execution knows of the cluster now.
pub struct Sight<'a> {
    /// The model; it may lag behind what was written.
    pub snapshot: &'a Snapshot,
    /// One pod of it, by namespace and name.
    pub pod: &'a dyn Fn(&str, &str) -> Option<Seen>,
    /// Whether the run that a lease or gate names (`NAME/UID`) still works.
    pub works: &'a dyn Fn(&str) -> bool,
}

impl Sight<'_> {
    /// A pod of the model.
    pub fn seen(&self, pod: PodIdx) -> Option<Seen> {
        let facts = self.snapshot.pod(pod);
        let seen = (self.pod)(self.snapshot.namespace_name(facts.namespace), self.snapshot.text(facts.name));
        // Both come from one cache, which may have moved on in between.
        seen.filter(|seen| seen.at.uid == self.snapshot.text(facts.uid))
    }

    /// A pod, if it is there and still is the one.
    pub fn same(&self, pod: &PodRef) -> Option<Seen> {
        (self.pod)(&pod.namespace, &pod.name).filter(|seen| seen.at.uid == pod.uid)
    }
}

/// A pod as an execution sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Which pod.
    pub at: PodRef,
    /// The node it is bound to; empty: none.
    pub node: String,
    /// Its scheduling gates.
    pub gates: Vec<String>,
    /// The run that gated it, as `NAME/UID`; empty: none.
    pub gate_owner: String,
    /// Its nomination; empty: none.
    pub nominated: String,
    /// It is being deleted.
    pub terminating: bool,
    /// It has ended.
    pub finished: bool,
    /// It is Ready.
    pub ready: bool,
    /// The scheduler tried and found no node.
    pub unschedulable: bool,
    /// Seconds it has to end when it is evicted.
    pub grace_seconds: i64,
    /// See [`requirements`].
    pub requirements: String,
}

impl Seen {
    /// Reads a pod, as the API server has it or as a snapshot file has it.
    pub fn of(pod: &Value) -> Self {
        let text = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let condition = |kind: &str| {
            let all = pod.pointer("/status/conditions").and_then(Value::as_array);
            all.into_iter().flatten().find(|condition| condition["type"] == kind)
        };
        let gates = pod.pointer("/spec/schedulingGates").and_then(Value::as_array);
        let owner = GATE_OWNER_ANNOTATION.replace('/', "~1");
        Self {
            at: PodRef {
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name"),
                uid: text("/metadata/uid"),
            },
            node: text("/spec/nodeName"),
            gates: gates
                .into_iter()
                .flatten()
                .filter_map(|g| g["name"].as_str())
                .map(str::to_owned)
                .collect(),
            gate_owner: text(&format!("/metadata/annotations/{owner}")),
            nominated: text("/status/nominatedNodeName"),
            terminating: !text("/metadata/deletionTimestamp").is_empty(),
            finished: matches!(text("/status/phase").as_str(), "Succeeded" | "Failed"),
            ready: condition("Ready").is_some_and(|condition| condition["status"] == "True"),
            unschedulable: condition("PodScheduled").is_some_and(|condition| {
                condition["status"] == "False" && condition["reason"] == "Unschedulable"
            }),
            grace_seconds: pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30),
            requirements: requirements(&pod["spec"]),
        }
    }

    /// It has our gate.
    pub fn is_gated(&self) -> bool {
        self.gates.iter().any(|gate| gate == PLACEMENT_GATE)
    }

    /// It has a node.
    pub const fn is_bound(&self) -> bool {
        !self.node.is_empty()
    }
}

/// What a pod asks of a node, as 16 hexadecimal digits: equal for pods that are interchangeable for a scheduler. Taken
/// over the fields of its spec that decide, whatever their order in the text.
pub fn requirements(spec: &Value) -> String {
    const FIELDS: [&str; 12] = [
        "affinity",
        "hostNetwork",
        "nodeSelector",
        "overhead",
        "priority",
        "resourceClaims",
        "resources",
        "schedulerName",
        "schedulingGroup",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    ];
    let mut hash = Sha256::new();
    let mut add = |name: &str, value: &Value| {
        // Objects are sorted by key, so that equal values are equal text.
        hash.update(name);
        hash.update(value.to_string());
        hash.update([0]);
    };
    for field in FIELDS {
        // What differs from pod to pod of one template: the token volume, and claims that carry the pod's name.
        let value = match (field, &spec[field]) {
            (_, Value::Null) => continue,
            ("volumes", Value::Array(volumes)) => Value::Array(volumes.iter().map(kind_of_volume).collect()),
            (_, value) => value.clone(),
        };
        add(field, &value);
    }
    for field in ["initContainers", "containers"] {
        for container in spec[field].as_array().into_iter().flatten() {
            add(field, &container["resources"]);
            for port in container["ports"].as_array().into_iter().flatten() {
                add("hostPort", &port["hostPort"]);
            }
        }
    }
    let digest = hash.finalize();
    let head = digest.iter().take(8).fold(0_u64, |head, &byte| head << 8 | u64::from(byte));
    format!("{head:016x}")
}

/// A volume without what names one claim.
fn kind_of_volume(volume: &Value) -> Value {
    let kinds = volume.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
    Value::Array(kinds.map(|(key, _)| Value::from(key.clone())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_gated_replacement_is_read_as_the_api_has_it() {
        let seen = Seen::of(&json!({
            "metadata": {"namespace": "a", "name": "p", "uid": "u", "annotations": {
                "repack.volcano.sh/placement-gate-owner": "run/uid"}},
            "spec": {"schedulingGates": [{"name": "repack.volcano.sh/placement"}, {"name": "x.io/other"}]},
            "status": {"phase": "Pending", "nominatedNodeName": "n2",
                       "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
        }));
        assert!(seen.is_gated() && !seen.is_bound() && !seen.unschedulable);
        assert_eq!((seen.gate_owner.as_str(), seen.nominated.as_str()), ("run/uid", "n2"));
    }

    #[test]
    fn pods_of_one_template_ask_for_the_same_and_others_do_not() {
        let spec = |cards: &str, node: &str, claim: &str| {
            json!({"nodeName": node, "schedulerName": "volcano",
                "volumes": [{"name": claim, "persistentVolumeClaim": {"claimName": claim}}],
                "containers": [{"name": "c", "image": claim, "resources": {"requests": {"x.io/npu": cards}}}]})
        };
        let one = requirements(&spec("1", "n1", "a"));
        assert_eq!(one, requirements(&spec("1", "", "b")));
        assert_ne!(one, requirements(&spec("2", "n1", "a")));
        assert_eq!(one.len(), 16);
    }
}
