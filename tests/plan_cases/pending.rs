//! `pending p:2x8 [min=N] [nominated=n1]` and the words of `pods`: pods without a node, and their `PodGroup`, which
//! is Inqueue. `nominated=` is for the first of them. YAML is merged over each pod.

use serde_json::json;

use crate::Outcome;
use crate::cluster::{group, pod, sizes};
use crate::pods::change;
use crate::text::Command;
use crate::world::{Owner, World, merge};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let sizes = sizes(&[args.word("LETTER:COUNTxCARDS")?])?;
    let (letter, (count, cards)) = sizes.into_iter().next().ok_or("LETTER:COUNTxCARDS is missing")?;
    let letter = letter.to_string();
    let nominated = args.field("nominated");
    let patch = change(&mut args, &letter)?;
    let mut object = group(&letter);
    object["status"]["phase"] = "Inqueue".into();
    if let Some(min) = args.number::<i64>("min")? {
        object["spec"]["minMember"] = min.into();
    }
    world.objects.push(object);
    for number in 1..=count {
        let mut pod = pod(&format!("{letter}{number}"), &letter, "", cards);
        if let (Some(node), 1) = (&nominated, number) {
            merge(&mut pod, &json!({"status": {"nominatedNodeName": node}}));
        }
        merge(&mut pod, &patch);
        merge(&mut pod, &command.yaml()?);
        world.objects.push(pod);
    }
    world.owners.insert(letter, Owner::volcano_job());
    args.done()?;
    Ok(String::new())
}
