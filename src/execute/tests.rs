//! What holds for an execution, on a cluster in memory. What goes wrong around it is in `faults`.

mod faults;

use jiff::SignedDuration;
use serde_json::json;

use super::command::Refusal;
use super::testing::{CARDS, World, check_clean, drive, fresh};
use crate::api::{EvictionPhase, Execution as Asked, PlacementPhase, Reason, RepackRunSpec};
use crate::execute::Command;

pub(super) fn spec() -> RepackRunSpec {
    RepackRunSpec::default()
}

fn reason(world: &World) -> Reason {
    world.status().conditions.last().unwrap().reason
}

/// The guide's cluster: a node with two pods of one card, two nodes with seven of eight.
pub(super) fn guide(kind: &str) -> World {
    let mut world = World::new(3);
    world.workload(kind, "w", 1, &["n1", "n1"], &json!({})).fixed("n2", 7).fixed("n3", 7);
    world
}

/// Two nodes to empty: a Deployment's pods, a StatefulSet and a Job of Volcano that restarts as a whole.
pub(super) fn mixed() -> World {
    let mut world = World::new(6);
    world
        .workload("ReplicaSet", "web", 1, &["n1", "n1", "n4"], &json!({}))
        .workload("StatefulSet", "db", 2, &["n2"], &json!({}))
        .workload(
            "Job",
            "gang",
            1,
            &["n2", "n5"],
            &json!({"policies": [{"event": "PodEvicted", "action": "RestartJob"}]}),
        )
        .fixed("n3", 6)
        .fixed("n4", 4)
        .fixed("n5", 6)
        .fixed("n6", 8);
    world
}

fn run(world: &mut World) {
    fresh(world, &spec());
    drive(world, &spec(), None, &mut |_, _| {});
}

#[test]
fn the_plan_is_carried_out_and_the_result_equals_it() {
    for kind in ["ReplicaSet", "StatefulSet", "Job"] {
        let mut world = guide(kind);
        run(&mut world);
        let status = world.status().clone();
        assert_eq!(reason(&world), Reason::ExecutionCompleted, "{kind}: {}", status.message);
        assert_eq!(
            status.message,
            "Repack succeeded for x.io/npu: all 2 replacement Pods were scheduled and all 1 planned node was verified \
             free [n1]; cluster fragmentation changed from 33% to 0%."
        );
        let result = status.result.unwrap();
        assert!(result.metrics_verified);
        assert_eq!((result.freed_nodes, result.moved_card_count), (vec!["n1".to_owned()], 2));
        for relocation in status.relocations.unwrap() {
            assert_eq!(relocation.eviction.phase, EvictionPhase::Accepted);
            assert_eq!(relocation.placement.phase, PlacementPhase::Placed);
            assert_eq!(relocation.placement.actual_node_name, Some(relocation.planned_node_name));
        }
        assert!(world.anchor.is_some(), "the cooldown counts from the end");
        check_clean(&mut world);
    }
}

#[test]
fn cascades_come_back_as_planned_although_their_group_is_made_anew() {
    let mut world = mixed();
    run(&mut world);
    assert_eq!(reason(&world), Reason::ExecutionCompleted, "{}", world.status().message);
    let relocations = world.status().relocations.clone().unwrap();
    assert!(relocations.iter().any(|r| r.eviction.phase == EvictionPhase::IndirectlyRemoved));
    check_clean(&mut world);
}

#[test]
fn a_node_that_cannot_be_emptied_any_more_is_given_up_before_its_first_pod() {
    let mut world = guide("StatefulSet");
    fresh(&mut world, &spec());
    let mut taken = false;
    drive(&mut world, &spec(), None, &mut |world, _| {
        if !taken {
            taken = true;
            world.workload("StatefulSet", "late", 3, &["n1"], &json!({}));
        }
    });
    assert_eq!(reason(&world), Reason::EvictionFailed, "{}", world.status().message);
    assert!(
        world.status().message.contains("node n1 was given up: pod a/late-0 holds"),
        "{}",
        world.status().message
    );
    assert!(world.evictions.is_empty());
    check_clean(&mut world);
}

#[test]
fn a_cancelled_run_leaves_what_it_did_and_nothing_else() {
    let mut world = guide("StatefulSet");
    fresh(&mut world, &spec());
    drive(&mut world, &spec(), None, &mut |world, command| {
        if matches!(command, Command::Nominate { .. }) {
            world.run.as_mut().unwrap().cancelled = true;
        }
    });
    assert_eq!(reason(&world), Reason::ExecutionCancelled, "{}", world.status().message);
    assert_eq!(world.evictions.len(), 1);
    check_clean(&mut world);
}

