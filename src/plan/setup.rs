//! From a request to a [`Problem`]: everything that both algorithms look up.
//!
//! May import: snapshot, filter, plan

use crate::filter::{Incoming, State};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, Ready, ResourceIdx};

use super::fate::Fates;
use super::leaving;
use super::movability::Facts;
use super::pending;
use super::problem::{Cap, NodeFacts, Problem, Role};
use super::request::Request;
use super::types::Reserved;

/// A task and the cluster that it starts from: rooms of waiting and of returning pods are taken.
pub(super) struct Start<'s> {
    pub problem: Problem<'s>,
    pub state: State<'s>,
    /// Waiting pods first.
    pub reserved: Vec<Reserved>,
}

/// Looks everything up and keeps the room that no move may take.
///
/// # Errors
/// A sentence when the scope can not be resolved.
pub(super) fn start<'s>(
    snapshot: &'s Snapshot,
    request: &Request,
    resource: ResourceIdx,
) -> Result<Start<'s>, String> {
    let mut problem = setup(snapshot, request, resource)?;
    let mut state = State::with_schedulers(snapshot, &request.movability.declared_rules());
    state.release_claims();
    let mut reserved = pending::reserve(snapshot, resource, &mut problem.nodes, &mut state);
    reserved.extend(leaving::reserve(&mut problem, &mut state));
    Ok(Start { problem, state, reserved })
}

/// Looks everything up.
///
/// # Errors
/// A sentence when the scope can not be resolved.
fn setup<'s>(
    snapshot: &'s Snapshot,
    request: &Request,
    resource: ResourceIdx,
) -> Result<Problem<'s>, String> {
    let pods = (0..snapshot.pods.len()).map(PodIdx::new);
    let named = |name: &String| snapshot.node_named(name).ok_or_else(|| format!("there is no node {name}"));
    let mut problem = Problem {
        snapshot,
        resource,
        held: snapshot.pods.iter().map(|pod| snapshot.requests(pod.charged).get(resource)).collect(),
        facts: Facts::of(snapshot, resource, request)?,
        nodes: Vec::with_capacity(snapshot.nodes.len()),
        replacement: pods.map(|p| Incoming::replacement(snapshot, p)).collect(),
        max_groups: request.budget.pod_groups.map(|n| i64::try_from(n).unwrap_or(i64::MAX)),
        caps: caps(snapshot, request),
        max_freed: request.max_freed_nodes.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        must: request.must_free.as_ref().map(named).transpose()?,
        weights: request.weights.array(),
    };
    for at in 0..snapshot.nodes.len() {
        let facts = node_facts(&problem, NodeIdx::new(at));
        problem.nodes.push(facts);
    }
    if snapshot.pods.iter().any(|pod| pod.terminating) {
        for pod in leaving::returning(snapshot, &Fates::new(snapshot)) {
            if let Some(node) = snapshot.pod(pod).node.filter(|_| problem.need_of(pod) > 0) {
                problem.nodes[node.at()].leaving.push(pod);
            }
        }
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
    let holders = snapshot.pods_on[node.at()].iter().copied().filter(|&p| problem.cards(p) > 0);
    let used: i64 = holders.clone().map(|p| problem.cards(p)).sum();
    let benefit = snapshot.node(node).allocatable[resource.at()];
    let mut victims: Vec<PodIdx> = holders.filter(|&p| !snapshot.pod(p).terminating).collect();
    problem.sort_victims(&mut victims);
    let kept = problem.facts.node_block(snapshot, node);
    let receives = problem.facts.scope.node(node).not_receiving.is_none();
    let role = match (kept.is_none(), receives) {
        (true, true) => Role::Candidate,
        (true, false) => Role::OnlyCandidate,
        (false, true) => Role::Stays,
        (false, false) => Role::Out,
    };
    let own = snapshot.node(node);
    let takes_back = own.ready == Ready::Yes && !own.unschedulable && !own.is_leaving(&snapshot.symbols);
    NodeFacts { role, kept, used, free: benefit - used, benefit, victims, takes_back, leaving: Vec::new() }
}
