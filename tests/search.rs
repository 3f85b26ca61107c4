//! What holds for Search: never worse than Drain, as good as exhaustive search where that is possible, bounds that no
//! plan exceeds.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use std::collections::BTreeMap;

use kubectl_repack::api::Algorithm;
use kubectl_repack::engine::{Certificate, certificate};
use kubectl_repack::plan::{Plan, Planned, Request, make};
use kubectl_repack::snapshot::Snapshot;
use kubectl_repack::verify::check_plan;
use support::brute;
use support::generator::{self, CARD, Knobs};
use support::rng::Rng;

fn open(algorithm: Algorithm) -> Request {
    let mut request = Request::for_resource(CARD);
    request.movability.schedulers =
        ["volcano", "default-scheduler", "my-scheduler"].map(str::to_owned).to_vec();
    request.movability.allow_ungrouped = true;
    request.algorithm = algorithm;
    request.effort = 100_000;
    request
}

fn planned(snapshot: &Snapshot, request: &Request) -> Planned {
    make(snapshot, request).unwrap()
}

/// More freed nodes, then less disruption.
fn rank(plan: &Plan, request: &Request) -> (usize, std::cmp::Reverse<i64>) {
    (plan.freed.len(), std::cmp::Reverse(plan.disruption.cost(request.weights.array())))
}

fn faults(snapshot: &Snapshot, request: &Request, plan: &Plan) -> Vec<String> {
    check_plan(snapshot, request, plan).iter().map(|finding| finding.line(snapshot)).collect()
}

fn names(snapshot: &Snapshot, plan: &Plan) -> Vec<String> {
    let freed = plan.freed.iter().map(|&node| snapshot.node_name(node).to_owned());
    let moves =
        plan.moves.iter().map(|m| format!("{} {}", snapshot.pod_key(m.pod), snapshot.node_name(m.to)));
    freed.chain(moves).collect()
}

/// Budgets of every kind.
fn budgets() -> Vec<(Option<u64>, Option<u64>)> {
    vec![(None, None), (Some(2), Some(8)), (Some(5), None), (None, Some(12))]
}

fn with_budget(algorithm: Algorithm, (groups, cards): (Option<u64>, Option<u64>)) -> Request {
    let mut request = open(algorithm);
    request.budget.pod_groups = groups;
    request.budget.resources = cards.map(|cards| (CARD.to_owned(), cards)).into_iter().collect();
    request
}

#[test]
fn search_is_valid_never_worse_than_drain_and_within_its_bound() {
    let (mut better, mut plans) = (0, 0);
    for knobs in [Knobs::tiny(6), Knobs::mixed(14), Knobs::mixed(40), Knobs::plain(30)] {
        for seed in 0..16 {
            let snapshot = generator::snapshot(seed, &knobs);
            for budget in budgets() {
                let drain = with_budget(Algorithm::Drain, budget);
                let search = with_budget(Algorithm::Search, budget);
                let drained = planned(&snapshot, &drain);
                let found = planned(&snapshot, &search);
                let place = format!("seed {seed}, {} nodes, {budget:?}", knobs.nodes);
                assert_eq!(faults(&snapshot, &search, &found.plan), Vec::<String>::new(), "{place}");
                let ranks = (rank(&found.plan, &search), rank(&drained.plan, &drain));
                assert!(ranks.0 >= ranks.1, "{place}: {ranks:?}");
                let freed = i64::try_from(found.plan.freed.len()).unwrap();
                assert!(freed <= found.report.upper_bound, "{place}: {freed} nodes freed");
                better += usize::from(ranks.0 > ranks.1);
                plans += usize::from(freed > 0);
            }
        }
    }
    assert!(plans >= 150 && better >= 25, "{better} of {plans} plans are better than Drain's");
}

