//! What people and controllers do meanwhile: budgets, victims that go by themselves, owners and runs that are deleted.

use serde_json::json;

use super::{ends, guide, once, relocations, run, two_nodes};
use crate::api::{EvictionPhase, PlacementPhase, Reason};
use crate::execute::Command;
use crate::execute::command::Refusal;
use crate::execute::testing::World;

fn blocked() -> Refusal {
    let message = "it would violate the budget".to_owned();
    Refusal { code: 429, budget: true, message, ..Refusal::default() }
}

fn evicted(world: &World, _: &Command) -> bool {
    !world.evictions.is_empty()
}

fn probes(_: &World, command: &Command) -> bool {
    matches!(command, Command::Probe { .. })
}

fn scale(world: &mut World, replicas: u32) {
    let key = ("a".to_owned(), "w".to_owned());
    world.change(|store| store.owners.get_mut(&key).unwrap()["spec"]["replicas"] = json!(replicas));
}

/// It is tried until the time is over. That no eviction was accepted is the reason, in the server's words.
#[test]
fn budget_that_blocks_for_ever() {
    let mut world = guide("StatefulSet");
    world.refusals = [("w-0".to_owned(), blocked()), ("w-1".to_owned(), blocked())].into();
    run(&mut world, &mut |_, _| {});
    assert!(world.status().message.contains("it would violate the budget"), "{}", world.status().message);
    for relocation in relocations(&world) {
        assert_eq!(relocation.eviction.phase, EvictionPhase::Rejected);
        assert_eq!(relocation.eviction.message, "it would violate the budget");
    }
    ends(&mut world, Reason::EvictionFailed, &[], &["w n1 n1"]);
}

#[test]
fn budget_that_blocks_for_a_while() {
    let mut world = guide("StatefulSet");
    world.refusals.insert("w-0".to_owned(), blocked());
    run(&mut world, &mut |world, _| {
        if world.now > "2026-07-30T10:05:00Z".parse().unwrap() {
            world.refusals.clear();
        }
    });
    ends(&mut world, Reason::ExecutionCompleted, &["w-0", "w-1"], &["w n2 n3"]);
}

/// Others of its node go on meanwhile, and other nodes after it; what is missing is named.
#[test]
fn budget_that_blocks_for_part() {
    let mut world = guide("StatefulSet");
    world.refusals.insert("w-0".to_owned(), blocked());
    run(&mut world, &mut |_, _| {});
    let message = world.status().message.clone();
    assert!(message.contains("pod a/w-0 was not evicted (it would violate the budget)"), "{message}");
    let phases: Vec<_> = relocations(&world).iter().map(|r| r.eviction.phase).collect();
    assert_eq!(phases, [EvictionPhase::Rejected, EvictionPhase::Accepted]);
    ends(&mut world, Reason::BenefitNotRealized, &["w-1"], &["w n1 n3"]);

    let mut world = two_nodes();
    world.refusals.insert("w-0".to_owned(), blocked());
    run(&mut world, &mut |_, _| {});
    assert_eq!(world.status().result.as_ref().unwrap().freed_nodes, ["n2"]);
    ends(&mut world, Reason::BenefitNotRealized, &["x-0"], &["w n1", "x n4"]);
}

/// Its owner wants one pod less and takes it away by itself.
#[test]
fn victim_gone_before_its_eviction() {
    let mut world = guide("StatefulSet");
    once(&mut world, probes, |world| {
        scale(world, 1);
        world.terminate("a", "w-1");
    });
    let all = relocations(&world);
    assert_ne!(all[1].eviction.phase, EvictionPhase::Accepted, "{all:#?}");
    assert_eq!(all[1].placement.phase, PlacementPhase::NotNeeded);
    assert_eq!(world.status().result.as_ref().unwrap().moved_card_count, 1);
    ends(&mut world, Reason::ExecutionCompleted, &["w-0"], &["w n2"]);
}

/// The new one has another UID and is not evicted: it came by the gate, and goes where there is room.
#[test]
fn victim_replaced_under_the_same_name() {
    let mut world = guide("StatefulSet");
    once(&mut world, probes, |world| world.terminate("a", "w-0"));
    let all = relocations(&world);
    assert_eq!(all[0].eviction.phase, EvictionPhase::Rejected, "{}", world.status().message);
    ends(&mut world, Reason::ExecutionCompleted, &["w-1"], &["w n2 n3"]);
}

#[test]
fn owner_deleted() {
    for kind in ["ReplicaSet", "StatefulSet", "Job"] {
        let mut world = guide(kind);
        let begun = world.now;
        once(&mut world, evicted, |world| world.delete_owner("w"));
        let all = relocations(&world);
        assert!(all.iter().all(|r| r.placement.phase == PlacementPhase::NotNeeded), "{kind}: {all:#?}");
        assert_eq!(all[1].eviction.phase, EvictionPhase::IndirectlyRemoved, "{kind}");
        // Known at once, and not when the window is over.
        let ended = world.status().completion_time.as_ref().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert!(ended.duration_since(begun).as_secs() < 60, "{kind}: {ended}");
        ends(&mut world, Reason::ExecutionCompleted, &[&all[0].victim_pod_name], &[]);
    }
}

#[test]
fn owner_scaled_to_zero() {
    for kind in ["ReplicaSet", "StatefulSet"] {
        let mut world = guide(kind);
        once(&mut world, evicted, |world| {
            scale(world, 0);
            let pods: Vec<String> = world.store.pods.keys().map(|(_, name)| name.clone()).collect();
            for pod in pods.iter().filter(|name| name.starts_with("w-")) {
                world.terminate("a", pod);
            }
        });
        let all = relocations(&world);
        assert!(all.iter().all(|r| r.placement.phase == PlacementPhase::NotNeeded), "{kind}: {all:#?}");
        ends(&mut world, Reason::ExecutionCompleted, &[&all[0].victim_pod_name], &[]);
    }
}

/// It goes when everything is tidied up.
#[test]
fn run_deleted_mid_way() {
    let mut world = guide("StatefulSet");
    let nominates = |_: &World, command: &Command| matches!(command, Command::Nominate { .. });
    once(&mut world, nominates, |world| world.run.as_mut().unwrap().deleting = true);
    assert!(world.run.is_none(), "the finalizer holds it no longer");
    assert_eq!(world.status().result.as_ref().unwrap().moved_card_count, 1);
    ends(&mut world, Reason::ExecutionInterrupted, &["w-0"], &["w n1 n1"]);
}
