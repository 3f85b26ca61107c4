//! Carries a plan out on API objects: victims are gone, replacements stand where the plan puts them.

use std::collections::HashMap;

use kubectl_repack::plan::types::Plan;
use kubectl_repack::snapshot::Snapshot;
use serde_json::Value;

/// The objects after the plan. Terminating pods of the resource are gone by then.
pub fn apply(snapshot: &Snapshot, mut objects: Vec<Value>, plan: &Plan) -> Vec<Value> {
    let key = |o: &Value| format!("{}/{}", text(&o["metadata"]["namespace"]), text(&o["metadata"]["name"]));
    let pods = objects.iter().enumerate().filter(|(_, o)| o["kind"] == "Pod");
    let pods: HashMap<String, usize> = pods.map(|(at, o)| (key(o), at)).collect();
    for (number, moved) in plan.moves.iter().enumerate() {
        let pod = &mut objects[pods[&snapshot.pod_key(moved.pod)]];
        pod["spec"]["nodeName"] = snapshot.node_name(moved.to).into();
        pod["metadata"]["uid"] = format!("{}-again-{number}", text(&pod["metadata"]["uid"])).into();
        pod["status"]["phase"] = "Running".into();
    }
    objects.retain(|o| o["metadata"].get("deletionTimestamp").is_none());
    objects
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
