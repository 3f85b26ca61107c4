//! Checks of the plan's limits: groups, amounts, freed nodes, improvement, benefit. Cascades count.
//!
//! May import: snapshot, `plan::types`, `plan::request`

use super::disruption;
use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use crate::snapshot::model::NodeIdx;

/// All checks of this file.
pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    findings.extend(groups(facts));
    findings.extend(resources(facts));
    findings.extend(freed_nodes(facts));
    findings.extend(improvement(facts));
    findings.extend(benefit(facts));
}

fn about(check: Check, text: String) -> Finding {
    Finding::new(check, Subject::Plan, text)
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn groups(facts: &Facts<'_>) -> Option<Finding> {
    let (have, most) = (count(facts.affected().len()), facts.request.budget.pod_groups?);
    let what = if have == 1 { "PodGroup moves" } else { "PodGroups move" };
    (have > most).then(|| about(Check::GroupBudget, format!("{have} {what}, {most} may")))
}

/// Each capped resource over all moved pods, the one that is planned for or another.
fn resources(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, &most) in &facts.request.budget.resources {
        let Some(resource) = facts.snapshot.resource_named(name) else { continue };
        let sum: i128 =
            facts.moves_of.keys().map(|&pod| i128::from(facts.snapshot.charged(pod, resource))).sum();
        if sum > i128::from(most) {
            findings.push(about(Check::ResourceBudget, format!("{sum} of {name} move, {most} may")));
        }
    }
    findings
}

fn freed_nodes(facts: &Facts<'_>) -> Option<Finding> {
    let (have, most) = (count(facts.freed.len()), facts.request.max_freed_nodes?);
    (have > most).then(|| about(Check::TooManyFreed, format!("{have} nodes are freed, {most} may")))
}

/// The rate is (occupied − optimum) / providing. The plan changes only the first, so it falls by freed / providing.
/// A plan that moves nothing claims no improvement.
fn improvement(facts: &Facts<'_>) -> Option<Finding> {
    if facts.freed.is_empty() {
        return None;
    }
    let nodes = (0..facts.snapshot.nodes.len()).map(NodeIdx::new);
    let providing = count(nodes.filter(|&node| facts.provides(node) > 0).count());
    let (freed, least) = (count(facts.freed.len()), facts.request.min_improvement_percent);
    let enough = i128::from(freed) * 100 >= i128::from(least) * i128::from(providing);
    (!enough).then(|| {
        let text = format!("the rate falls by {freed}/{providing}, {least} points are asked for");
        about(Check::TooLittleImprovement, text)
    })
}

/// Each node that was added to the plan brought so many allocatable cards per card that it damaged, so all together do.
fn benefit(facts: &Facts<'_>) -> Option<Finding> {
    let least = facts.request.min_benefit?;
    let cards: i128 = facts.freed.iter().map(|&node| i128::from(facts.provides(node))).sum();
    let damaged = disruption::count(facts).damaged_cards;
    (cards < i128::from(least) * i128::from(damaged)).then(|| {
        let text = format!("freed nodes of {cards} cards damage {damaged}, {least} for each are asked for");
        about(Check::TooLittleBenefit, text)
    })
}
