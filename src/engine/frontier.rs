//! Freed nodes against disruption: the cheapest plan found for each number of nodes, and how far from the least it
//! may be.
//!
//! May import: engine, snapshot, plan

use super::Fault;
use super::benefit::stop;
use super::points::{ALL, Points, Worth};
use crate::plan::benefit::Benefit;
use crate::plan::{Dimensions, Planned, Request};
use crate::snapshot::Snapshot;
use crate::snapshot::model::ResourceIdx;

/// Plans of a growing number of freed nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontier {
    /// The resource.
    pub resource: ResourceIdx,
    /// No plan frees more nodes.
    pub most: i64,
    /// By number of freed nodes, at least one.
    pub points: Vec<Point>,
    /// Where a least benefit would stop, if one is asked for.
    pub benefit: Option<Benefit>,
    /// What to know about the plan of the most nodes; sentences without a full stop.
    pub warnings: Vec<String>,
}

/// One plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Freed nodes.
    pub freed: usize,
    /// Allocatable cards on them.
    pub cards: i64,
    /// What it disturbs.
    pub disruption: Dimensions,
    /// The same weighted, in tenths.
    pub cost: i64,
    /// No plan that frees as many nodes costs less.
    pub least_cost: i64,
}

/// Beyond [`ALL`] nodes, these hundredths of the most nodes, and the powers of two below.
const SHARES: [usize; 8] = [10, 25, 50, 75, 90, 95, 99, 100];

/// Plans for every number of nodes, or a choice of them where there are many. A larger number of nodes that turns out
/// cheaper stands for the smaller one too: points never get cheaper. Those that a least benefit looks at are among them.
///
/// # Errors
/// See [`Fault`].
pub fn frontier(snapshot: &Snapshot, request: &Request) -> Result<Frontier, Fault> {
    let mut plans = Points::new(snapshot, request)?;
    let benefit = request.least_benefit().map(|least| stop(&mut plans, least)).transpose()?;
    plans.make(&levels(plans.most()))?;
    let mut points: Vec<Point> = Vec::new();
    for planned in plans.made() {
        let point = point(snapshot, request, planned);
        points.retain(|before| before.freed < point.freed && before.cost <= point.cost);
        points.push(point);
    }
    let whole = plans.at(plans.most())?;
    let (providing, asked) = (whole.report.before.providing, request.min_improvement_percent);
    let improves = |freed: usize| freed as i128 * 100 >= i128::from(asked) * i128::from(providing);
    points.retain(|point| point.freed > 0 && improves(point.freed));
    Ok(Frontier {
        resource: whole.plan.resource,
        most: whole.report.upper_bound,
        points,
        benefit,
        warnings: whole.report.warnings.clone(),
    })
}

fn point(snapshot: &Snapshot, request: &Request, planned: &Planned) -> Point {
    let worth = Worth::of(snapshot, planned);
    let disruption = planned.plan.disruption;
    let cost = disruption.cost(request.weights.array());
    let least_cost = planned.report.least_cost.min(cost);
    Point { freed: worth.freed, cards: worth.cards, disruption, cost, least_cost }
}

fn levels(most: usize) -> Vec<usize> {
    let mut levels: Vec<usize> = if most <= ALL {
        (1..=most).collect()
    } else {
        let shares = SHARES.iter().map(|share| most * share / 100);
        let doubling = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most / SHARES[0]);
        shares.chain(doubling).collect()
    };
    levels.sort_unstable();
    levels.dedup();
    levels.retain(|&level| level > 0);
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Algorithm;
    use crate::plan::testing::Cluster;

    #[test]
    fn each_point_frees_more_and_costs_at_least_what_is_proven() {
        let mut cluster = Cluster::new().nodes(6, 8);
        for (at, cards) in [1, 2, 3, 1, 2, 4].into_iter().enumerate() {
            cluster =
                cluster.group(&format!("a/g{at}"), 1).pod(&format!("a/p{at} n{} {cards} g{at}", at + 1));
        }
        let snapshot = cluster.build();
        let request = Request { algorithm: Algorithm::Search, ..Request::for_resource("x.io/npu") };
        let frontier = frontier(&snapshot, &request).unwrap();
        let freed: Vec<usize> = frontier.points.iter().map(|p| p.freed).collect();
        // 13 cards need two nodes of eight.
        assert_eq!((freed, frontier.most), (vec![1, 2, 3, 4], 4));
        for pair in frontier.points.windows(2) {
            assert!(pair[0].cost <= pair[1].cost);
        }
        // The cheapest node holds one card: its group touched and breached, one card damaged and moved, one pod.
        assert_eq!(frontier.points[0].cost, 10 + 8 + 6 + 3 + 1);
        for point in &frontier.points {
            assert_eq!(point.least_cost, point.cost, "{} nodes", point.freed);
        }
    }

    #[test]
    fn many_nodes_have_a_choice_of_points_with_both_ends() {
        assert_eq!(levels(3), [1, 2, 3]);
        assert!(levels(0).is_empty());
        let many = levels(3207);
        assert_eq!((many.first(), many.last()), (Some(&1), Some(&3207)));
        assert!(many.len() < ALL && many.contains(&1603));
    }
}
