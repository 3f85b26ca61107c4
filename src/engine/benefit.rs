//! `minBenefit`: frees nodes as long as each further one is worth what it damages.
//!
//! The plan for k nodes is the one that the same request makes when it asks for at most k (`--free k`), whatever it
//! has in common with the plan for k − 1; k = 0 is the plan that moves nothing. A least benefit b chooses the plan for
//! the largest k up to which *every* step k − 1 → k is worth it ([`Step`]): it brings at least b allocatable cards for
//! each card that it damages. So a step that is not worth it ends the walk, although later ones may be worth it again
//! (where a gang is breached by its first pod, the nodes of its other pods cost nothing more), and a larger b never
//! frees more nodes. Under Drain the plan for k nodes is Drain's own choice of its first k.
//!
//! Up to [`ALL`] nodes every step is looked at. Beyond that a choice of them is, under the assumption that no node is
//! worth more for what it damages than those before it: for 1, 2, 4, 8, … nodes and the most, the step from the last
//! plan that was worth it to one node less, and the last single step; between the last number that passes and the first
//! that fails the same by halves. Where the assumption does not hold, the plan still passes every step that was looked
//! at, a larger b still frees no more nodes, and the step that is told as the first that is not worth it is one that
//! was looked at. That takes about 4 · log2 n plans for n nodes.
//!
//! Limits hold together: under `--free N` (`maxFreedNodes`) the walk ends at N nodes, whichever is smaller. A percentage
//! that is asked for (`minFragImprovementPercent`) is compared with what the walk comes to.
//!
//! May import: engine, plan, snapshot

use super::points::{ALL, Points, Worth};
use super::{Fault, checked_plan};
use crate::plan::benefit::{Benefit, Step};
use crate::plan::kept::Kept;
use crate::plan::outcome::Conclusion;
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;

/// The plan of a request that asks for a least benefit.
pub(super) fn plan(snapshot: &Snapshot, request: &Request, least: i64) -> Result<Planned, Fault> {
    let mut points = Points::new(snapshot, request)?;
    let benefit = stop(&mut points, least)?;
    let most = points.at(points.most())?.report.upper_bound;
    let mut planned = if request.min_improvement_percent == 0 && benefit.freed > 0 {
        points.at(benefit.freed)?.clone()
    } else {
        let max_freed_nodes = u64::try_from(benefit.freed).ok();
        checked_plan(snapshot, &Request { max_freed_nodes, min_benefit: None, ..request.clone() })?
    };
    planned.report.upper_bound = most;
    if let Some(step) = benefit.next {
        // What stays because of the number of nodes stays because of the benefit.
        let nothing = planned.report.conclusion == Conclusion::Insufficient { best: 0 };
        for kept in &mut planned.report.kept {
            if kept.why == Kept::EnoughFreed || nothing && kept.why == Kept::TooLittleGained {
                kept.why = Kept::NotWorthIt { step, least };
            }
        }
    }
    planned.report.benefit = Some(benefit);
    Ok(planned)
}

/// What the plan of at most so many nodes is worth.
type Look<'l> = dyn FnMut(usize) -> Result<Worth, Fault> + 'l;

/// Where the walk up the plans of a request ends.
pub(super) fn stop(points: &mut Points<'_>, least: i64) -> Result<Benefit, Fault> {
    walk(points.most(), least, &mut |freed| points.worth(freed))
}

/// Walks up until a step is not worth it.
fn walk(most: usize, least: i64, look: &mut Look<'_>) -> Result<Benefit, Fault> {
    let mut good = Worth::default();
    let mut above: Option<(Worth, Step)> = None;
    for freed in rising(most) {
        match advance(look, good, freed, least)? {
            Ahead::Good(further) => good = further,
            Ahead::TooFar(bad, step) => {
                above = Some((bad, step));
                break;
            }
            Ahead::Unknown => {}
        }
    }
    while let Some((bad, _)) = above
        && bad.freed - good.freed > 1
    {
        match advance(look, good, usize::midpoint(good.freed, bad.freed), least)? {
            Ahead::Good(further) => good = further,
            Ahead::TooFar(nearer, step) => above = Some((nearer, step)),
            Ahead::Unknown => break,
        }
    }
    // All steps from where a bad plan was looked at to here are worth it, so the rest of that way is not.
    let next = above.map(|(bad, step)| if bad.freed == good.freed + 1 { good.step_to(&bad) } else { step });
    Ok(Benefit { least, freed: good.freed, cards: good.cards, damaged: good.damaged, next })
}

