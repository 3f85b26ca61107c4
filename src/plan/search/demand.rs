//! What replacements ask for and what receivers have left, as vectors of numbers.
//!
//! A *dimension* is one resource as one scheduler counts it; card, cpu and memory of a Volcano pod are compared in
//! Volcano's units, and a placed pod takes its part in every dimension. Beyond the amounts only the rules on node
//! classes are known here: all else is left to the Filters, so that what does not fit here never fits.
//!
//! May import: snapshot, filter, plan

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use super::field::Field;
use crate::filter::{Prepared, SchedulerRules, State};
use crate::plan::problem::{Problem, Role};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, NodeRulesIdx, PodIdx, ResourceIdx, SpecIdx};

/// One resource in the units of one scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub rules: SchedulerRules,
    pub resource: ResourceIdx,
}

/// Replacements that ask for the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Demand {
    /// Cards.
    pub cards: i64,
    /// Amount taken in every dimension.
    pub takes: Vec<i64>,
    /// Dimensions that its scheduler compares.
    pub compares: Vec<usize>,
    /// Which set of node classes accepts it.
    pub accepted: usize,
}

/// All demands of the victims of the candidates.
#[derive(Debug)]
pub(super) struct Demands {
    pub dimensions: Vec<Dimension>,
    pub classes: Vec<Demand>,
    /// Sets of node classes that accept some demand.
    pub accepted: Vec<FixedBitSet>,
    /// By candidate: the demands of its [`leavers`], in their order.
    pub of_candidate: Vec<Vec<u32>>,
}

impl Demands {
    pub fn new(field: &Field<'_, '_>, state: &State<'_>) -> Self {
        let problem = field.problem;
        let snapshot = problem.snapshot;
        let spec_of = |pod: PodIdx| problem.replacement[pod.at()].spec;
        let mut specs: Vec<SpecIdx> =
            field.candidates.iter().flat_map(|&node| leavers(problem, node).map(&spec_of)).collect();
        let all = specs.clone();
        specs.sort_unstable();
        specs.dedup();
        let rules_of = |spec| match state.rules_of(spec) {
            Some(SchedulerRules::Volcano) => SchedulerRules::Volcano,
            _ => SchedulerRules::Kube,
        };
        let dimensions = dimensions(snapshot, &specs, rules_of);
        let mut accepted: Vec<FixedBitSet> = Vec::new();
        let mut set_index: FxHashMap<&FixedBitSet, usize> = FxHashMap::default();
        let mut classes: Vec<Demand> = Vec::new();
        let mut class_index: FxHashMap<Demand, u32> = FxHashMap::default();
        let mut class_of: FxHashMap<SpecIdx, u32> = FxHashMap::default();
        let mut set_of_rules: FxHashMap<(SchedulerRules, NodeRulesIdx), usize> = FxHashMap::default();
        // The first pod of each spec asks on behalf of all.
        let mut asked: FxHashMap<SpecIdx, crate::filter::Incoming> = FxHashMap::default();
        for &node in &field.candidates {
            for pod in leavers(problem, node) {
                let incoming = problem.replacement[pod.at()];
                asked.entry(incoming.spec).or_insert(incoming);
            }
        }
        for &spec in &specs {
            let rules = rules_of(spec);
            let key = (rules, snapshot.spec(spec).node_rules);
            let set = *set_of_rules.entry(key).or_insert_with(|| {
                let bits = Prepared::new(state, asked[&spec]).accepted_classes();
                *set_index.entry(bits).or_insert_with(|| {
                    accepted.push(bits.clone());
                    accepted.len() - 1
                })
            });
            let amount = |d: &Dimension| amounts(snapshot, spec, d.rules, d.resource);
            let compares = (0..dimensions.len()).filter(|&at| {
                let d = dimensions[at];
                d.rules == rules
                    && (amount(&d) > 0 || rules == SchedulerRules::Volcano && is_always(d.resource))
            });
            let demand = Demand {
                cards: snapshot.requests(snapshot.spec(spec).requests).get(problem.resource),
                takes: dimensions.iter().map(amount).collect(),
                compares: compares.collect(),
                accepted: set,
            };
            let at = *class_index.entry(demand).or_insert_with_key(|demand| {
                classes.push(demand.clone());
                u32::try_from(classes.len() - 1).unwrap_or(u32::MAX)
            });
            class_of.insert(spec, at);
        }
        let mut next = all.into_iter();
        let of_candidate = field
            .candidates
            .iter()
            .map(|&node| next.by_ref().take(leavers(problem, node).count()).map(|s| class_of[&s]).collect())
            .collect();
        Self { dimensions, classes, accepted, of_candidate }
    }

    /// What a node has left in every dimension.
    pub fn left(&self, state: &State<'_>, node: NodeIdx) -> Vec<i64> {
        self.dimensions.iter().map(|d| state.left(d.rules, node, d.resource)).collect()
    }
}

/// Pods of a candidate whose replacements need a place elsewhere: its victims, then those that are terminating.
pub(super) fn leavers(problem: &Problem<'_>, node: NodeIdx) -> impl Iterator<Item = PodIdx> {
    let facts = problem.node(node);
    facts.victims.iter().chain(&facts.leaving).copied()
}

/// Nodes that may receive.
pub(super) fn receivers<'f>(field: &'f Field<'_, '_>) -> impl Iterator<Item = NodeIdx> + 'f {
    let receives = |node: &NodeIdx| matches!(field.problem.node(*node).role, Role::Stays | Role::Candidate);
    (0..field.problem.nodes.len()).map(NodeIdx::new).filter(receives)
}

/// Volcano compares cpu and memory even of a pod that asks for none.
fn is_always(resource: ResourceIdx) -> bool {
    resource == ResourceIdx::CPU || resource == ResourceIdx::MEMORY
}

fn amounts(snapshot: &Snapshot, spec: SpecIdx, rules: SchedulerRules, resource: ResourceIdx) -> i64 {
    let spec = snapshot.spec(spec);
    let requests = match rules {
        SchedulerRules::Volcano => spec.volcano_requests,
        SchedulerRules::Kube | SchedulerRules::Hami => spec.requests,
    };
    snapshot.requests(requests).get(resource)
}

fn dimensions(
    snapshot: &Snapshot,
    specs: &[SpecIdx],
    rules_of: impl Fn(SpecIdx) -> SchedulerRules,
) -> Vec<Dimension> {
    let mut dimensions: Vec<Dimension> = Vec::new();
    for &spec in specs {
        let rules = rules_of(spec);
        for at in 0..snapshot.resources.len() {
            let dimension = Dimension { rules, resource: ResourceIdx::new(at) };
            let wanted = amounts(snapshot, spec, rules, dimension.resource) > 0
                || rules == SchedulerRules::Volcano && is_always(dimension.resource);
            // A resource that device classes serve needs no amount on the node.
            let delegated = snapshot.dra.class_serving(dimension.resource).is_some();
            if wanted && !delegated && !dimensions.contains(&dimension) {
                dimensions.push(dimension);
            }
        }
    }
    dimensions.sort_by_key(|d| (d.rules, d.resource));
    dimensions
}
