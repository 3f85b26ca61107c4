//! From a request to a [`Problem`]: everything that both algorithms look up.
//!
//! May import: snapshot, filter, plan

use crate::filter::Incoming;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx};

use super::movability::Facts;
use super::problem::{Cap, NodeFacts, Problem, Role};
use super::request::Request;

/// Looks everything up.
///
/// # Errors
/// A sentence when the scope can not be resolved.
pub(super) fn setup<'s>(
    snapshot: &'s Snapshot,
    request: &Request,
    resource: ResourceIdx,
) -> Result<Problem<'s>, String> {
    let pods = (0..snapshot.pods.len()).map(PodIdx::new);
    let mut problem = Problem {
        snapshot,
        resource,
        facts: Facts::of(snapshot, resource, request)?,
        nodes: Vec::with_capacity(snapshot.nodes.len()),
        replacement: pods.map(|p| Incoming::replacement(snapshot, p)).collect(),
        max_groups: request.budget.pod_groups.map(|n| i64::try_from(n).unwrap_or(i64::MAX)),
        caps: caps(snapshot, request),
        max_freed: request.max_freed_nodes.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        weights: request.weights.array(),
    };
    for at in 0..snapshot.nodes.len() {
        let facts = node_facts(&problem, NodeIdx::new(at));
        problem.nodes.push(facts);
    }
    Ok(problem)
}

/// Caps of resources that exist here; a cap in whole units of cpu counts milli.
fn caps(snapshot: &Snapshot, request: &Request) -> Vec<Cap> {
    let cap = |(name, &most): (&String, &u64)| {
        let resource = snapshot.resource_named(name)?;
        Some(Cap { resource, most: i64::try_from(most).unwrap_or(i64::MAX) })
    };
    request.budget.resources.iter().filter_map(cap).collect()
}

fn node_facts(problem: &Problem<'_>, node: NodeIdx) -> NodeFacts {
    let Problem { snapshot, resource, .. } = *problem;
    let holders: Vec<PodIdx> =
        snapshot.pods_on[node.at()].iter().copied().filter(|&p| problem.cards(p) > 0).collect();
    let used: i64 = holders.iter().map(|&p| problem.cards(p)).sum();
    let benefit = snapshot.node(node).allocatable[resource.at()];
    let mut victims: Vec<PodIdx> =
        holders.iter().copied().filter(|&p| !snapshot.pod(p).terminating).collect();
    problem.sort_victims(&mut victims);
    let kept = problem.facts.node_block(snapshot, node);
    let receives = problem.facts.scope.node(node).not_receiving.is_none();
    let role = match (kept.is_none(), receives) {
        (true, true) => Role::Candidate,
        (true, false) => Role::OnlyCandidate,
        (false, true) => Role::Stays,
        (false, false) => Role::Out,
    };
    NodeFacts { role, kept, used, free: benefit - used, benefit, victims }
}
