//! The process that executes a run dies around one request of it after the other, or a request or its answer gets lost,
//! on a real control plane: the run ends as it would have, nothing is evicted twice and nothing is left behind.
//!
//! Two replicas under the shipped roles, each behind a proxy of its own, which counts the requests of a run that change
//! something and strikes at one of them; a balancer stands for the Service of their webhooks. A replica that was killed is
//! replaced by a new one at once. The points are a sample: the walk in memory (`src/execute/walk_tests.rs`) takes all of
//! them, and `tests/fixtures/requests` has the requests that both kinds of server are asked for the same run.
//!
//! `WALK_POINTS` says how many points of each fixture; four times its requests, which are printed, are all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may fail where it stands

mod bed;
#[path = "../cluster/mod.rs"]
mod cluster;
mod fixture;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bed::{DEATHS, Death, bed};
use cluster::controller::ACCOUNT;
use cluster::tools;
use fixture::Fixture;

/// Points of each fixture in a run that is not told otherwise.
const POINTS: usize = 24;

/// Requests without those that tell of something, and repeated ones once, also where the record of the first was written
/// before the second: that, and how often a webhook is looked for, depends on time.
fn without_repeats(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds.filter(|kind| kind != "create events") {
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

/// The same fixtures in memory are held to the same texts.
#[test]
fn an_execute_asks_the_same_of_a_real_server_as_of_the_one_in_memory() {
    let Some(mut bed) = bed(1) else { return };
    let cluster = Arc::clone(&bed.cluster);
    for (fixture, file) in [(Fixture::Sets, "sets.txt"), (Fixture::Gang, "gang.txt")] {
        cluster.fill(fixture);
        let mark = cluster.audit_mark();
        bed.carry_out(fixture, None);
        let calls = cluster.audit_since(mark).into_iter().filter(|call| {
            let changes = ["create", "update", "patch", "delete"].contains(&call.verb.as_str());
            let of_election = call.resource == "leases" && call.verb != "patch";
            call.user == ACCOUNT && changes && !of_election && !call.group.contains("authorization")
        });
        let calls: Vec<String> = calls.map(|call| format!("{} {}", call.verb, call.resource)).collect();
        // Replicas note their certificates on the Lease now and then; the last to write there is the run's end.
        let end = calls.iter().rposition(|kind| kind == "patch leases");
        let calls = calls.into_iter().enumerate();
        let calls =
            calls.filter(|(at, kind)| kind != "patch leases" || Some(*at) == end).map(|(_, kind)| kind);
        // The state machine begins where the plan is written.
        let planned = calls.skip_while(|kind| kind != "update repackruns/status");
        let executed = planned.skip_while(|kind| kind != "patch repackruns");
        let found = without_repeats(executed);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requests").join(file);
        assert_eq!(found, std::fs::read_to_string(&path).unwrap(), "{file}");
    }
}

#[test]
fn wherever_the_process_dies_a_run_on_a_real_cluster_ends_and_leaves_nothing() {
    let Some(mut bed) = bed(2) else { return };
    let points = std::env::var("WALK_POINTS").map_or(POINTS, |text| text.parse().unwrap());
    let begun = Instant::now();
    let (mut walked, mut of_each) = (0, [0; DEATHS.len()]);
    for (offset, fixture) in [Fixture::Sets, Fixture::Gang].into_iter().enumerate() {
        bed.cluster.fill(fixture);
        let (requests, _) = bed.carry_out(fixture, None);
        tools::say(&format!("{fixture:?}: {} requests", requests.len()));
        for point in 0..points {
            let at = point * requests.len() / points;
            let way = (point + offset) % DEATHS.len();
            let since = Instant::now();
            let (asked, struck) = bed.carry_out(fixture, Some((at, DEATHS[way])));
            let what = asked.get(at).map_or("not reached", String::as_str);
            let seconds = since.elapsed().as_secs_f64();
            tools::say(&format!("{fixture:?}, request {at}, {what}: {:?}, {seconds:.1} s", DEATHS[way]));
            walked += usize::from(struck);
            of_each[way] += usize::from(struck);
        }
    }
    tools::say(&format!(
        "{walked} points in {:.0} s, {of_each:?} of {DEATHS:?}",
        begun.elapsed().as_secs_f64()
    ));
    // A run takes a request more or less now and then, and its last ones may not come.
    assert!(6 * walked >= 5 * 2 * points, "{walked} points of {}", 2 * points);
    assert!(of_each.iter().all(|&of_one| 6 * of_one >= walked), "{of_each:?}");
}

/// Nobody gates what comes back before the next process is there: it may land on the node that was to be freed.
#[test]
fn where_nobody_answers_for_the_process_that_died_a_run_ends_with_what_it_reached() {
    let Some(mut bed) = bed(1) else { return };
    bed.cluster.fill(Fixture::Sets);
    let (requests, _) = bed.carry_out(Fixture::Sets, None);
    let evictions = (0..requests.len()).filter(|&at| requests[at] == "create pods/eviction");
    let evictions: Vec<usize> = evictions.collect();
    for (at, death) in evictions.into_iter().zip([Death::DiesAfter, Death::DiesBefore]) {
        let (_, struck) = bed.carry_out(Fixture::Sets, Some((at, death)));
        assert!(struck, "request {at}");
    }
}
