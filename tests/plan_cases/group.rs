//! `group a [min=N] [labels=(k=v …)] [queue=NAME] [missing] [none] [same=b]`, and YAML merged over the `PodGroup`.
//!
//! `missing`: pods name the group, but its object is not in the input. `none`: pods name no group and go through
//! default-scheduler. `same=b`: the pods belong to group `b` (and its owner), so that one group has two sizes.

use serde_json::json;

use crate::Outcome;
use crate::text::Command;
use crate::world::{World, merge};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let name = args.word("the group")?;
    let patch = command.yaml()?;
    let group = world.find("PodGroup", |n| n == name).pop();
    let group = group.ok_or_else(|| format!("there is no group {name:?}"))?;
    if let Some(min) = args.number::<i64>("min")? {
        group["spec"]["minMember"] = min.into();
    }
    if let Some(queue) = args.field("queue") {
        group["spec"]["queue"] = queue.into();
    }
    if let Some(labels) = args.pairs("labels")? {
        merge(&mut group["metadata"]["labels"], &labels);
    }
    merge(group, &patch);
    let other = args.field("same");
    let none = args.flag("none");
    if args.flag("missing") || none || other.is_some() {
        world.objects.retain(|o| o["kind"] != "PodGroup" || o["metadata"]["name"] != name.as_str());
    }
    for pod in world.pods(&name, None)? {
        if none {
            pod["metadata"]["annotations"] = json!({});
            pod["spec"]["schedulerName"] = "default-scheduler".into();
        }
        if let Some(other) = &other {
            pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = other.as_str().into();
            pod["metadata"]["ownerReferences"][0]["name"] = other.as_str().into();
            pod["metadata"]["ownerReferences"][0]["uid"] = format!("uid-{other}").into();
        }
    }
    if other.is_some() {
        world.owners.remove(&name);
    }
    args.done()?;
    Ok(String::new())
}
