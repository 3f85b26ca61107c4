//! `pods a [on=n1] [cpu=N] [labels=(k=v …)] [annotations=(k=v …)] [selector=(k=v …)] [anti=KEY] [spread=KEY]
//! [tolerate=(key=value:Effect …)] [priority=N] [phase=P] [unready] [terminating] [protected] [gone]`,
//! and YAML merged over each pod. `pods a2` means that one pod.
//!
//! `anti=` keeps pods of the same letter out of one domain of that label, `spread=` spreads them with maxSkew 1.
//! `gone`: the object was deleted.

use serde_json::{Value, json};

use crate::Outcome;
use crate::text::{Args, Command};
use crate::world::{World, letter_of, merge};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let which = args.word("the pods")?;
    let on = args.field("on");
    let patch = change(&mut args, letter_of(&which))?;
    let more = command.yaml()?;
    if args.flag("gone") {
        let is_one = |name: &str| name == which || letter_of(name) == which;
        world.objects.retain(|o| o["kind"] != "Pod" || !is_one(o["metadata"]["name"].as_str().unwrap_or("")));
    } else {
        for pod in world.pods(&which, on.as_deref())? {
            merge(pod, &patch);
            merge(pod, &more);
        }
    }
    args.done()?;
    Ok(String::new())
}

/// What the words say, as a merge patch.
pub fn change(args: &mut Args, letter: &str) -> Result<Value, String> {
    let mut pod = json!({"metadata": {}, "spec": {}, "status": {}});
    for (field, at) in [("labels", "labels"), ("annotations", "annotations")] {
        if let Some(pairs) = args.pairs(field)? {
            pod["metadata"][at] = pairs;
        }
    }
    if args.flag("protected") {
        pod["metadata"]["labels"]["repack.volcano.sh/protected"] = "true".into();
    }
    if args.flag("terminating") {
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    }
    if let Some(cpu) = args.field("cpu") {
        // Pod-level requests leave the cards of the container alone.
        pod["spec"]["resources"] = json!({"requests": {"cpu": cpu}});
    }
    if let Some(pairs) = args.pairs("selector")? {
        pod["spec"]["nodeSelector"] = pairs;
    }
    let alike = json!({"matchLabels": {"app": letter}});
    if let Some(key) = args.field("anti") {
        pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!([{"labelSelector": alike, "topologyKey": key}]);
    }
    if let Some(key) = args.field("spread") {
        pod["spec"]["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": alike}]);
    }
    let mut tolerations = Vec::new();
    for taint in args.list("tolerate") {
        let (pair, effect) = taint.rsplit_once(':').ok_or_else(|| format!("{taint:?} is no taint"))?;
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        tolerations.push(json!({"key": key, "operator": "Equal", "value": value, "effect": effect}));
    }
    if !tolerations.is_empty() {
        pod["spec"]["tolerations"] = tolerations.into();
    }
    if let Some(priority) = args.number::<i64>("priority")? {
        pod["spec"]["priority"] = priority.into();
    }
    if let Some(phase) = args.field("phase") {
        pod["status"]["phase"] = phase.into();
    }
    if args.flag("unready") {
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    }
    Ok(pod)
}