/// Two thousand tiny clusters with every rule. Exhaustive search knows no cascades, so where there are some it is only
/// what Search has to reach at least.
#[test]
fn search_frees_as_much_as_exhaustive_search_for_as_little() {
    let (mut compared, mut equal) = (0, 0);
    let mut misses = Vec::new();
    for (nodes, policies) in [(4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (5, 25), (7, 25)] {
        let knobs = Knobs { policies, ..Knobs::tiny(nodes) };
        for seed in 0..TINY {
            let snapshot = generator::snapshot(seed, &knobs);
            for budget in [(None, None), (Some(2), Some(6)), (Some(3), None)] {
                let request = with_budget(Algorithm::Search, budget);
                let found = planned(&snapshot, &request);
                let before = found.report.before;
                if before.occupied <= before.optimum {
                    // Nothing is fragmented then by definition, although a terminating pod may leave room behind.
                    continue;
                }
                let Some(best) = brute::best(&snapshot, &request).plan else { continue };
                let place = format!("seed {seed}, {nodes} nodes, {budget:?}");
                let bound = usize::try_from(found.report.upper_bound).unwrap();
                assert!(best.freed.len() <= bound, "{place}: the bound {bound} is wrong");
                let cost = best.disruption.cost(request.weights.array());
                let same = best.freed.len() == found.plan.freed.len();
                assert!(!same || found.report.least_cost <= cost, "{place}: the least cost is wrong");
                compared += 1;
                let ranks = (rank(&found.plan, &request), rank(&best, &request));
                if ranks.0 >= ranks.1 {
                    equal += 1;
                } else {
                    misses.push(format!("{place}: {ranks:?}"));
                }
            }
        }
    }
    println!("{equal} of {compared} equal");
    assert!(compared >= 2_000, "only {compared} clusters have a plan");
    assert!(equal * 100 >= compared * 99, "{equal} of {compared}: {misses:#?}");
}

/// Seeds per size of tiny clusters.
const TINY: u64 = 250;

/// On clusters without spread, where more freedom never hurts.
#[test]
fn more_budget_and_fewer_rules_never_free_fewer_nodes() {
    let rules = Knobs { spread: 0, affinity: 0, terminating: 0, ..Knobs::tiny(6) };
    for seed in 0..120 {
        let objects = generator::objects(seed, &rules);
        let snapshot = generator::model(&objects);
        let freed = |snapshot: &Snapshot, budget| {
            planned(snapshot, &with_budget(Algorithm::Search, budget)).plan.freed.len()
        };
        let tight = freed(&snapshot, (Some(1), Some(3)));
        let wide = freed(&snapshot, (Some(3), Some(9)));
        let open = freed(&snapshot, (None, None));
        assert!(tight <= wide && wide <= open, "seed {seed}: {tight}, {wide}, {open}");
        // Without selectors and affinities every pod goes everywhere that takes it.
        let mut lax = objects;
        for object in &mut lax {
            for path in ["/spec", "/spec/template/spec"] {
                if let Some(spec) = object.pointer_mut(path).and_then(|spec| spec.as_object_mut()) {
                    spec.remove("nodeSelector");
                    spec.remove("affinity");
                }
            }
        }
        let lax = freed(&generator::model(&lax), (None, None));
        assert!(open <= lax, "seed {seed}: {open} with the rules, {lax} without");
    }
}

#[test]
fn the_order_of_the_input_does_not_matter_to_search() {
    for seed in 0..15 {
        let mut objects = generator::objects(seed, &Knobs::mixed(24));
        let first = generator::model(&objects);
        Rng::new(seed, "order").shuffle(&mut objects);
        let second = generator::model(&objects);
        let request = open(Algorithm::Search);
        let plans = [&first, &second].map(|snapshot| names(snapshot, &planned(snapshot, &request).plan));
        assert_eq!(plans[0], plans[1], "seed {seed}");
    }
}

/// Where exhaustive search has a plan, nobody may have proven that there is none, and none costs less than the least.
#[test]
fn what_explain_calls_proven_about_a_node_is_true_of_every_plan() {
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut proven, mut optimal) = (0, 0);
    for (nodes, policies) in [(4, 0), (5, 0), (6, 0), (7, 0), (6, 25)] {
        let knobs = Knobs { policies, ..Knobs::tiny(nodes) };
        for seed in 0..CERTIFIED {
            let snapshot = generator::snapshot(seed, &knobs);
            for budget in [(None, None), (Some(1), None), (Some(2), Some(6)), (Some(3), None)] {
                let request = with_budget(Algorithm::Search, budget);
                let planned = planned(&snapshot, &request);
                let (size, cost) = (planned.plan.freed.len(), rank(&planned.plan, &request).1.0);
                for kept in &planned.report.kept {
                    let Some(found) = certificate(&snapshot, &request, &planned, kept.node).unwrap() else {
                        continue;
                    };
                    let place =
                        format!("seed {seed}, {nodes} nodes, {budget:?}, {}", snapshot.node_name(kept.node));
                    *codes.entry(found.code()).or_default() += 1;
                    let best = |size| brute::with(&snapshot, &request, kept.node, size).plan;
                    match &found {
                        Certificate::NoPlanFreesIt => {
                            assert_eq!(best(1), None, "{place}");
                            proven += 1;
                        }
                        Certificate::NoPlanOfThisSize { size: asked, at_most, best: shown } => {
                            assert_eq!(*asked, size, "{place}");
                            assert_eq!(best(at_most + 1), None, "{place}");
                            assert!(shown.as_ref().is_none_or(|shown| shown.freed.len() <= *at_most));
                            proven += 1;
                        }
                        Certificate::Instead { instead, more, at_least } => {
                            assert_eq!((instead.freed.len(), instead.cost - cost), (size, *more), "{place}");
                            let best = best(size).filter(|plan| plan.freed.len() == size);
                            let best = best.map(|plan| rank(&plan, &request).1.0 - cost);
                            assert!(best.is_none_or(|best| best >= *at_least), "{place}: {best:?} {found:?}");
                            optimal += usize::from(at_least == more);
                        }
                        Certificate::NotProven { at_most, .. } => {
                            assert_eq!(best(at_most + 1), None, "{place}");
                        }
                        Certificate::Better { .. } => {}
                    }
                    if let Some(shown) = found.plan() {
                        assert!(shown.freed.contains(&kept.node), "{place}");
                    }
                }
            }
        }
    }
    println!("{codes:?}, {optimal} at the least cost");
    assert!(proven > 500 && optimal > 300, "{proven} proven, {optimal} optimal: {codes:?}");
    let (better, all) = (codes.get("BetterPlan").copied().unwrap_or(0), codes.values().sum::<usize>());
    assert!(better * 200 <= all, "the search misses {better} of {all}");
}

