//! `node n1 [cordoned] [notready] [leaving] [labels=(k=v …)] [taint=(key=value:Effect …)] [cpu=N] [pods=N] [cards=N]`,
//! and YAML that is merged over the Node. `cards=` changes what is allocatable, not what is drawn.

use serde_json::json;

use crate::Outcome;
use crate::text::Command;
use crate::world::{CARDS, World, merge};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let patch = command.yaml()?;
    let node = world.node(&args.word("the node")?)?;
    if args.flag("cordoned") {
        node["spec"]["unschedulable"] = true.into();
    }
    if args.flag("notready") {
        node["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    }
    let mut taints = args.list("taint");
    if args.flag("leaving") {
        taints.push("ToBeDeletedByClusterAutoscaler=1:NoSchedule".to_owned());
    }
    for taint in taints {
        let (pair, effect) = taint.rsplit_once(':').ok_or_else(|| format!("{taint:?} is no taint"))?;
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let taint = json!({"key": key, "value": value, "effect": effect});
        match node["spec"]["taints"].as_array_mut() {
            Some(taints) => taints.push(taint),
            None => node["spec"]["taints"] = json!([taint]),
        }
    }
    if let Some(labels) = args.pairs("labels")? {
        merge(&mut node["metadata"]["labels"], &labels);
    }
    for (field, resource) in [("cpu", "cpu"), ("pods", "pods"), ("cards", CARDS)] {
        if let Some(amount) = args.field(field) {
            node["status"]["allocatable"][resource] = amount.into();
        }
    }
    merge(node, &patch);
    args.done()?;
    Ok(String::new())
}
