//! What the webhooks answer: pods that replace victims of the active run come with its gate, and groups that are made
//! anew carry its lease.
//!
//! Decided by the run alone, which every replica watches: the group of a pod may not exist yet, or no longer. A pod that
//! names its node is never gated, since the API server would refuse it.
//!
//! May import: api

use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::machine::RunRef;
use crate::api::names::{
    GATE_OWNER_ANNOTATION, PLACEMENT_GATE, PLACEMENT_LEASE_ANNOTATION, VIRTUAL_GROUP_PREFIX,
};
use crate::api::{Phase, RepackRunStatus};

/// On a pod that is created for the sake of the answer only: the run that asks.
pub const PROBE_ANNOTATION: &str = "repack.volcano.sh/placement-probe";
/// Annotations by which pods name their group.
const GROUP_NAMES: [&str; 2] = ["scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"];

/// What the active run expects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    tag: String,
    /// Groups by namespace and name.
    groups: FxHashSet<(String, String)>,
    /// Victims by namespace and name: many controllers make their pods under the same name.
    victims: FxHashSet<(String, String)>,
    /// Controlling owners of the groups, by namespace, kind and name: one may make its group under another name.
    owners: FxHashSet<(String, String, String)>,
}

impl Expected {
    /// What a run expects; none where it is not being carried out.
    pub fn of(run: &RunRef, status: &RepackRunStatus) -> Option<Self> {
        let relocations = status.relocations.as_ref().filter(|_| status.phase == Phase::Running)?;
        let mut expected = Self { tag: run.tag(), ..Self::default() };
        for relocation in relocations {
            let namespace = &relocation.namespace;
            let later = relocation.replacement_pod_group_name.clone();
            for name in [Some(relocation.pod_group_name.clone()), later].into_iter().flatten() {
                expected.groups.insert((namespace.clone(), name));
            }
            expected.victims.insert((namespace.clone(), relocation.victim_pod_name.clone()));
        }
        for moved in status.plan.iter().flat_map(|plan| &plan.moves) {
            let owner = moved.owner.iter().map(|owner| (owner.kind.clone(), owner.name.clone()));
            expected.owners.extend(owner.map(|(kind, name)| (moved.namespace.clone(), kind, name)));
        }
        Some(expected)
    }

    /// The JSON patch for a pod that is being created in a namespace; empty: it passes as it is.
    pub fn patch_pod(&self, namespace: &str, pod: &Value) -> Vec<Value> {
        let gates = pod["spec"]["schedulingGates"].as_array();
        let gated = gates.is_some_and(|gates| gates.iter().any(|gate| gate["name"] == PLACEMENT_GATE));
        let bound = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
        if gated || bound || !self.expects(namespace, pod) {
            return Vec::new();
        }
        let gate = json!({"name": PLACEMENT_GATE});
        let mut patch = vec![if gates.is_some() {
            json!({"op": "add", "path": "/spec/schedulingGates/-", "value": gate})
        } else {
            json!({"op": "add", "path": "/spec/schedulingGates", "value": [gate]})
        }];
        patch.extend(self.annotate(pod, GATE_OWNER_ANNOTATION));
        patch
    }

    /// The JSON patch for a group that is being created.
    pub fn patch_group(&self, namespace: &str, group: &Value) -> Vec<Value> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let named = (namespace.to_owned(), text(&group["metadata"]["name"]));
        let of_owner = self.is_of_an_owner(namespace, group);
        if self.groups.contains(&named) || of_owner {
            self.annotate(group, PLACEMENT_LEASE_ANNOTATION)
        } else {
            Vec::new()
        }
    }

    fn expects(&self, namespace: &str, pod: &Value) -> bool {
        let annotation = |key: &str| pod["metadata"]["annotations"][key].as_str();
        if annotation(PROBE_ANNOTATION) == Some(self.tag.as_str()) {
            return true;
        }
        let key = |name: &str| (namespace.to_owned(), name.to_owned());
        if pod["metadata"]["name"].as_str().is_some_and(|name| self.victims.contains(&key(name))) {
            return true;
        }
        if let Some(name) = GROUP_NAMES.into_iter().find_map(annotation) {
            return self.groups.contains(&key(name)) || self.is_of_an_owner(namespace, pod);
        }
        if self.is_of_an_owner(namespace, pod) {
            return true;
        }
        // The annotation comes after the pod: the name is made of the owner's UID.
        controller_of(pod)
            .and_then(|owner| owner["uid"].as_str())
            .is_some_and(|uid| self.groups.contains(&key(&format!("{VIRTUAL_GROUP_PREFIX}{uid}"))))
    }

    /// Its controller has the name of a victim's: one that was made anew has another UID.
    fn is_of_an_owner(&self, namespace: &str, object: &Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        controller_of(object).is_some_and(|owner| {
            self.owners.contains(&(namespace.to_owned(), text(&owner["kind"]), text(&owner["name"])))
        })
    }

    fn annotate(&self, object: &Value, key: &str) -> Vec<Value> {
        let escaped = key.replace('/', "~1");
        if object["metadata"]["annotations"].is_object() {
            vec![json!({"op": "add", "path": format!("/metadata/annotations/{escaped}"), "value": self.tag})]
        } else {
            vec![json!({"op": "add", "path": "/metadata/annotations", "value": {key: self.tag}})]
        }
    }
}