/// Seeds per size of clusters whose nodes are all explained.
const CERTIFIED: u64 = 60;

/// Units that restart as a whole and go elsewhere when a further node is freed: each plan has to hold from its first turn
/// on, so that neither algorithm's plan is refused by the check.
#[test]
fn plans_of_units_that_go_elsewhere_for_a_further_node_hold_from_the_first_turn_on() {
    for (file, freed) in [
        ("a_member_goes_elsewhere_capacity", 2),
        ("a_member_goes_elsewhere_affinity", 1),
        ("turns_of_a_unit_with_affinity", 3),
    ] {
        let path = format!("{}/tests/fixtures/units/{file}.json", env!("CARGO_MANIFEST_DIR"));
        let mut builder =
            kubectl_repack::snapshot::Builder::new(kubectl_repack::snapshot::BuildOptions::default());
        let text = std::fs::read(path).unwrap();
        kubectl_repack::snapshot::read::read_all(text.as_slice(), file, &mut builder).unwrap();
        let snapshot = builder.finish().unwrap();
        for algorithm in [Algorithm::Drain, Algorithm::Search] {
            let request = Request { resource: "huawei.com/Ascend910".to_owned(), ..open(algorithm) };
            let found = planned(&snapshot, &request);
            assert_eq!(
                faults(&snapshot, &request, &found.plan),
                Vec::<String>::new(),
                "{file} {algorithm:?}"
            );
            if algorithm == Algorithm::Search {
                assert!(found.plan.freed.len() >= freed, "{file}: {} nodes", found.plan.freed.len());
            }
        }
    }
}
