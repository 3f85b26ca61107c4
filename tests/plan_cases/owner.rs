//! `owner a kind=KIND`, and YAML merged over the owner's object, which is then part of the input.
//!
//! Kinds: `vcjob`, `rs`, `sts`, `job`, `ds`, `modelserving`, or `API/VERSION/Kind`; `none` = bare pods; `loose` = the
//! reference does not control. Without YAML no owner of the kind is in the input, unless `listed` is said; with it,
//! all owners of the same kind are. `gone`: other owners of the kind are in the input, this one is not.

use serde_json::{Value, json};

use crate::Outcome;
use crate::text::Command;
use crate::world::{Owner, World};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let name = args.word("the group")?;
    let kind = args.field("kind").unwrap_or_else(|| "vcjob".to_owned());
    let body = command.yaml()?;
    let mut owner = Owner::volcano_job();
    owner.listed = args.flag("listed") || !body.is_null();
    owner.body = body;
    let (api_version, word) = match kind.as_str() {
        "vcjob" | "none" | "loose" => ("batch.volcano.sh/v1alpha1", "Job"),
        "rs" => ("apps/v1", "ReplicaSet"),
        "sts" => ("apps/v1", "StatefulSet"),
        "ds" => ("apps/v1", "DaemonSet"),
        "job" => ("batch/v1", "Job"),
        "modelserving" => ("workload.serving.volcano.sh/v1alpha1", "ModelServing"),
        other => other.rsplit_once('/').ok_or_else(|| format!("{other:?} is no kind"))?,
    };
    api_version.clone_into(&mut owner.api_version);
    word.clone_into(&mut owner.kind);
    let reference = match kind.as_str() {
        "none" => json!([]),
        "loose" => {
            let mut reference = owner.reference(&name);
            reference["controller"] = Value::Null;
            json!([reference])
        }
        _ => json!([owner.reference(&name)]),
    };
    for pod in world.pods(&name, None)? {
        pod["metadata"]["ownerReferences"] = reference.clone();
    }
    if args.flag("gone") || matches!(kind.as_str(), "none" | "loose") {
        world.owners.remove(&name);
    } else {
        world.owners.insert(name, owner);
    }
    args.done()?;
    Ok(String::new())
}
