//! The independent check of a plan: everything a plan promises, worked out again from the snapshot.
//!
//! It shares with the planner the snapshot and the Filter rules (which recorded verdicts prove) and the types of
//! plan and request, nothing else: movability, cascades, budgets, order and disruption are written here a second
//! time, plainly and without increments. Each rule is one small function with one stable code ([`Check`]).
//!
//! May import: snapshot, filter, `plan::types`, `plan::request`, api

mod budget;
mod cascade;
mod disruption;
mod facts;
mod filters;
mod finding;
mod movable;
mod moves;
mod nodes;
mod pdb;
mod reaction;
mod scope;
mod takers;
#[cfg(test)]
mod tests;
mod waiting;

pub use finding::{Check, Finding, Severity, Subject};

use facts::Facts;

use crate::plan::request::Request;
use crate::plan::types::Plan;
use crate::snapshot::Snapshot;

/// Checks a plan against the snapshot and the request it was made for. Empty = every rule holds. A plan that frees
/// and moves nothing is valid: it promises nothing.
///
/// Findings come check by check, inside one check by the order of the plan.
#[must_use]
pub fn check_plan(snapshot: &Snapshot, request: &Request, plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    if snapshot.resource_named(&request.resource) != Some(plan.resource) {
        let text = format!("the request is for {}", request.resource);
        findings.push(Finding::new(Check::OtherResource, Subject::Plan, text));
        return findings;
    }
    let facts = Facts::new(snapshot, request, plan);
    nodes::check(&facts, &mut findings);
    moves::check(&facts, &mut findings);
    movable::check(&facts, &mut findings);
    pdb::check(&facts, &mut findings);
    let returns = cascade::check(&facts, &mut findings);
    pdb::check_waves(&facts, &returns, &mut findings);
    budget::check(&facts, &mut findings);
    disruption::check(&facts, &mut findings);
    // Rules on places make no sense for pods that are not where the plan says.
    if !findings.iter().any(|finding| finding.check.is_about_the_list()) {
        filters::check(&facts, &returns, &mut findings);
    }
    findings
}
