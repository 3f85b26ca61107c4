//! What happens in the cluster while a run is carried out: to nodes, to receivers, to replacements, to groups.

use serde_json::json;

use super::{ends, guide, once, relocations, run, two_receivers};
use crate::api::{EvictionPhase, PlacementPhase, Reason};
use crate::execute::Command;
use crate::execute::testing::World;

fn probes(_: &World, command: &Command) -> bool {
    matches!(command, Command::Probe { .. })
}

fn evicts(_: &World, command: &Command) -> bool {
    matches!(command, Command::Evict { .. })
}

/// The node to empty goes with its pods; then a receiver.
#[test]
fn node_deleted_between_plan_and_eviction() {
    let mut world = guide("StatefulSet");
    once(&mut world, probes, |world| world.delete_node("n1"));
    assert!(relocations(&world).iter().all(|r| r.eviction.phase == EvictionPhase::Rejected));
    assert_eq!(world.status().result.as_ref().unwrap().freed_node_count, 0, "it was not freed");
    ends(&mut world, Reason::EvictionFailed, &[], &["w n2 n3"]);

    let mut world = two_receivers();
    once(&mut world, probes, |world| world.delete_node("n2"));
    ends(&mut world, Reason::ExecutionCompletedWithAlternativePlacement, &["w-0"], &["w n3"]);
}

/// The node to empty is emptied all the same; a receiver receives nothing.
#[test]
fn node_cordoned_between_plan_and_eviction() {
    let mut world = guide("StatefulSet");
    once(&mut world, probes, |world| world.cordon("n1"));
    ends(&mut world, Reason::ExecutionCompleted, &["w-0", "w-1"], &["w n2 n3"]);

    let mut world = two_receivers();
    once(&mut world, probes, |world| world.cordon("n2"));
    ends(&mut world, Reason::ExecutionCompletedWithAlternativePlacement, &["w-0"], &["w n3"]);
}

#[test]
fn planned_receiver_taken_by_another_pod() {
    let mut world = two_receivers();
    once(&mut world, evicts, |world| {
        world.workload("StatefulSet", "thief", 2, &["n2"], &json!({}));
    });
    let relocation = relocations(&world).remove(0);
    assert_eq!(
        (relocation.planned_node_name.as_str(), relocation.placement.actual_node_name.as_deref()),
        ("n2", Some("n3"))
    );
    let reason = Reason::ExecutionCompletedWithAlternativePlacement;
    ends(&mut world, reason, &["w-0"], &["thief n2", "w n3"]);
}

#[test]
fn replacement_deleted_while_gated() {
    for kind in ["ReplicaSet", "StatefulSet", "Job"] {
        let mut world = guide(kind);
        let mut deleted = None;
        run(&mut world, &mut |world, command| {
            if let Command::Nominate { pod, node: Some(_) } = command
                && deleted.is_none()
            {
                deleted = Some(pod.uid.clone());
                world.terminate("a", &pod.name);
            }
        });
        let all = relocations(&world);
        assert!(deleted.is_some() && all.iter().all(|r| r.placement.replacement_pod_uid != deleted));
        let victims: Vec<&str> = all.iter().map(|r| r.victim_pod_name.as_str()).collect();
        ends(&mut world, Reason::ExecutionCompleted, &victims, &["w n2 n3"]);
    }
}

/// The receivers are full before the replacement has a node: why it waits stands in the status and in an event.
#[test]
fn replacement_that_no_node_takes() {
    let mut world = two_receivers();
    let (mut told, mut stood, mut taken) = (Vec::new(), String::new(), false);
    run(&mut world, &mut |world, command| {
        if evicts(world, command) && !taken {
            taken = true;
            world.workload("StatefulSet", "one", 2, &["n2"], &json!({})).workload(
                "StatefulSet",
                "two",
                3,
                &["n3"],
                &json!({}),
            );
        }
        if let Command::Tell { reason: "WaitingForNodeSelection", message, warning, .. } = command {
            told.push((message.clone(), *warning));
        }
        if let Command::WriteStatus(status) = command
            && status.message.contains("wait for a node")
        {
            stood.clone_from(&status.message);
        }
    });
    let why = "n2, n3, n4: needs 2 x.io/npu, has 0; n1: is to be freed";
    assert_eq!(told, [(format!("Replacement a/w-0 waits at the gate, no node takes it: {why}."), true)]);
    assert!(stood.ends_with(&format!(", 1 wait for a node: a/w-0 ({why}).")), "{stood}");
    // Its window is over: it goes where it finds room.
    ends(&mut world, Reason::PlacementTimedOut, &["w-0"], &["one n2", "two n3", "w n1"]);
}

/// The controller makes the group anew, under another name, and pods under their old names.
#[test]
fn pod_group_re_created_under_a_new_name() {
    let mut world = World::new(4);
    let policies = json!({"renames": true, "policies": [{"event": "PodEvicted", "action": "RestartJob"}]});
    world.workload("Job", "gang", 1, &["n1", "n1"], &policies).fixed("n2", 7).fixed("n3", 7).fixed("n4", 8);
    let mut leased = false;
    run(&mut world, &mut |world, _| {
        leased |= world.store.groups.iter().any(|((_, name), group)| {
            let lease = &group["metadata"]["annotations"]["repack.volcano.sh/placement-lease"];
            name.ends_with("-again") && *lease == "run/run-uid"
        });
    });
    assert!(leased, "the new group carries the lease");
    let all = relocations(&world);
    let later = |name: &Option<String>| name.as_ref().is_some_and(|name| name.ends_with("-again"));
    assert!(all.iter().all(|r| later(&r.replacement_pod_group_name)), "{all:#?}");
    let one = all.iter().find(|r| r.eviction.phase == EvictionPhase::Accepted).unwrap();
    ends(&mut world, Reason::ExecutionCompleted, &[&one.victim_pod_name], &["gang n2 n3"]);
}

/// Pods that replace nobody are let go at once, and take neither the freed node nor the room of a replacement.
#[test]
fn scale_out_during_the_run() {
    let mut world = World::new(4);
    world
        .workload("ReplicaSet", "web", 1, &["n1", "n1"], &json!({}))
        .fixed("n2", 6)
        .fixed("n3", 5)
        .fixed("n4", 8);
    once(&mut world, evicts, |world| world.scale("web", 5));
    let all = relocations(&world);
    assert!(all.iter().all(|r| r.placement.phase == PlacementPhase::Placed), "{all:#?}");
    let victims: Vec<&str> = all.iter().map(|r| r.victim_pod_name.as_str()).collect();
    assert_eq!(world.status().result.as_ref().unwrap().freed_nodes, ["n1"]);
    ends(&mut world, Reason::ExecutionCompleted, &victims, &["web n2 n2 n3 n3 n3"]);
}
