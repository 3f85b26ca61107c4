//! What holds for every plan of every cluster: many seeded clusters, several requests each.

// In a test a panic is the answer, and what it prints is for whoever runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::format_push_string)]

mod support;

use kubectl_repack::api::Algorithm;
use kubectl_repack::plan::types::Plan;
use kubectl_repack::plan::{Planned, Request, make};
use kubectl_repack::snapshot::Snapshot;
use kubectl_repack::verify::check_plan;
use support::apply::apply;
use support::brute;
use support::generator::{self, CARD, Knobs};
use support::rng::Rng;
use support::variants;

/// Clusters per property.
const SEEDS: u64 = 100;

/// A request that holds nothing back by its flag, on the generator's schedulers.
fn open() -> Request {
    let mut request = Request::for_resource(CARD);
    request.movability.schedulers =
        ["volcano", "default-scheduler", "my-scheduler"].map(str::to_owned).to_vec();
    request.movability.allow_ungrouped = true;
    request
}

/// Requests of every kind for a cluster, by name.
fn requests() -> Vec<(&'static str, Request)> {
    let mut tight = open();
    tight.budget.pod_groups = Some(2);
    tight.budget.resources.insert(CARD.to_owned(), 8);
    let mut few_cards = open();
    few_cards.budget.resources.insert("example.com/rdma".to_owned(), 1);
    let mut risky = open();
    risky.movability.allow_host_path = true;
    risky.movability.allow_managed_elsewhere = true;
    risky.movability.allow_custom_owners = true;
    risky.movability.allow_may_terminate = true;
    let mut two = open();
    two.max_freed_nodes = Some(2);
    vec![
        ("default", Request::for_resource(CARD)),
        ("open", open()),
        ("tight", tight),
        ("second resource", few_cards),
        ("risky", risky),
        ("two nodes", two),
    ]
}

fn planned(snapshot: &Snapshot, request: &Request) -> Plan {
    make(snapshot, request).unwrap().plan
}

fn lines(snapshot: &Snapshot, request: &Request, plan: &Plan) -> Vec<String> {
    check_plan(snapshot, request, plan).iter().map(|finding| finding.line(snapshot)).collect()
}

/// A plan in names, which do not depend on the numbers of one model.
fn told(snapshot: &Snapshot, plan: &Plan) -> Vec<String> {
    let freed = plan.freed.iter().map(|&node| format!("free {}", snapshot.node_name(node)));
    let moves = plan.moves.iter().map(|m| {
        let (from, to) = (snapshot.node_name(m.from), snapshot.node_name(m.to));
        format!("{} {from} {to} {} {}", snapshot.pod_key(m.pod), m.cascade, m.gated)
    });
    let rooms = plan.reserved.iter().map(|room| {
        let (pod, node) = (snapshot.pod_key(room.pod), snapshot.node_name(room.node));
        format!("room of {pod} on {node} {}", room.replaces)
    });
    let cost = format!("cost {:?} waves {:?}", plan.disruption.array(), plan.waves);
    freed.chain(moves).chain(rooms).chain([cost]).collect()
}

