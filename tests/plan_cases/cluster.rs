//! `cluster pods=(a:2x4 b:3x1)` and a drawing: nodes, pods, and a `PodGroup` with minMember 1 per letter.
//!
//! Nodes are Ready, with 64 cpu, 256Gi and 110 pods. Pods are called `a1`, `a2`, … in the order of the drawing and
//! belong to a Volcano Job of the letter's name; they run, are Ready, and request cards and nothing else.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Outcome;
use crate::drawing::Line;
use crate::text::Command;
use crate::world::{CARDS, Owner, World};

/// Pods of a letter: how many, and cards of each.
pub fn sizes(list: &[String]) -> Result<BTreeMap<char, (u64, u64)>, String> {
    let mut sizes = BTreeMap::new();
    for word in list {
        let parsed = word.split_once(':').and_then(|(letter, size)| {
            let (count, cards) = size.split_once('x')?;
            Some((letter.chars().next()?, (count.parse().ok()?, cards.parse().ok()?)))
        });
        let (letter, size) = parsed.ok_or_else(|| format!("{word:?} is not LETTER:COUNTxCARDS"))?;
        sizes.insert(letter, size);
    }
    Ok(sizes)
}

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let sizes = sizes(&args.list("pods"))?;
    args.done()?;
    let mut drawn: BTreeMap<char, u64> = BTreeMap::new();
    for text in &command.body {
        let line = Line::parse(text)?;
        let cards: u64 = line.runs.iter().map(|run| run.1).sum();
        world.objects.push(node(&line.node, cards));
        world.nodes.push(line.node.clone());
        for &(glyph, count) in line.runs.iter().filter(|run| run.0 != '.') {
            if glyph == '#' {
                world.objects.push(fixed(&line.node, count));
                continue;
            }
            let (_, size) = *sizes.get(&glyph).ok_or_else(|| format!("group {glyph} is not in pods=(…)"))?;
            if count % size != 0 {
                let cards = if count == 1 { "card" } else { "cards" };
                return Err(format!("{count} {cards} of {glyph} on {} is no multiple of {size}", line.node));
            }
            for _ in 0..count / size {
                let number = drawn.entry(glyph).or_default();
                *number += 1;
                world.objects.push(pod(&format!("{glyph}{number}"), &glyph.to_string(), &line.node, size));
            }
        }
    }
    for (letter, (count, _)) in sizes {
        let pods = drawn.get(&letter).copied().unwrap_or(0);
        if pods != count {
            let (pods, are) =
                if pods == 1 { ("1 pod".to_owned(), "is") } else { (format!("{pods} pods"), "are") };
            return Err(format!("{pods} of {letter} {are} drawn, {count} are said"));
        }
        world.objects.push(group(&letter.to_string()));
        world.owners.insert(letter.to_string(), Owner::volcano_job());
    }
    Ok(String::new())
}

fn node(name: &str, cards: u64) -> Value {
    let mut allocatable = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
    if cards > 0 {
        allocatable[CARDS] = cards.to_string().into();
    }
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}})
}

/// A `PodGroup`.
pub fn group(name: &str) -> Value {
    json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "default", "name": name, "uid": format!("uid-group-{name}"), "labels": {}},
        "spec": {"minMember": 1}, "status": {"phase": "Running"}})
}

/// A pod of a group on a node; without a node it is Pending.
pub fn pod(name: &str, group: &str, node: &str, cards: u64) -> Value {
    let (phase, ready) = if node.is_empty() { ("Pending", "False") } else { ("Running", "True") };
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "uid": format!("uid-{name}"), "labels": {"app": group},
            "annotations": {"scheduling.k8s.io/group-name": group},
            "ownerReferences": [Owner::volcano_job().reference(group)]},
        "spec": {"schedulerName": "volcano", "nodeName": node,
            "containers": [{"name": "main", "resources": {"requests": {CARDS: cards.to_string()}}}]},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}})
}

/// A pod of a `DaemonSet`.
fn fixed(node: &str, cards: u64) -> Value {
    let mut pod = pod(&format!("fixed-{node}"), "fixed", node, cards);
    let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "fixed", "uid": "uid-fixed",
        "controller": true});
    pod["metadata"]["ownerReferences"] = json!([owner]);
    pod["metadata"]["annotations"] = json!({});
    pod["spec"]["schedulerName"] = "default-scheduler".into();
    pod
}
