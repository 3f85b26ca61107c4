//! `pdb NAME group=a allowed=N [healthy=N] [desired=N] [expected=N] [syncfailed] [always]`, and YAML merged over it.
//!
//! It selects the pods of the letter, and replaces one of the same name. Without other numbers all pods are healthy and expected, and `desired` is what
//! leaves `allowed`.

use serde_json::json;

use crate::Outcome;
use crate::text::Command;
use crate::world::{World, merge};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let name = args.word("the name")?;
    let letter = args.field("group").ok_or("group= is missing")?;
    let pods = i64::try_from(world.pods(&letter, None)?.len()).map_err(|e| e.to_string())?;
    let allowed = args.number::<i64>("allowed")?.unwrap_or(0);
    let healthy = args.number::<i64>("healthy")?.unwrap_or(pods);
    let desired = args.number::<i64>("desired")?.unwrap_or(healthy - allowed);
    let expected = args.number::<i64>("expected")?.unwrap_or(pods);
    let mut pdb = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "default", "name": name, "uid": format!("uid-pdb-{name}"), "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": letter}}, "minAvailable": desired},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired,
            "expectedPods": expected, "observedGeneration": 1}});
    if args.flag("syncfailed") {
        pdb["status"]["conditions"] =
            json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]);
    }
    if args.flag("always") {
        pdb["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow".into();
    }
    merge(&mut pdb, &command.yaml()?);
    world.objects.retain(|o| o["kind"] != "PodDisruptionBudget" || o["metadata"]["name"] != name.as_str());
    world.objects.push(pdb);
    args.done()?;
    Ok(String::new())
}