/// What a look ahead came to.
enum Ahead {
    /// It is worth it to go that far.
    Good(Worth),
    /// The plan to which some step is not worth it, and that step.
    TooFar(Worth, Step),
    /// No plan frees exactly so many nodes.
    Unknown,
}

/// Whether it is worth it to free `freed` nodes: the steps to one node less, and from there.
fn advance(look: &mut Look<'_>, from: Worth, freed: usize, least: i64) -> Result<Ahead, Fault> {
    let mut good = from;
    for to in [freed - 1, freed] {
        if to <= from.freed {
            continue;
        }
        let worth = look(to)?;
        if worth.freed != to {
            // The step to the next number spans this one.
            if to == freed {
                return Ok(Ahead::Unknown);
            }
            continue;
        }
        let step = good.step_to(&worth);
        if !step.is_worth_it(least) {
            return Ok(Ahead::TooFar(worth, step));
        }
        good = worth;
    }
    Ok(Ahead::Good(good))
}

/// Numbers of nodes to look at, rising, the last being the most: all, or powers of two.
fn rising(most: usize) -> Vec<usize> {
    if most <= ALL {
        return (1..=most).collect();
    }
    let doubling = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most);
    doubling.chain([most]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::Algorithm;
    use crate::engine::plan;
    use crate::plan::testing::Cluster;
    use crate::verify::check_plan;

    /// Plans for each number of nodes of eight cards, from the cards that each node damages beside those before.
    struct Curve {
        damaged: Vec<i64>,
        looks: BTreeSet<usize>,
    }

    impl Curve {
        fn new(damages: impl Iterator<Item = i64>) -> Self {
            let mut damaged = vec![0];
            damages.for_each(|more| damaged.push(damaged[damaged.len() - 1] + more));
            Self { damaged, looks: BTreeSet::new() }
        }

        fn walk(&mut self, least: i64) -> Benefit {
            let most = self.damaged.len() - 1;
            self.looks.clear();
            let (damaged, looks) = (&self.damaged, &mut self.looks);
            let mut look = |freed: usize| {
                looks.insert(freed);
                let cards = i64::try_from(freed).unwrap() * 8;
                Ok(Worth { freed, cards, damaged: damaged[freed] })
            };
            walk(most, least, &mut look).unwrap()
        }
    }

    #[test]
    fn where_no_node_is_worth_more_than_those_before_the_choice_is_exact_and_few_plans_are_made() {
        for most in [0, 1, 23, 24, 25, 31, 32, 33, 100, 1000, 3207] {
            // Ever more damage: from 1 card on, up to 16.
            let of = |at: usize| 1 + i64::try_from(at * 15 / most.max(1)).unwrap();
            let mut curve = Curve::new((0..most).map(of));
            for least in 1..=9 {
                let exact = (0..most).take_while(|&at| of(at) * least <= 8).count();
                let benefit = curve.walk(least);
                assert_eq!(benefit.freed, exact, "{most} nodes, least {least}");
                let next = benefit.next.map(|step| (step.nodes, step.damaged));
                assert_eq!(next, (exact < most).then(|| (1, of(exact))), "{most} nodes, least {least}");
                let allowed = if most <= ALL { most } else { 4 * most.ilog2() as usize + 4 };
                assert!(curve.looks.len() <= allowed, "{most} nodes: {} plans", curve.looks.len());
            }
        }
    }

    #[test]
    fn whatever_the_steps_are_a_larger_benefit_frees_no_more_and_the_plan_is_worth_its_damage() {
        let mut seed = 7_u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(seed >> 60).unwrap() - 3
        };
        let mut stops = BTreeSet::new();
        for most in [7, 24, 60, 300] {
            for _ in 0..50 {
                let mut curve = Curve::new((0..most).map(|_| random()));
                let mut before = usize::MAX;
                for least in 1..=10 {
                    let benefit = curve.walk(least);
                    assert!(benefit.freed <= before);
                    assert!(benefit.cards >= least * benefit.damaged);
                    assert_eq!(benefit.next.is_none(), benefit.freed == most);
                    assert!(benefit.next.is_none_or(|step| !step.is_worth_it(least)));
                    before = benefit.freed;
                    stops.insert(before);
                }
            }
        }
        assert!(stops.len() > 15, "{stops:?}");
    }

    /// Six nodes, a pod of its own on each.
    fn singles() -> Snapshot {
        let mut cluster = Cluster::new().nodes(6, 8);
        for (at, cards) in [1, 2, 3, 1, 2, 4].into_iter().enumerate() {
            let group = format!("a/g{at}");
            cluster = cluster.group(&group, 1).pod(&format!("a/p{at} n{} {cards} g{at}", at + 1));
        }
        cluster.build()
    }

    fn request(algorithm: Algorithm, least: u64) -> Request {
        Request { algorithm, min_benefit: Some(least), ..Request::for_resource("x.io/npu") }
    }

    #[test]
    fn nodes_are_freed_as_long_as_each_is_worth_it() {
        let snapshot = singles();
        for algorithm in [Algorithm::Search, Algorithm::Drain] {
            let freed = |least| plan(&snapshot, &request(algorithm, least)).unwrap().plan.freed.len();
            // The steps damage 1, 1, 2 and 2 cards.
            assert_eq!([0, 4, 5, 8, 9].map(freed), [4, 4, 2, 2, 0], "{algorithm:?}");
        }
    }

    #[test]
    fn the_report_has_the_numbers_and_the_bound_is_that_of_the_request_without_it() {
        let snapshot = singles();
        let planned = plan(&snapshot, &request(Algorithm::Search, 5)).unwrap();
        let next = Some(Step { nodes: 1, cards: 8, damaged: 2 });
        let benefit = Benefit { least: 5, freed: 2, cards: 16, damaged: 2, next };
        assert_eq!((planned.report.benefit, planned.report.upper_bound), (Some(benefit), 4));
        let codes: BTreeSet<&str> = planned.report.kept.iter().map(|kept| kept.why.code()).collect();
        assert!(codes.contains("NotWorthIt") && !codes.contains("EnoughFreed"), "{codes:?}");
        let none = plan(&snapshot, &request(Algorithm::Search, 9)).unwrap();
        assert!(none.plan.is_empty());
        assert_eq!(none.report.conclusion, Conclusion::Insufficient { best: 0 });
        assert!(
            none.report.kept.iter().all(|kept| kept.why.code() == "NotWorthIt"),
            "{:?}",
            none.report.kept
        );
        assert_eq!((none.report.kept.len(), none.report.upper_bound), (6, 4));
    }

    #[test]
    fn the_smaller_of_both_numbers_of_nodes_counts_and_the_percentage_is_that_of_the_choice() {
        let snapshot = singles();
        let limited = |free, least, percent| {
            let request = Request {
                max_freed_nodes: Some(free),
                min_improvement_percent: percent,
                ..request(Algorithm::Search, least)
            };
            let planned = plan(&snapshot, &request).unwrap();
            assert!(check_plan(&snapshot, &request, &planned.plan).is_empty());
            (planned.plan.freed.len(), planned.report.conclusion)
        };
        assert_eq!(limited(3, 5, 0), (2, Conclusion::Recommended));
        assert_eq!(limited(1, 5, 0), (1, Conclusion::Recommended));
        // Two of six nodes are 33 points.
        assert_eq!(limited(4, 5, 33), (2, Conclusion::Recommended));
        assert_eq!(limited(4, 5, 34), (0, Conclusion::Insufficient { best: 2 }));
    }

    #[test]
    fn a_step_that_is_not_worth_it_ends_the_plan_although_later_ones_would_be() {
        let mut cluster = Cluster::new().nodes(5, 8).group("a/gang", 4).group("a/stays", 1);
        for at in 1..=4 {
            cluster = cluster.pod(&format!("a/gang-{at} n{at} 1 gang"));
        }
        let protected = serde_json::json!({"metadata": {"labels": {"repack.volcano.sh/protected": "true"}}});
        let snapshot = cluster.pod_with("a/stays-0 n5 1 stays", &protected).build();
        let freed = |least| plan(&snapshot, &request(Algorithm::Search, least)).unwrap().plan.freed.len();
        // The first node breaks the gang and damages its four cards, the others damage nothing more.
        assert_eq!([1, 2, 3].map(freed), [4, 4, 0]);
    }

    #[test]
    fn the_check_refuses_a_plan_that_is_not_worth_its_damage() {
        let snapshot = singles();
        let whole = plan(&snapshot, &request(Algorithm::Search, 0)).unwrap().plan;
        let findings = check_plan(&snapshot, &request(Algorithm::Search, 6), &whole);
        let codes: Vec<&str> = findings.iter().map(|finding| finding.check.as_str()).collect();
        assert_eq!(codes, ["TooLittleBenefit"]);
    }
}
