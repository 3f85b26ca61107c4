//! The crash walk: the process dies, or a request or an answer gets lost, at every request of an execution in memory.
//! `tests/crash_walk` does the same at some of them on a real control plane; both are held to the same requests.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::testing::{Fault, World, check_clean, drive, fresh};
use super::tests::{guide, mixed, spec};

/// The process dies before and after every request, or the answer or the request gets lost: the run ends well, and
/// nothing is left of it.
#[test]
fn wherever_the_process_dies_the_run_ends_and_leaves_nothing() {
    let since = std::time::Instant::now();
    let mut points = 0;
    for make in [|| guide("ReplicaSet"), || guide("StatefulSet"), || guide("Job"), mixed] {
        let mut whole = make();
        fresh(&mut whole, &spec());
        let requests = drive(&mut whole, &spec(), None, &mut |_, _| {}).requests;
        for at in 0..requests {
            for fault in [Fault::DiesBefore, Fault::DiesAfter, Fault::AnswerLost, Fault::RequestLost] {
                let mut world = make();
                fresh(&mut world, &spec());
                drive(&mut world, &spec(), Some((at, fault)), &mut |_, _| {});
                let place = format!("request {at} of {requests}, {fault:?}: {}", world.status().message);
                assert_eq!(world.status().phase, crate::api::Phase::Succeeded, "{place}");
                assert_eq!(
                    world.status().result.as_ref().unwrap().freed_nodes,
                    whole.status().result.as_ref().unwrap().freed_nodes,
                    "{place}"
                );
                check_clean(&mut world);
                points += 1;
            }
        }
    }
    // Past the harness, which shows nothing of a test that passes.
    let _ = writeln!(std::io::stderr(), "{points} points in {:.1} s", since.elapsed().as_secs_f64());
    assert!(points >= 400, "{points}");
}

/// As the audit log of an API server has them. Repeated ones once, also where the record of the first was written before
/// the second: that, and how often a webhook is looked for, depends on time.
fn changes(world: &World) -> String {
    let mut all: Vec<String> = Vec::new();
    for what in &world.requests {
        let kind = match what.as_str() {
            "set the namespaces of the webhook" => "patch mutatingwebhookconfigurations".to_owned(),
            what => what.split(' ').take(2).collect::<Vec<_>>().join(" "),
        };
        let asks_for_rights = what.contains(" in namespace ") && !what.contains("(dry run)");
        if kind.starts_with("get ") || kind.starts_with("list ") || asks_for_rights {
            continue;
        }
        if let [.., before, between] = all.as_slice()
            && between == "update repackruns/status"
            && *before == kind
        {
            all.pop();
        }
        all.push(kind);
        all.dedup();
    }
    all.join("\n") + "\n"
}

#[test]
fn an_execute_asks_the_server_in_memory_the_same_as_a_real_one() {
    let mut sets = World::new(3);
    sets.workload("ReplicaSet", "web", 1, &["n1"], &json!({}))
        .workload("StatefulSet", "db", 1, &["n1"], &json!({}))
        .fixed("n2", 6)
        .fixed("n3", 6);
    let restarts = json!({"policies": [{"event": "PodEvicted", "action": "RestartJob"}]});
    let mut gang = World::new(3);
    gang.workload("Job", "gang", 1, &["n1", "n1"], &restarts).fixed("n2", 6).fixed("n3", 6);
    for (file, mut world) in [("sets.txt", sets), ("gang.txt", gang)] {
        fresh(&mut world, &spec());
        drive(&mut world, &spec(), None, &mut |_, _| {});
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requests").join(file);
        assert_eq!(changes(&world), std::fs::read_to_string(path).unwrap(), "{file}");
    }
}

#[test]
fn an_eviction_is_written_together_with_the_replacement_that_comes_at_once_and_alone_where_none_does() {
    for (kind, ends_after, expected) in [("ReplicaSet", 1, 3), ("StatefulSet", 0, 3), ("StatefulSet", 30, 4)]
    {
        let mut world = guide(kind);
        world.ends_after = ends_after;
        fresh(&mut world, &spec());
        drive(&mut world, &spec(), None, &mut |_, _| {});
        let writes = world.requests.iter().filter(|what| *what == "update repackruns/status").count();
        // The first begins, the last ends; a placement is written with the next eviction.
        assert_eq!(writes, 2 * expected + 2, "{kind}, {ends_after}: {:#?}", world.requests);
        check_clean(&mut world);
    }
}
