//! The one entry of the planner.
//!
//! May import: api, snapshot, filter, fragmentation, plan

use crate::api::Algorithm;
use crate::filter::Incoming;
use crate::fragmentation::Rate;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx};

use super::drain::drain;
use super::kept::Kept;
use super::outcome::{Conclusion, KeptNode, Occupancy, Planned, Report, Unmovable};
use super::pending;
use super::problem::{Problem, Role};
use super::request::Request;
use super::search::search;
use super::setup::{Start, start};
use super::takers;
use super::types::Plan;

/// Plans: which nodes to empty and where everything on them goes, and why the rest stays.
///
/// # Errors
/// A sentence when the request can not be resolved against this cluster.
pub fn make(snapshot: &Snapshot, request: &Request) -> Result<Planned, String> {
    make_beside(snapshot, request, &[])
}

/// The same beside pods that are only asked about ([`Snapshot::candidates`]): they have their room on these nodes, which
/// are not emptied. The plan says nothing of them.
///
/// # Errors
/// See [`make`].
pub fn make_beside(
    snapshot: &Snapshot,
    request: &Request,
    rooms: &[(PodIdx, NodeIdx)],
) -> Result<Planned, String> {
    let Some(resource) = snapshot.resource_named(&request.resource) else {
        return Err(format!("no node provides and no pod requests {}", request.resource));
    };
    let Start { mut problem, mut state, reserved } = start(snapshot, request, resource)?;
    for &(pod, node) in rooms {
        let incoming = Incoming::pending(snapshot, pod);
        state.place(incoming, node);
        let cards = snapshot.requests(snapshot.spec(incoming.spec).requests).get(resource);
        problem.nodes[node.at()].free -= cards;
        if cards > 0 {
            problem.nodes[node.at()].keep(Kept::PendingPod { pod });
        }
    }
    let before = occupancy(&problem);
    let candidates = count(&problem, |role| matches!(role, Role::Candidate | Role::OnlyCandidate));
    let excess = (before.occupied - before.optimum).max(0);
    let upper_bound =
        if excess > 0 && !problem.keeps_its_load() { candidates } else { candidates.min(excess) };
    let (mut best, mut rejected) = (Plan::empty(resource), vec![None; snapshot.nodes.len()]);
    let (mut taking, mut withheld) = (Vec::new(), Vec::new());
    // Of the task as it is: room that is withheld for takers makes later rounds harder, not the task.
    let mut proven = None;
    if upper_bound > 0 {
        let most = usize::try_from(upper_bound).unwrap_or(usize::MAX);
        let found = takers::beside(&mut problem, state, &reserved, |problem, state| {
            let outcome = match request.algorithm {
                Algorithm::Drain => drain(problem, state),
                Algorithm::Search => {
                    let found = search(problem, &state, most, request.effort);
                    let freed = found.outcome.plan.freed.len();
                    proven.get_or_insert((int(found.most), freed, found.least_cost));
                    found.outcome
                }
            };
            (outcome.plan, outcome.rejected)
        });
        (best, rejected) = (found.plan, found.rest);
        (taking, withheld) = (found.takers, found.withheld);
    }
    // What is proven about some nodes holds for more of them, not for fewer.
    let proven = proven.map(|(most, count, least)| (most, if best.freed.len() < count { 0 } else { least }));
    let (upper_bound, least_cost) = proven.unwrap_or((upper_bound, 0));
    let freed = i64::try_from(best.freed.len()).unwrap_or(i64::MAX);
    let conclusion = conclude(&before, freed, request.min_improvement_percent);
    if conclusion != Conclusion::Recommended {
        best = Plan::empty(resource);
        taking.clear();
    }
    let plan = Plan {
        waves: problem.facts.waves(snapshot, &best.moves),
        reserved: reserved.into_iter().chain(best.reserved).collect(),
        ..best
    };
    let report = Report {
        before,
        conclusion,
        groups_in_scope: int(problem.facts.scope.group_count),
        nodes_in_scope: int(problem.facts.scope.node_count),
        upper_bound,
        least_cost,
        benefit: None,
        limited_by_size: false,
        kept: kept(&problem, &plan, conclusion, rejected),
        unmovable: unmovable(&problem, request),
        min_improvement_percent: request.min_improvement_percent,
        held: held(&problem),
        takers: taking,
        withheld,
        warnings: warnings(&problem).into_iter().chain(pending::passed_over(&problem, &plan)).collect(),
    };
    Ok(Planned { plan, report })
}

