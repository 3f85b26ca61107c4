//! The pods that are asked about, by template.
//!
//! May import: snapshot, filter, plan

use fixedbitset::FixedBitSet;

use crate::filter::{Incoming, Prepared, SchedulerRules, State};
use crate::plan::problem::Problem;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, PodSpec, ResourceIdx, SpecIdx, Sym};

/// Pods of one spec.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub spec: SpecIdx,
    /// By name.
    pub pods: Vec<PodIdx>,
    pub rules: SchedulerRules,
    /// What each asks for, in the units of the rules; zeros left out.
    pub amounts: Vec<(ResourceIdx, i64)>,
    /// Cards of each.
    pub cards: i64,
    /// Only class rules and amounts decide about them.
    pub plain: bool,
    /// Nodes that the class rules accept.
    pub accepted: FixedBitSet,
    /// Where two of them never stand together.
    pub apart: Option<Apart>,
}

/// What two pods of a part never share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apart {
    /// A node.
    Node,
    /// A domain of this label; nodes without it are no domain.
    Domain(Sym),
}

/// The parts, large pods first: cards, cpu, memory, then name.
pub(super) fn parts(problem: &Problem<'_>, state: &State<'_>) -> Vec<Part> {
    let snapshot = problem.snapshot;
    let mut parts: Vec<Part> = Vec::new();
    for &pod in &snapshot.candidates {
        let spec = snapshot.pod(pod).spec;
        match parts.iter_mut().rev().find(|part| part.spec == spec) {
            Some(part) => part.pods.push(pod),
            None => parts.push(part(problem, state, pod)),
        }
    }
    let amount = |part: &Part, resource| snapshot.requests(snapshot.spec(part.spec).requests).get(resource);
    parts.sort_by_key(|part| {
        let order = [part.cards, amount(part, ResourceIdx::CPU), amount(part, ResourceIdx::MEMORY)];
        (order.map(std::cmp::Reverse), part.pods[0])
    });
    parts
}

fn part(problem: &Problem<'_>, state: &State<'_>, pod: PodIdx) -> Part {
    let snapshot = problem.snapshot;
    let idx = snapshot.pod(pod).spec;
    let spec = snapshot.spec(idx);
    let rules = match state.rules_of(idx) {
        Some(SchedulerRules::Volcano) => SchedulerRules::Volcano,
        _ => SchedulerRules::Kube,
    };
    let requests = if rules == SchedulerRules::Volcano { spec.volcano_requests } else { spec.requests };
    let prepared = Prepared::new(state, Incoming::pending(snapshot, pod));
    let classes = prepared.accepted_classes();
    let nodes = (0..snapshot.nodes.len()).map(NodeIdx::new);
    Part {
        spec: idx,
        pods: vec![pod],
        rules,
        amounts: snapshot.requests(requests).0.iter().copied().filter(|&(_, need)| need > 0).collect(),
        cards: snapshot.requests(spec.requests).get(problem.resource),
        plain: prepared.is_plain(),
        accepted: nodes
            .filter(|&node| classes.contains(snapshot.node(node).class.at()))
            .map(NodeIdx::at)
            .collect(),
        apart: apart(snapshot, spec),
    }
}

fn apart(snapshot: &Snapshot, spec: &PodSpec) -> Option<Apart> {
    if !spec.host_ports.is_empty() {
        return Some(Apart::Node);
    }
    let repels_its_like = spec.anti_affinity.iter().find(|term| {
        let selects =
            |selector: &crate::snapshot::model::Selector| selector.matches(&spec.labels, &snapshot.symbols);
        term.namespaces.contains(&spec.namespace) && term.selector.as_ref().is_some_and(selects)
    });
    repels_its_like.map(|term| Apart::Domain(term.topology_key))
}
