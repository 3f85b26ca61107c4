//! What was seen on real Volcano, on a cluster in memory.

use serde_json::json;

use super::testing::{World, check_clean, drive, fresh};
use crate::api::{EvictionPhase, Execution as Asked, Phase, Reason, RepackRunSpec};
use crate::execute::Command;

fn reason(world: &World) -> Reason {
    world.status().conditions.last().unwrap().reason
}

fn spec(at_once: i64) -> RepackRunSpec {
    let execution = Asked { max_concurrent_evictions: Some(at_once), ..Asked::default() };
    RepackRunSpec { execution: Some(execution), ..RepackRunSpec::default() }
}

/// A gang of two, one on the node to be emptied and one on a receiver; 12 cards are free.
fn gang(policies: &serde_json::Value) -> World {
    let mut world = World::new(3);
    world.workload("Job", "gang", 4, &["n1", "n2"], &json!({"policies": policies})).fixed("n3", 4);
    world
}

/// A group that is not let into its queue: it has no pods.
fn waits(world: &mut World, cards: u32) {
    let uid = world.uid("group");
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "a", "name": "other", "uid": uid},
        "spec": {"minMember": 1, "queue": "default", "minResources": {"x.io/npu": cards.to_string()}},
        "status": {"phase": "Pending"}});
    world.change(|store| store.groups.insert(("a".to_owned(), "other".to_owned()), group));
}

/// Both pods are away at once. A group that asks for more than is free and for no more than is free then is let in before
/// the gang is back, and there is no room for the gang any more.
#[test]
fn a_unit_stays_where_a_group_waits_that_would_run_in_its_place() {
    let restarts = json!([{"event": "PodEvicted", "action": "RestartJob"}]);
    for (policies, at_once, cards, moves) in [
        (&restarts, 1, 16, false),
        (&restarts, 1, 24, true),
        (&restarts, 1, 8, true),
        // One of them is away: the group does not fit in.
        (&json!([]), 1, 17, true),
        (&json!([]), 1, 16, false),
    ] {
        let mut world = gang(policies);
        waits(&mut world, cards);
        fresh(&mut world, &spec(at_once));
        drive(&mut world, &spec(at_once), None, &mut |_, _| {});
        let message = world.status().message.clone();
        if moves {
            assert_eq!(reason(&world), Reason::ExecutionCompleted, "{cards}: {message}");
        } else {
            assert_eq!(reason(&world), Reason::EvictionFailed, "{cards}: {message}");
            let why = format!("was given up: PodGroup a/other waits for {cards} x.io/npu");
            assert!(message.contains(&why), "{message}");
            assert!(world.evictions.is_empty());
        }
        check_clean(&mut world);
    }
}

/// Several pods of a node may be away at once where the run allows it.
#[test]
fn pods_that_are_evicted_together_leave_room_together() {
    for (at_once, moves) in [(1, true), (2, false)] {
        let mut world = World::new(3);
        // 10 cards are free, and 3 more while both pods are away.
        world.workload("Job", "first", 1, &["n1"], &json!({})).workload(
            "Job",
            "second",
            2,
            &["n1"],
            &json!({}),
        );
        world.fixed("n2", 5).fixed("n3", 6);
        waits(&mut world, 13);
        fresh(&mut world, &spec(at_once));
        drive(&mut world, &spec(at_once), None, &mut |_, _| {});
        assert_eq!(world.status().phase == Phase::Succeeded, moves, "{}", world.status().message);
        check_clean(&mut world);
    }
}

#[test]
fn a_task_that_restarts_comes_back_as_planned_in_the_group_that_stays() {
    let mut world = gang(&json!([{"event": "PodEvicted", "action": "RestartTask"}]));
    fresh(&mut world, &spec(1));
    drive(&mut world, &spec(1), None, &mut |_, _| {});
    assert_eq!(reason(&world), Reason::ExecutionCompleted, "{}", world.status().message);
    let all = world.status().relocations.clone().unwrap();
    let count = |phase| all.iter().filter(|relocation| relocation.eviction.phase == phase).count();
    assert_eq!((count(EvictionPhase::Accepted), count(EvictionPhase::IndirectlyRemoved)), (1, 1));
    check_clean(&mut world);
}

#[test]
fn who_came_to_the_nodes_of_replacements_that_are_not_bound_is_told() {
    let mut world = World::new(3);
    world.workload("StatefulSet", "w", 2, &["n1"], &json!({})).fixed("n2", 6).fixed("n3", 7);
    fresh(&mut world, &spec(1));
    let mut taken = false;
    drive(&mut world, &spec(1), None, &mut |world, command| {
        if matches!(command, Command::Nominate { .. }) && !taken {
            taken = true;
            world.workload("Job", "thief", 2, &["n2"], &json!({}));
        }
    });
    let message = &world.status().message;
    assert!(message.contains("PodGroup a/thief-") && message.contains(" came to node n2"), "{message}");
    assert!(!message.contains("fixed"), "{message}");
    check_clean(&mut world);
}
