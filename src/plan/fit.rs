//! Whether replicas that are only asked about find room: in the cluster as it is, or once a plan is carried out.
//!
//! Each replica gets the fullest node that its scheduler accepts; idle and freed nodes count. Rooms of waiting pods are
//! taken first, as in any plan.
//!
//! May import: snapshot, filter, plan

use std::cmp::Reverse;

use super::problem::{Problem, Role};
use super::request::Request;
use super::setup::{Start, start};
use super::types::Plan;
use crate::filter::{Incoming, Prepared, SchedulerRules, State};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx};

/// Where replicas find room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seats {
    /// Replicas and their nodes.
    pub seated: Vec<(PodIdx, NodeIdx)>,
    /// Replicas without room.
    pub standing: Vec<PodIdx>,
}

/// Seats for the pods that are asked about ([`Snapshot::candidates`]), now or after `plan`.
///
/// # Errors
/// A sentence when the request can not be resolved.
pub fn seats(snapshot: &Snapshot, request: &Request, plan: Option<&Plan>) -> Result<Seats, String> {
    let (problem, mut state) = task(snapshot, request)?;
    if let Some(plan) = plan {
        for m in &plan.moves {
            state.remove(m.pod);
        }
        for m in &plan.moves {
            state.place(problem.replacement[m.pod.at()], m.to);
        }
    }
    let mut seats = Seats::default();
    for &pod in &snapshot.candidates {
        let incoming = Incoming::pending(snapshot, pod);
        let node = {
            let prepared = Prepared::new(&state, incoming);
            let fits = |node: &NodeIdx| prepared.fits(*node);
            let fullest = |node: &NodeIdx| (state.left(SchedulerRules::Kube, *node, problem.resource), *node);
            (0..snapshot.nodes.len()).map(NodeIdx::new).filter(fits).min_by_key(fullest)
        };
        match node {
            Some(node) => {
                state.place(incoming, node);
                seats.seated.push((pod, node));
            }
            None => seats.standing.push(pod),
        }
    }
    Ok(seats)
}

/// What to know about the request, as sentences without a full stop: scopes that name nothing, and the like.
///
/// # Errors
/// Like [`seats`].
pub fn noticed(snapshot: &Snapshot, request: &Request) -> Result<Vec<String>, String> {
    let (problem, _) = task(snapshot, request)?;
    Ok(problem.facts.scope.warnings.iter().chain(&problem.facts.movability.warnings).cloned().collect())
}

/// Candidates of a plan on which an emptied node would seat a replica, by name.
///
/// # Errors
/// Like [`seats`].
pub fn worth_emptying(snapshot: &Snapshot, request: &Request) -> Result<Vec<NodeIdx>, String> {
    let (problem, state) = task(snapshot, request)?;
    let Some(asked) = Asked::of(snapshot, &state) else { return Ok(Vec::new()) };
    let is_candidate =
        |node: &NodeIdx| matches!(problem.node(*node).role, Role::Candidate | Role::OnlyCandidate);
    let gains = |node: &NodeIdx| asked.seats_of_all(snapshot, *node) > asked.seats_left(&state, *node);
    Ok((0..snapshot.nodes.len()).map(NodeIdx::new).filter(is_candidate).filter(gains).collect())
}

/// No plan that empties at most `freed` nodes makes room for more replicas than this: those that amounts and node
/// classes leave room for now, and the most that so many emptied nodes add.
///
/// # Errors
/// Like [`seats`].
pub fn most_seats(snapshot: &Snapshot, request: &Request, freed: usize) -> Result<i64, String> {
    let (problem, state) = task(snapshot, request)?;
    let Some(asked) = Asked::of(snapshot, &state) else { return Ok(0) };
    let nodes = || (0..snapshot.nodes.len()).map(NodeIdx::new);
    let now: i64 = nodes().map(|node| asked.seats_left(&state, node)).sum();
    let is_candidate =
        |node: &NodeIdx| matches!(problem.node(*node).role, Role::Candidate | Role::OnlyCandidate);
    let gain = |node: NodeIdx| asked.seats_of_all(snapshot, node) - asked.seats_left(&state, node);
    let mut gains: Vec<i64> = nodes().filter(is_candidate).map(gain).filter(|&gain| gain > 0).collect();
    gains.sort_unstable_by_key(|&gain| Reverse(gain));
    let by_nodes = now + gains.iter().take(freed).sum::<i64>();
    // Moving a pod takes as many cards elsewhere as it gives back.
    let cards = asked.amounts.iter().find(|&&(resource, _)| resource == problem.resource);
    let by_cards = cards.filter(|_| problem.keeps_its_load()).map(|&(resource, need)| {
        let left: i64 = nodes().map(|node| state.left(asked.rules, node, resource).max(0)).sum();
        left / need
    });
    Ok(by_cards.map_or(by_nodes, |by_cards| by_nodes.min(by_cards)))
}

fn task<'s>(snapshot: &'s Snapshot, request: &Request) -> Result<(Problem<'s>, State<'s>), String> {
    let Some(resource) = snapshot.resource_named(&request.resource) else {
        return Err(format!("no node provides and no pod requests {}", request.resource));
    };
    let Start { problem, state, .. } = start(snapshot, request, resource)?;
    Ok((problem, state))
}

/// The replicas, which are all alike, as amounts in the units of their scheduler.
struct Asked {
    rules: SchedulerRules,
    amounts: Vec<(ResourceIdx, i64)>,
    /// By node: the class rules accept it.
    accepted: Vec<bool>,
}

impl Asked {
    fn of(snapshot: &Snapshot, state: &State<'_>) -> Option<Self> {
        let &pod = snapshot.candidates.first()?;
        let spec = snapshot.spec_of(pod);
        let rules = match state.rules_of(snapshot.pod(pod).spec) {
            Some(SchedulerRules::Volcano) => SchedulerRules::Volcano,
            _ => SchedulerRules::Kube,
        };
        let requests = if rules == SchedulerRules::Volcano { spec.volcano_requests } else { spec.requests };
        let amounts = snapshot.requests(requests).0.iter().copied().filter(|&(_, need)| need > 0).collect();
        let classes = Prepared::new(state, Incoming::pending(snapshot, pod)).accepted_classes().clone();
        let accepted = snapshot.nodes.iter().map(|node| classes.contains(node.class.at())).collect();
        Some(Self { rules, amounts, accepted })
    }

    /// Replicas for which a node has room now, by amounts.
    fn seats_left(&self, state: &State<'_>, node: NodeIdx) -> i64 {
        self.seats(node, |resource| state.left(self.rules, node, resource)).min(state.slots(node).max(0))
    }

    /// Replicas that an empty node holds.
    fn seats_of_all(&self, snapshot: &Snapshot, node: NodeIdx) -> i64 {
        self.seats(node, |resource| {
            let all = snapshot.node(node).allocatable[resource.at()];
            let thousandths = self.rules == SchedulerRules::Volcano
                && !matches!(resource, ResourceIdx::CPU | ResourceIdx::MEMORY);
            if thousandths { all.saturating_mul(1_000) } else { all }
        })
    }

    fn seats(&self, node: NodeIdx, has: impl Fn(ResourceIdx) -> i64) -> i64 {
        if !self.accepted[node.at()] {
            return 0;
        }
        let fits = self.amounts.iter().map(|&(resource, need)| has(resource).max(0) / need);
        fits.min().unwrap_or(0)
    }
}
