//! The disruption of the plan, counted again from the pods (design: running members, slack, damaged cards).
//!
//! May import: snapshot, `plan::types`, `plan::request`

use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use crate::plan::types::Dimensions;
use crate::snapshot::model::{GroupIdx, Phase, PodIdx};

/// All checks of this file.
pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let (said, counted) = (facts.plan.disruption, count(facts));
    if said != counted {
        let text = format!("it says {:?}, it is {:?}", said.array(), counted.array());
        findings.push(Finding::new(Check::WrongDisruption, Subject::Plan, text));
    }
}

/// Sums over the affected groups. Pods without a group belong to none and only count as moved.
pub(super) fn count(facts: &Facts<'_>) -> Dimensions {
    let mut total = Dimensions {
        moved_pods: number(facts.moves_of.len()),
        moved_cards: facts.moves_of.keys().map(|&pod| facts.cards(pod)).sum(),
        ..Dimensions::default()
    };
    for group in facts.affected() {
        let moved: Vec<PodIdx> =
            facts.members(group).iter().copied().filter(|pod| facts.moves_of.contains_key(pod)).collect();
        let breached = number(moved.len()) > slack(facts, group);
        total.affected_groups += 1;
        total.breached_groups += i64::from(breached);
        total.damaged_cards +=
            if breached { held(facts, group) } else { moved.iter().map(|&pod| facts.cards(pod)).sum() };
    }
    total
}

fn number(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Members that may be missing before the group is below its minimum: Running ones that are not terminating, with
/// cards or not, and Succeeded ones.
fn slack(facts: &Facts<'_>, group: GroupIdx) -> i64 {
    let runs = |pod: &&PodIdx| {
        let pod = facts.snapshot.pod(**pod);
        match pod.phase {
            Phase::Succeeded => true,
            Phase::Running => pod.node.is_some() && !pod.terminating,
            Phase::Pending | Phase::Failed | Phase::Unknown => false,
        }
    };
    let running = number(facts.members(group).iter().filter(runs).count());
    (running - facts.snapshot.groups[group.at()].min_member).max(0)
}

/// All cards of the group: of members that stand and are not on their way out.
fn held(facts: &Facts<'_>, group: GroupIdx) -> i64 {
    let stands = |pod: &&PodIdx| {
        let pod = facts.snapshot.pod(**pod);
        pod.node.is_some() && !pod.phase.is_finished() && !pod.terminating
    };
    facts.members(group).iter().filter(stands).map(|&pod| facts.cards(pod)).sum()
}
