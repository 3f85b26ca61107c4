//! Plan, carry out, plan again: after a plan of Search that is proven to free as many nodes as possible there is
//! nothing left to move.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "support/bench.rs"]
mod bench;
mod support;

use kubectl_repack::api::Algorithm;
use kubectl_repack::plan::{Planned, Request, make};
use serde_json::Value;
use support::apply::apply;
use support::generator::{self, CARD, Knobs};

fn open(resource: &str) -> Request {
    let mut request = Request::for_resource(resource);
    request.movability.schedulers =
        ["volcano", "default-scheduler", "my-scheduler"].map(str::to_owned).to_vec();
    request.movability.allow_ungrouped = true;
    request.algorithm = Algorithm::Search;
    request
}

/// What was freed and the bound on it, then what is freed afterwards.
fn twice(objects: Vec<Value>, request: &Request) -> (usize, i64, usize) {
    let snapshot = generator::model(&objects);
    let Planned { plan, report } = make(&snapshot, request).unwrap();
    let freed = plan.freed.len();
    if plan.is_empty() {
        return (0, report.upper_bound, 0);
    }
    let after = generator::model(&apply(&snapshot, objects, &plan));
    let again = make(&after, request).unwrap().plan;
    assert_eq!(again.freed.is_empty(), again.moves.is_empty());
    (freed, report.upper_bound, again.freed.len())
}

/// Without terminating pods, which are gone afterwards and leave room that no plan had.
#[test]
fn after_a_plan_that_is_proven_to_free_the_most_nothing_is_left_to_move() {
    let (mut plans, mut proven) = (0, 0);
    let mut left = Vec::new();
    let without = |knobs: Knobs| Knobs { terminating: 0, ..knobs };
    let all =
        [Knobs::tiny(6), Knobs::tiny(8), Knobs::mixed(10), Knobs::mixed(16), Knobs::plain(20)].map(without);
    for (kind, knobs) in all.into_iter().enumerate() {
        for seed in 0..150 {
            let request = Request { effort: 100_000, ..open(CARD) };
            let (freed, bound, again) = twice(generator::objects(seed, &knobs), &request);
            plans += usize::from(freed > 0);
            if freed > 0 && i64::try_from(freed) == Ok(bound) {
                proven += 1;
                if again > 0 {
                    left.push(format!("kind {kind}, seed {seed}: {freed} freed, {again} more afterwards"));
                }
            }
        }
    }
    println!("{plans} plans, {proven} proven");
    assert!(plans >= 300 && proven * 100 >= plans * 75, "{proven} of {plans} are proven");
    assert!(left.is_empty(), "{} of {proven}: {left:#?}", left.len());
}

#[test]
fn after_the_plan_of_an_instance_of_the_bench_nothing_is_left_to_move() {
    for instance in ["npu-20x8", "openb-100", "odd-150", "philly-1000x8"] {
        let Some(file) = bench::cluster(instance) else { return };
        let list: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let objects = list["items"].as_array().unwrap().clone();
        let resource = resource(&objects);
        let (freed, bound, again) = twice(objects, &open(&resource));
        println!("{instance}: {freed} of at most {bound} freed, {again} afterwards");
        assert!(freed > 0);
        assert!(again == 0 || i64::try_from(freed).unwrap() < bound, "{instance}: {again} more afterwards");
    }
}

/// The extended resource of the nodes.
fn resource(objects: &[Value]) -> String {
    let nodes = objects.iter().filter(|o| o["kind"] == "Node");
    let amounts =
        nodes.filter_map(|node| node["status"]["allocatable"].as_object()).flat_map(|all| all.keys());
    amounts.into_iter().find(|name| name.contains('/')).unwrap().clone()
}
