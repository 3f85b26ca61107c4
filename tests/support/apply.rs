//! Carries a plan out on API objects: victims are gone, replacements stand where the plan puts them.

use kubectl_repack::plan::types::Plan;
use kubectl_repack::snapshot::Snapshot;
use serde_json::Value;

/// The objects after the plan. Terminating pods of the resource are gone by then.
pub fn apply(snapshot: &Snapshot, mut objects: Vec<Value>, plan: &Plan) -> Vec<Value> {
    for (number, moved) in plan.moves.iter().enumerate() {
        let key = snapshot.pod_key(moved.pod);
        let pod = objects.iter_mut().find(|o| {
            let meta = &o["metadata"];
            o["kind"] == "Pod" && format!("{}/{}", text(&meta["namespace"]), text(&meta["name"])) == key
        });
        let pod = pod.unwrap();
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
