//! What holds for every plan with a least benefit, counted again from the plans that `--free` makes.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used)]

mod support;

use kubectl_repack::api::Algorithm;
use kubectl_repack::engine::{frontier, plan};
use kubectl_repack::plan::{Plan, Request};
use kubectl_repack::snapshot::Snapshot;
use kubectl_repack::verify::check_plan;
use support::brute;
use support::generator::{self, CARD, Knobs};

fn open(algorithm: Algorithm) -> Request {
    let mut request = Request::for_resource(CARD);
    request.movability.schedulers =
        ["volcano", "default-scheduler", "my-scheduler"].map(str::to_owned).to_vec();
    request.movability.allow_ungrouped = true;
    request.algorithm = algorithm;
    request.effort = 100_000;
    request
}

/// Freed nodes, their allocatable cards and the cards that the plan damages, from the definitions.
fn worth(snapshot: &Snapshot, plan: &Plan) -> (usize, i64, i64) {
    let cards = plan.freed.iter().map(|&node| snapshot.node(node).allocatable[plan.resource.at()]).sum();
    (plan.freed.len(), cards, brute::disruption(snapshot, plan).damaged_cards)
}

#[test]
fn every_step_of_a_plan_is_worth_it_the_next_is_not_and_a_larger_benefit_frees_no_more() {
    let (mut stopped, mut nothing, mut whole) = (0, 0, 0);
    for knobs in [Knobs::tiny(6), Knobs::tiny(8), Knobs::mixed(14), Knobs::plain(20)] {
        for (seed, algorithm) in
            (0..12).flat_map(|seed| [(seed, Algorithm::Search), (seed, Algorithm::Drain)])
        {
            let snapshot = generator::snapshot(seed, &knobs);
            let request = open(algorithm);
            let most = plan(&snapshot, &request).unwrap().plan.freed.len();
            let mut points = vec![(0, 0, 0)];
            for freed in 1..=most {
                let max_freed_nodes = u64::try_from(freed).ok();
                let smaller = plan(&snapshot, &Request { max_freed_nodes, ..request.clone() }).unwrap();
                points.push(worth(&snapshot, &smaller.plan));
            }
            // Numbers for which no plan was found are no points.
            points = points.into_iter().enumerate().filter(|(at, p)| *at == p.0).map(|(_, p)| p).collect();
            let mut before = usize::MAX;
            for least in 1..=8 {
                let place = format!("seed {seed}, {} nodes, {algorithm:?}, least {least}", knobs.nodes);
                let asked = Request { min_benefit: u64::try_from(least).ok(), ..request.clone() };
                let planned = plan(&snapshot, &asked).unwrap();
                assert!(check_plan(&snapshot, &asked, &planned.plan).is_empty(), "{place}");
                let worth_it = |pair: &[(usize, i64, i64)]| {
                    pair[1].1 - pair[0].1 >= least * (pair[1].2 - pair[0].2).max(0)
                };
                let good = points.windows(2).take_while(|pair| worth_it(pair)).count();
                assert_eq!(worth(&snapshot, &planned.plan), points[good], "{place}: {points:?}");
                let benefit = planned.report.benefit.unwrap();
                assert_eq!(benefit.next.is_some(), good + 1 < points.len(), "{place}");
                assert!(benefit.freed <= before, "{place}");
                before = benefit.freed;
                stopped += usize::from(good > 0 && good + 1 < points.len());
                nothing += usize::from(good == 0 && points.len() > 1);
                whole += usize::from(good > 0 && good + 1 == points.len());
                if least == 2 {
                    assert_eq!(frontier(&snapshot, &asked).unwrap().benefit, Some(benefit), "{place}");
                }
            }
        }
    }
    assert!(
        stopped > 50 && nothing > 50 && whole > 50,
        "{stopped} stopped, {nothing} nothing, {whole} whole"
    );
}