#[test]
fn every_plan_passes_the_verifier() {
    let mut freed = 0;
    let mut faults = Vec::new();
    let waiting = |knobs: Knobs| Knobs { waiting: 25, terminating: 10, ..knobs };
    let all = [
        Knobs::tiny(6),
        Knobs::mixed(12),
        Knobs::mixed(30),
        Knobs::plain(16),
        waiting(Knobs::mixed(12)),
        waiting(Knobs::plain(16)),
    ];
    let mut rooms = 0;
    for knobs in all {
        for seed in 0..SEEDS {
            let snapshot = generator::snapshot(seed, &knobs);
            for (name, request) in requests() {
                let plan = planned(&snapshot, &request);
                freed += plan.freed.len();
                rooms += if plan.is_empty() { 0 } else { plan.reserved.len() };
                for line in lines(&snapshot, &request, &plan) {
                    faults.push(format!("seed {seed}, {} nodes, {name}: {line}", knobs.nodes));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults, {:#?}", faults.len(), &faults[..faults.len().min(40)]);
    assert!(rooms > 1_000, "too few pods come: {rooms} rooms");
    assert!(freed > 1_000, "the clusters are too hard to say anything: {freed} nodes freed");
}

#[test]
fn a_gang_that_just_does_not_fit_keeps_its_room_on_receivers() {
    let (mut beside, mut less) = (0, 0);
    for seed in 0..SEEDS {
        for cards in 1..=3 {
            let mut objects = generator::objects(seed, &Knobs::plain(12));
            let alone = generator::model(&objects);
            objects.extend(variants::gang_that_just_does_not_fit(&alone, cards));
            let snapshot = generator::model(&objects);
            let Planned { plan, report } = make(&snapshot, &open()).unwrap();
            assert_eq!(lines(&snapshot, &open(), &plan), [""; 0], "seed {seed}, {cards} cards");
            beside += report.takers.iter().filter(|taker| !taker.receivers.is_empty()).count();
            less += usize::from(plan.freed.len() < planned(&alone, &open()).freed.len());
        }
    }
    assert!(beside >= 10 && less >= 10, "takers beside a plan {beside}, smaller plans {less}");
}

#[test]
fn budgets_hold() {
    for seed in 0..SEEDS {
        let snapshot = generator::snapshot(seed, &Knobs::mixed(20));
        let card = snapshot.resource_named(CARD).unwrap();
        for (groups, cards) in [(0, 100), (1, 100), (2, 8), (3, 3), (100, 0), (100, 12)] {
            let mut request = open();
            request.budget.pod_groups = Some(groups);
            request.budget.resources.insert(CARD.to_owned(), cards);
            let plan = planned(&snapshot, &request);
            let moved: std::collections::BTreeSet<_> =
                plan.moves.iter().map(|m| snapshot.pod(m.pod).group).collect();
            let sum: i64 = plan.moves.iter().map(|m| snapshot.charged(m.pod, card)).sum();
            assert!(moved.len() as u64 <= groups, "seed {seed}");
            assert!(sum.unsigned_abs() <= cards, "seed {seed}");
        }
    }
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    for seed in 0..SEEDS {
        let mut objects = generator::objects(seed, &Knobs { waiting: 25, ..Knobs::mixed(16) });
        let first = generator::model(&objects);
        Rng::new(seed, "order").shuffle(&mut objects);
        let second = generator::model(&objects);
        for (name, request) in requests() {
            let plans = [&first, &second].map(|snapshot| told(snapshot, &planned(snapshot, &request)));
            assert_eq!(plans[0], plans[1], "seed {seed}, {name}");
        }
    }
}

/// An idle node with the labels of an occupied one: pods without spread or affinity rules do not notice.
#[test]
fn an_idle_twin_of_an_occupied_node_changes_no_plan_without_rules_on_domains() {
    let knobs = Knobs { spread: 0, affinity: 0, anti_affinity: 0, ..Knobs::mixed(14) };
    for seed in 0..SEEDS {
        let mut objects = generator::objects(seed, &knobs);
        let before = generator::model(&objects);
        let twin = {
            let nodes: Vec<_> = objects.iter().filter(|o| o["kind"] == "Node").collect();
            let mut twin = Rng::new(seed, "twin").pick(&nodes).to_owned().clone();
            // A name that changes the place of the others among the nodes.
            twin["metadata"]["name"] = "a-twin".into();
            twin["metadata"]["uid"] = "twin".into();
            twin
        };
        objects.push(twin);
        let after = generator::model(&objects);
        let plans = [&before, &after].map(|snapshot| told(snapshot, &planned(snapshot, &open())));
        assert_eq!(plans[0], plans[1], "seed {seed}");
    }
}

#[test]
fn planning_again_and_again_ends_soon_and_never_occupies_more_nodes() {
    for seed in 0..SEEDS {
        let mut objects = generator::objects(seed, &Knobs::mixed(16));
        let mut runs = 0;
        loop {
            let snapshot = generator::model(&objects);
            let plan = planned(&snapshot, &open());
            if plan.is_empty() {
                break;
            }
            runs += 1;
            assert!(runs <= 5, "seed {seed} still finds something to move after five runs");
            let before = occupied(&snapshot);
            objects = apply(&snapshot, objects, &plan);
            let after = occupied(&generator::model(&objects));
            assert!(after < before, "seed {seed}: {before} nodes were occupied, now {after}");
        }
    }
}

fn occupied(snapshot: &Snapshot) -> usize {
    let card = snapshot.resource_named(CARD).unwrap();
    let holds = |pods: &&Vec<_>| pods.iter().any(|&pod| snapshot.charged(pod, card) > 0);
    snapshot.pods_on.iter().filter(holds).count()
}

/// Exhaustive search knows no cascades and keeps no room for replacements of terminating pods, so the clusters have
/// neither.
#[test]
fn drain_is_never_better_than_exhaustive_search_and_sometimes_worse() {
    let knobs = Knobs { policies: 0, terminating: 0, ..Knobs::tiny(6) };
    let (mut worse, mut equal) = (0, 0);
    for seed in 0..SEEDS {
        let snapshot = generator::snapshot(seed, &knobs);
        let best = brute::best(&snapshot, &open());
        let most = best.plan.map_or(0, |plan| plan.freed.len());
        let drained = planned(&snapshot, &open()).freed.len();
        assert!(
            drained <= most || !best.complete,
            "seed {seed}: Drain frees {drained} of {most} possible nodes"
        );
        if drained < most {
            worse += 1;
        } else {
            equal += usize::from(most > 0);
        }
    }
    assert!(worse >= 1 && equal >= 5, "worse {worse}, equal {equal}");
}

#[test]
fn a_limit_on_freed_nodes_frees_as_many_as_it_allows() {
    let (mut short, mut tight) = (Vec::new(), 0);
    for knobs in [Knobs::mixed(12), Knobs::plain(30)] {
        for seed in 0..20 {
            let snapshot = generator::snapshot(seed, &knobs);
            let request = Request { algorithm: Algorithm::Search, ..open() };
            let whole = planned(&snapshot, &request).freed.len();
            for limit in 1..=whole + 1 {
                let limited = Request { max_freed_nodes: u64::try_from(limit).ok(), ..request.clone() };
                let freed = planned(&snapshot, &limited).freed.len();
                tight += usize::from(limit == whole);
                if freed < limit.min(whole) || freed > limit {
                    short.push(format!("seed {seed}, {} nodes: {freed} of {limit}", knobs.nodes));
                }
            }
        }
    }
    assert!(short.is_empty(), "{short:#?}");
    assert!(tight > 20, "too few clusters free anything: {tight}");
}