/// The reference to the owner that controls an object.
fn controller_of(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().find(|owner| owner["controller"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expected {
        Expected {
            tag: "run/uid".to_owned(),
            groups: [("ns".to_owned(), "podgroup-rs".to_owned()), ("ns".to_owned(), "job".to_owned())]
                .into_iter()
                .collect(),
            victims: [("ns".to_owned(), "db-0".to_owned())].into_iter().collect(),
            owners: [("ns".to_owned(), "Job".to_owned(), "train".to_owned())].into_iter().collect(),
        }
    }

    #[test]
    fn replacements_are_gated_by_group_by_owner_and_by_name() {
        let expected = expected();
        let of_group =
            json!({"metadata": {"name": "a", "annotations": {"scheduling.k8s.io/group-name": "job"}}});
        let patch = expected.patch_pod("ns", &of_group);
        assert_eq!(patch.len(), 2);
        assert_eq!(patch[0]["value"], json!([{"name": "repack.volcano.sh/placement"}]));
        assert_eq!(patch[1]["path"], "/metadata/annotations/repack.volcano.sh~1placement-gate-owner");
        let of_owner = json!({"metadata": {"ownerReferences": [{"uid": "rs", "controller": true}]},
                              "spec": {"schedulingGates": [{"name": "x"}]}});
        let patch = expected.patch_pod("ns", &of_owner);
        assert_eq!(patch[0]["path"], "/spec/schedulingGates/-");
        assert_eq!(patch[1]["path"], "/metadata/annotations");
        assert_eq!(expected.patch_pod("ns", &json!({"metadata": {"name": "db-0"}})).len(), 2);
        let again = json!({"uid": "another", "kind": "Job", "name": "train", "controller": true});
        let made_anew = json!({"metadata": {"ownerReferences": [again]}});
        assert_eq!(expected.patch_pod("ns", &made_anew).len(), 2);
        assert!(expected.patch_pod("elsewhere", &made_anew).is_empty());
    }

    #[test]
    fn nobody_else_is_gated_and_a_pod_with_a_node_never() {
        let expected = expected();
        let other =
            json!({"metadata": {"name": "a", "annotations": {"scheduling.k8s.io/group-name": "other"}}});
        assert!(expected.patch_pod("ns", &other).is_empty());
        let group = json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "job"}}});
        assert!(expected.patch_pod("elsewhere", &group).is_empty());
        let mut bound = group.clone();
        bound["spec"] = json!({"nodeName": "n1"});
        assert!(expected.patch_pod("ns", &bound).is_empty());
        let mut gated = group;
        gated["spec"] = json!({"schedulingGates": [{"name": "repack.volcano.sh/placement"}]});
        assert!(expected.patch_pod("ns", &gated).is_empty());
    }

    #[test]
    fn a_group_that_is_of_an_owner_carries_the_lease() {
        let patch = expected().patch_group("ns", &json!({"metadata": {"name": "job"}}));
        assert_eq!(patch[0]["value"], json!({"repack.volcano.sh/placement-lease": "run/uid"}));
        assert!(expected().patch_group("ns", &json!({"metadata": {"name": "other"}})).is_empty());
        let again = json!({"metadata": {"name": "train-2", "annotations": {}, "ownerReferences": [
            {"kind": "Job", "name": "train", "controller": true}]}});
        assert_eq!(
            expected().patch_group("ns", &again).len(),
            1,
            "the same owner made it under another name"
        );
        assert!(expected().patch_group("elsewhere", &again).is_empty());
    }
}
