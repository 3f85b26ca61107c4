//! One engine for all fronts: plans, and has every plan checked before anybody sees it.
//!
//! The planner and the check share nothing that could hide a fault ([`crate::verify`]). A plan of Search that the
//! check refuses is replaced by Drain's, and the report says so; one of Drain's is a fault of this program and is
//! not shown.
//!
//! May import: api, engine, parallel, snapshot, plan, verify

mod benefit;
mod certificate;
mod fit;
mod frontier;
mod points;
mod size;

pub use certificate::{Certificate, Instead, certificate};
pub use fit::{Answer, Fit, fit};
pub use frontier::{Frontier, Point, frontier};

use crate::api::Algorithm;
use crate::plan::{Planned, Request, make, make_beside};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx};
use crate::verify::{Finding, Severity, check_plan};

/// Why there is no plan to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request can not be resolved against this cluster.
    Request(String),
    /// The check refuses the plan.
    Refused(Finding),
}

/// Plans what a request asks for. With a least benefit that is the largest plan whose every further node is worth what
/// it damages; `report.benefit` says how far that goes. With a largest object it is the largest plan that fits into it.
///
/// # Errors
/// See [`Fault`].
pub fn plan(snapshot: &Snapshot, request: &Request) -> Result<Planned, Fault> {
    let planned = plan_of_any_size(snapshot, request)?;
    match request.max_object_bytes {
        Some(limit) => size::fitted(snapshot, request, planned, limit),
        None => Ok(planned),
    }
}

fn plan_of_any_size(snapshot: &Snapshot, request: &Request) -> Result<Planned, Fault> {
    match request.least_benefit() {
        Some(least) => benefit::plan(snapshot, request, least),
        None => checked_plan(snapshot, request),
    }
}

/// One plan under scope, budgets and number of nodes, checked.
fn checked_plan(snapshot: &Snapshot, request: &Request) -> Result<Planned, Fault> {
    checked(snapshot, request, &make)
}

/// The same with rooms on kept nodes for pods that are only asked about. No least benefit is looked at.
fn plan_beside(
    snapshot: &Snapshot,
    request: &Request,
    rooms: &[(PodIdx, NodeIdx)],
) -> Result<Planned, Fault> {
    checked(snapshot, request, &|snapshot: &Snapshot, request: &Request| {
        make_beside(snapshot, request, rooms)
    })
}

type Planner<'p> = dyn Fn(&Snapshot, &Request) -> Result<Planned, String> + 'p;

fn checked(snapshot: &Snapshot, request: &Request, planner: &Planner<'_>) -> Result<Planned, Fault> {
    let planned = planner(snapshot, request).map_err(Fault::Request)?;
    let Some(finding) = refusal(snapshot, request, &planned) else { return Ok(planned) };
    if request.algorithm == Algorithm::Drain {
        return smaller(snapshot, request, planner, &planned, finding);
    }
    let request = Request { algorithm: Algorithm::Drain, ..request.clone() };
    let mut planned = checked(snapshot, &request, planner)?;
    planned.report.warnings.push(format!(
        "the plan of the search broke a rule and is replaced by the plan of Drain: {}",
        finding.line(snapshot)
    ));
    Ok(planned)
}

/// A plan of Drain that frees fewer nodes than the one that was refused; nothing at all passes in any case.
fn smaller(
    snapshot: &Snapshot,
    request: &Request,
    planner: &Planner<'_>,
    refused: &Planned,
    finding: Finding,
) -> Result<Planned, Fault> {
    let Some(fewer) = refused.plan.freed.len().checked_sub(1).filter(|fewer| *fewer > 0) else {
        return Err(Fault::Refused(finding));
    };
    let request = Request { max_freed_nodes: u64::try_from(fewer).ok(), ..request.clone() };
    let mut planned = checked(snapshot, &request, planner)?;
    planned.report.upper_bound = refused.report.upper_bound;
    planned.report.warnings.push(format!(
        "the plan of Drain for {} nodes broke a rule and gave way to a smaller one: {}",
        fewer + 1,
        finding.line(snapshot)
    ));
    Ok(planned)
}

/// The first rule that the plan breaks.
fn refusal(snapshot: &Snapshot, request: &Request, planned: &Planned) -> Option<Finding> {
    let findings = check_plan(snapshot, request, &planned.plan);
    findings.into_iter().find(|finding| finding.severity() == Severity::Fatal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::Cluster;

    fn cluster() -> (Snapshot, Request) {
        let cluster = Cluster::new().nodes(3, 8).group("a/g", 1).pod("a/p n1 2 g").pod("a/q n2 2 g");
        (cluster.build(), Request { algorithm: Algorithm::Search, ..Request::for_resource("x.io/npu") })
    }

    /// A planner whose Search sends the first pod back to its own node.
    fn careless(snapshot: &Snapshot, request: &Request) -> Result<Planned, String> {
        let mut planned = make(snapshot, request)?;
        if request.algorithm == Algorithm::Search {
            planned.plan.moves[0].to = planned.plan.moves[0].from;
        }
        Ok(planned)
    }

    fn broken(snapshot: &Snapshot, request: &Request) -> Result<Planned, String> {
        careless(snapshot, &Request { algorithm: Algorithm::Search, ..request.clone() })
    }

    #[test]
    fn a_plan_of_the_search_that_breaks_a_rule_gives_way_to_drains_and_the_report_says_so() {
        let (snapshot, request) = cluster();
        let planned = checked(&snapshot, &request, &careless).unwrap();
        assert_eq!(planned.plan.freed.len(), 1);
        assert!(planned.report.warnings.iter().any(|w| w.contains("replaced by the plan of Drain")));
        assert!(check_plan(&snapshot, &request, &planned.plan).is_empty());
    }

    #[test]
    fn a_plan_of_drain_that_breaks_a_rule_gives_way_to_a_smaller_one() {
        let mut cluster = Cluster::new().nodes(4, 8).group("a/g", 1);
        for (pod, node) in [("p", "n1"), ("q", "n2"), ("r", "n3"), ("s", "n4")] {
            cluster = cluster.pod(&format!("a/{pod} {node} 2 g"));
        }
        let snapshot = cluster.build();
        let request = Request { algorithm: Algorithm::Drain, ..Request::for_resource("x.io/npu") };
        let careless = |snapshot: &Snapshot, request: &Request| {
            let mut planned = make(snapshot, request)?;
            if planned.plan.freed.len() > 1 {
                planned.plan.moves[0].to = planned.plan.moves[0].from;
            }
            Ok(planned)
        };
        assert_eq!(make(&snapshot, &request).unwrap().plan.freed.len(), 3);
        let planned = checked(&snapshot, &request, &careless).unwrap();
        assert_eq!((planned.plan.freed.len(), planned.report.upper_bound), (1, 3));
        assert!(planned.report.warnings.iter().any(|warning| warning.contains("gave way to a smaller one")));
    }

    #[test]
    fn a_plan_of_drain_that_breaks_a_rule_is_not_shown() {
        let (snapshot, request) = cluster();
        assert!(matches!(checked(&snapshot, &request, &broken), Err(Fault::Refused(_))));
    }
}
