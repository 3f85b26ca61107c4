//! What goes wrong around an execution: one test each, named after it, with the reason that the run ends with, who was
//! evicted, where the pods are, and that nothing of the run is left. Time is virtual here; what only a real API server
//! shows is in `tests/execute_faults.rs`.
//!
//! | fault | test | reason |
//! |---|---|---|
//! | 409 | `server::answer_409` | completed |
//! | 429 with and without Retry-After | `server::answer_429_with_retry_after`, `…_without_…` | completed |
//! | 500 | `server::answer_500` | completed |
//! | 504 | `server::answer_504` | completed |
//! | timeouts | `server::timeout_before_and_after_the_server_acted` | completed |
//! | watch drops | `server::watch_that_drops_for_a_minute` | completed |
//! | stale cache | `server::stale_cache` | completed |
//! | clock jumps | `server::clock_that_jumps_ahead`, `…_back` | timed out, completed |
//! | webhook down | `server::webhook_down_before_the_run`, `…_in_the_middle`, `…_for_a_while` | preparation failed, benefit not realized |
//! | the process killed, and the webhook with it | `server::process_killed_that_serves_the_webhook` | benefit not realized |
//! | node deleted, cordoned | `cluster::node_deleted_…`, `cluster::node_cordoned_…` | eviction failed, completed, alternative |
//! | receiver taken | `cluster::planned_receiver_taken_by_another_pod` | alternative |
//! | replacement deleted while gated | `cluster::replacement_deleted_while_gated` | completed |
//! | replacement without a node | `cluster::replacement_that_no_node_takes` | placement timed out |
//! | `PodGroup` under a new name | `cluster::pod_group_re_created_under_a_new_name` | completed |
//! | scale-out | `cluster::scale_out_during_the_run` | completed |
//! | budget that blocks | `owners::budget_that_blocks_for_ever`, `…_for_a_while`, `…_for_part` | eviction failed, completed, benefit not realized |
//! | victim gone | `owners::victim_gone_before_its_eviction` | completed |
//! | victim replaced | `owners::victim_replaced_under_the_same_name` | completed |
//! | owner deleted, scaled to zero | `owners::owner_deleted`, `owners::owner_scaled_to_zero` | completed |
//! | run deleted | `owners::run_deleted_mid_way` | interrupted |

mod cluster;
mod owners;
mod server;

use serde_json::json;

use super::{guide, spec};
use crate::api::{Reason, Relocation};
use crate::execute::Command;
use crate::execute::command::Refusal;
use crate::execute::testing::{World, check_clean, drive, fresh};

/// The server refuses with this code.
fn refused(code: u16) -> Refusal {
    Refusal { code, message: format!("the server says {code}"), ..Refusal::default() }
}

/// Plans and carries out; `meanwhile` is called before each request.
fn run(world: &mut World, meanwhile: &mut dyn FnMut(&mut World, &Command)) {
    fresh(world, &spec());
    let walk = drive(world, &spec(), None, meanwhile);
    assert_eq!((walk.gated_at_end, walk.leased_at_end), (0, 0), "left to whoever looks for strays");
}

/// The same; what happens, happens once, before the first request of which `when` holds.
fn once(world: &mut World, when: impl Fn(&World, &Command) -> bool, happens: impl Fn(&mut World)) {
    let mut done = false;
    run(world, &mut |world, command| {
        if !done && when(world, command) {
            done = true;
            happens(world);
        }
    });
    assert!(done, "it never came to that");
}

fn relocations(world: &World) -> Vec<Relocation> {
    world.status().relocations.clone().unwrap()
}

/// How it ended: the reason; the victims that were evicted, each once; where the pods of each owner stand; and nothing is
/// left of the run.
#[track_caller]
fn ends(world: &mut World, reason: Reason, evicted: &[&str], standing: &[&str]) {
    let status = world.status().clone();
    let last = status.conditions.last().map(|condition| condition.reason);
    assert_eq!(last, Some(reason), "{}", status.message);
    let name = |uid: &String| {
        let of = status.relocations.iter().flatten().find(|r| r.victim_pod_uid == *uid);
        of.expect("only victims are evicted").victim_pod_name.clone()
    };
    let mut names: Vec<String> = world.evictions.keys().map(name).collect();
    names.sort_unstable();
    assert_eq!(names, evicted, "{}", status.message);
    assert_eq!(world.standing(), standing, "{}", status.message);
    check_clean(world);
}

/// Two nodes with a pod each, and room for one on each of two others.
fn two_nodes() -> World {
    let mut world = World::new(4);
    world
        .workload("StatefulSet", "w", 1, &["n1"], &json!({}))
        .workload("StatefulSet", "x", 1, &["n2"], &json!({}))
        .fixed("n3", 7)
        .fixed("n4", 7);
    world
}

/// A node with a pod of two cards, and two that take it, the second with more left.
fn two_receivers() -> World {
    let mut world = World::new(4);
    world.workload("StatefulSet", "w", 2, &["n1"], &json!({})).fixed("n2", 6).fixed("n3", 5).fixed("n4", 8);
    world
}
