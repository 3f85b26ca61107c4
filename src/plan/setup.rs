//! From a request to a [`Problem`]: everything that both algorithms look up.
//!
//! May import: snapshot, filter, plan

use crate::filter::Incoming;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, Phase, PodIdx, ResourceIdx};

use super::kept::Kept;
use super::problem::{Cap, NodeFacts, Problem, Role, Timing};
use super::reason::Reason;
use super::request::Request;

/// Looks everything up.
pub(super) fn setup<'s>(snapshot: &'s Snapshot, request: &Request, resource: ResourceIdx) -> Problem<'s> {
    let pods = 0..snapshot.pods.len();
    let mut problem = Problem {
        snapshot,
        resource,
        nodes: Vec::with_capacity(snapshot.nodes.len()),
        refused: pods.clone().map(|p| refusal(snapshot, PodIdx::new(p))).collect(),
        replacement: pods.clone().map(|p| Incoming::replacement(snapshot, PodIdx::new(p))).collect(),
        timing: vec![Timing::AfterGone; snapshot.pods.len()],
        unit_of: vec![None; snapshot.pods.len()],
        units: Vec::new(),
        max_groups: request.budget.pod_groups.map(|n| i64::try_from(n).unwrap_or(i64::MAX)),
        caps: caps(snapshot, request),
        max_freed: request.max_freed_nodes.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        weights: request.weights.array(),
    };
    for at in 0..snapshot.nodes.len() {
        let facts = node_facts(&problem, NodeIdx::new(at));
        problem.nodes.push(facts);
    }
    problem
}

fn refusal(snapshot: &Snapshot, pod: PodIdx) -> Option<Reason> {
    snapshot.pod(pod).owner.is_none().then(|| super::reason::Code::BarePod.into())
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
    let mut facts = NodeFacts { role: Role::Out, kept: None, used, free: benefit - used, benefit, victims };
    let (role, kept) = role(problem, node, &facts);
    facts.role = role;
    facts.kept = kept;
    facts
}

fn role(problem: &Problem<'_>, node: NodeIdx, facts: &NodeFacts) -> (Role, Option<Kept>) {
    if facts.benefit <= 0 || facts.used == 0 {
        return (Role::Out, Some(Kept::Idle));
    }
    if facts.victims.is_empty() {
        return (Role::Out, Some(Kept::Emptying));
    }
    let snapshot = problem.snapshot;
    if snapshot.node(node).ready == crate::snapshot::model::Ready::No {
        return (Role::Out, Some(Kept::NotReady));
    }
    let blocked = facts.victims.iter().find_map(|&pod| {
        let reason = problem.refused[pod.at()].clone()?;
        (snapshot.pod(pod).phase != Phase::Unknown).then_some(Kept::UnmovablePod { pod, reason })
    });
    match blocked {
        Some(kept) => (Role::Stays, Some(kept)),
        None => (Role::Candidate, None),
    }
}