fn int(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn unmovable(problem: &Problem<'_>, request: &Request) -> Vec<Unmovable> {
    let held = problem.facts.movability.summary(problem.snapshot, problem.resource, request);
    let unmovable = held.into_iter().map(|held| Unmovable {
        code: held.code.as_str(),
        remedy: held.remedy.unwrap_or_default(),
        pods: i64::try_from(held.pods).unwrap_or(i64::MAX),
        cards: held.cards,
    });
    unmovable.collect()
}

fn held(problem: &Problem<'_>) -> Vec<PodIdx> {
    let pods = (0..problem.snapshot.pods.len()).map(PodIdx::new);
    pods.filter(|&pod| problem.cards(pod) > 0 && problem.facts.movability.blocks(pod)).collect()
}

fn warnings(problem: &Problem<'_>) -> Vec<String> {
    let facts = &problem.facts;
    let mut warnings = facts.scope.warnings.clone();
    warnings.extend(facts.movability.warnings.iter().cloned());
    if facts.movability.derived_from_live_pods {
        warnings.push(
            "controllers are not in the input: their reactions and replacements are derived from live pods"
                .to_owned(),
        );
    }
    warnings
}

fn count(problem: &Problem<'_>, which: impl Fn(Role) -> bool) -> i64 {
    i64::try_from(problem.nodes.iter().filter(|n| which(n.role)).count()).unwrap_or(i64::MAX)
}

/// Improvement in percentage points is freed / providing; thresholds compare the exact fractions.
fn conclude(before: &Occupancy, freed: i64, min_percent: i64) -> Conclusion {
    if before.providing == 0 || before.occupied == 0 {
        Conclusion::NotUsed
    } else if before.occupied <= before.optimum {
        Conclusion::NotFragmented
    } else if freed >= 1 && i128::from(freed) * 100 >= i128::from(min_percent) * i128::from(before.providing)
    {
        Conclusion::Recommended
    } else {
        Conclusion::Insufficient { best: freed }
    }
}

/// Why each occupied node that is not freed stays, by name.
fn kept(
    problem: &Problem<'_>,
    plan: &Plan,
    conclusion: Conclusion,
    mut rejected: Vec<Option<Kept>>,
) -> Vec<KeptNode> {
    let mut freed = vec![false; problem.nodes.len()];
    let mut receives = vec![false; problem.nodes.len()];
    plan.freed.iter().for_each(|n| freed[n.at()] = true);
    plan.moves.iter().for_each(|m| receives[m.to.at()] = true);
    let mut kept = Vec::new();
    for (at, facts) in problem.nodes.iter().enumerate() {
        if freed[at] || facts.used == 0 {
            continue;
        }
        let fallback = || match conclusion {
            Conclusion::NotFragmented => Kept::NothingToGain,
            Conclusion::Insufficient { .. } => Kept::TooLittleGained,
            _ if receives[at] => Kept::Receives,
            _ => Kept::EnoughFreed,
        };
        let why = rejected[at].take().or_else(|| facts.kept.clone()).unwrap_or_else(fallback);
        kept.push(KeptNode { node: NodeIdx::new(at), why });
    }
    kept
}

fn occupancy(problem: &Problem<'_>) -> Occupancy {
    let rate = Rate::of(problem.snapshot, problem.resource);
    Occupancy {
        providing: rate.providing,
        occupied: rate.occupied,
        optimum: rate.optimum,
        exact: rate.optimum_exact,
    }
}