#[test]
fn a_replacement_that_finds_no_room_is_let_go_after_its_window() {
    let mut asked = spec();
    asked.execution = Some(Asked { timeout_seconds: Some(310), ..Asked::default() });
    let mut world = guide("StatefulSet");
    fresh(&mut world, &asked);
    let mut taken = false;
    drive(&mut world, &asked, None, &mut |world, command| {
        if matches!(command, Command::Nominate { .. }) && !taken {
            taken = true;
            world.workload("StatefulSet", "thief", 1, &["n2"], &json!({})).workload(
                "StatefulSet",
                "thief2",
                1,
                &["n3"],
                &json!({}),
            );
        }
    });
    // The first pod's window is the whole time of a plan of one node.
    assert_eq!(reason(&world), Reason::ExecutionTimedOut, "{}", world.status().message);
    assert!(
        world.status().message.contains("the replacement of a/w-0 was not bound"),
        "{}",
        world.status().message
    );
    check_clean(&mut world);
    let waiting =
        world.store.pods.values().filter(|pod| pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty));
    assert_eq!(waiting.count(), 0, "the scheduler has bound it where it likes");
}

#[test]
fn the_job_that_takes_a_freed_node_at_once_does_not_spoil_the_result() {
    let mut world = guide("StatefulSet");
    fresh(&mut world, &spec());
    let mut taken = false;
    drive(&mut world, &spec(), None, &mut |world, command| {
        if matches!(command, Command::ListPods) && !taken {
            taken = true;
            world.workload("Job", "big", 8, &["n1"], &json!({}));
        }
    });
    assert_eq!(reason(&world), Reason::ExecutionCompleted, "{}", world.status().message);
    let result = world.status().result.clone().unwrap();
    assert_eq!((result.freed_node_count, result.taken_nodes.len()), (1, 1));
    assert!(result.taken_nodes[0].pod_group_name.starts_with("big-"));
    assert_eq!(CARDS, "x.io/npu");
    check_clean(&mut world);
}

/// The cancel comes between an eviction and the record of it.
#[test]
fn a_run_that_is_cancelled_during_an_eviction_says_what_it_evicted_and_leaves_nobody_at_the_gate() {
    for kind in ["ReplicaSet", "StatefulSet", "Job"] {
        for lag in [0, 400] {
            let mut world = guide(kind);
            world.lag = SignedDuration::from_millis(lag);
            fresh(&mut world, &spec());
            let walk = drive(&mut world, &spec(), None, &mut |world, command| {
                if matches!(command, Command::Evict { .. }) {
                    world.run.as_mut().unwrap().cancelled = true;
                }
            });
            assert_eq!(reason(&world), Reason::ExecutionCancelled, "{}", world.status().message);
            let all = world.status().relocations.clone().unwrap();
            assert_eq!(all[0].eviction.phase, EvictionPhase::Accepted, "{kind}, {lag}");
            assert_eq!(world.status().result.as_ref().unwrap().moved_card_count, 1);
            assert!(world.anchor.is_some(), "the cooldown counts");
            assert_eq!(walk.gated_at_end, 0, "{kind}, {lag}");
            check_clean(&mut world);
        }
    }
}

#[test]
fn a_missing_right_to_evict_is_no_failed_eviction() {
    let mut world = guide("StatefulSet");
    let message = "pods is forbidden: cannot create resource \"pods/eviction\"".to_owned();
    let forbidden = Refusal { code: 403, message, ..Refusal::default() };
    world.refusals.insert("w-0".to_owned(), forbidden.clone());
    world.refusals.insert("w-1".to_owned(), forbidden);
    run(&mut world);
    assert_eq!(reason(&world), Reason::ExecutionPreparationFailed, "{}", world.status().message);
    check_clean(&mut world);
}

/// A scheduler binds an ungated pod where it likes, within milliseconds.
#[test]
fn the_gate_opens_only_for_a_replacement_that_is_nominated() {
    for kind in ["ReplicaSet", "StatefulSet", "Job"] {
        let mut world = guide(kind);
        fresh(&mut world, &spec());
        let mut opened = 0;
        drive(&mut world, &spec(), None, &mut |world, command| {
            if let Command::Ungate(pod) = command {
                let found = &world.store.pods[&(pod.namespace.clone(), pod.name.clone())];
                assert!(found["status"]["nominatedNodeName"].is_string(), "{kind}: {found:#}");
                opened += 1;
            }
        });
        assert_eq!(opened, 2, "{kind}");
        check_clean(&mut world);
    }
}
