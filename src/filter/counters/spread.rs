//! Pods per domain for spread constraints, with the least count kept ready.
//!
//! What a constraint counts depends on the incoming pod: its namespace, its other keys (a node must carry all), its
//! node selector and tolerations. Constraints that agree in all of it are one.
//!
//! May import: snapshot, filter

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::selection::Selection;
use super::topology::{Domain, KeyIdx, Topology};
use crate::filter::kube::{matches_node, untolerated};
use crate::filter::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::intern::Distinct;
use crate::snapshot::model::pod::Spread;
use crate::snapshot::model::{NodeIdx, NodeRulesIdx, PodSpec, Selector, SpecIdx, Sym};

/// A class of constraints.
pub type ConstraintIdx = u32;

/// Which nodes take part: those with all keys that the pod's selector and tolerations accept, as far as the
/// policies ask for it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Eligibility {
    keys: Vec<KeyIdx>,
    affinity_of: Option<NodeRulesIdx>,
    taints_of: Option<NodeRulesIdx>,
}

/// What makes constraints count the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Class {
    namespace: Sym,
    selector: Option<Selector>,
    key: KeyIdx,
    eligibility: usize,
}

/// What no change touches about a class.
#[derive(Debug)]
struct Fixed {
    key: KeyIdx,
    eligible: Arc<FixedBitSet>,
    /// Domains with an eligible node.
    domains: usize,
}

/// Counts of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counts {
    /// Pods per domain; domains without any are absent.
    pods: FxHashMap<Domain, u32>,
    /// Domains by their count, no zeros at the end.
    domains_with: Vec<u32>,
    /// The least count of a domain.
    least: u32,
}

#[derive(Debug)]
struct Constraints {
    topology: Arc<Topology>,
    fixed: Vec<Fixed>,
    /// Per spec: its own constraints, in order.
    of_spec: Vec<Vec<ConstraintIdx>>,
    /// Per spec: constraints, of whatever pod, that count it.
    counting: Vec<Vec<ConstraintIdx>>,
}

/// The counters.
#[derive(Clone, Debug)]
pub struct SpreadCounts {
    constraints: Arc<Constraints>,
    counts: Vec<Counts>,
}

impl PartialEq for SpreadCounts {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts
    }
}

impl SpreadCounts {
    /// Counters of an empty cluster.
    pub fn new(snapshot: &Snapshot, topology: &Arc<Topology>, selection: &Selection<'_>) -> Self {
        let constraints = Constraints::new(snapshot, topology, selection);
        let empty = |fixed: &Fixed| Counts {
            pods: FxHashMap::default(),
            domains_with: Vec::from_iter(u32::try_from(fixed.domains).ok().filter(|&n| n > 0)),
            least: 0,
        };
        Self { counts: constraints.fixed.iter().map(empty).collect(), constraints: Arc::new(constraints) }
    }

    /// Takes in one change. A terminating pod does not count.
    pub fn apply(&mut self, change: &Change) {
        if change.tenant.terminating {
            return;
        }
        let Constraints { topology, fixed, counting, .. } = &*self.constraints;
        for &constraint in &counting[change.tenant.spec.at()] {
            let Fixed { key, eligible, .. } = &fixed[constraint as usize];
            if eligible.contains(change.node.at())
                && let Some(domain) = topology.domain(*key, change.node)
            {
                self.counts[constraint as usize].shift(domain, change.arrives);
            }
        }
    }

    /// True when pods of this spec are counted at all.
    pub fn counts(&self, spec: SpecIdx) -> bool {
        !self.constraints.counting[spec.at()].is_empty()
    }

    /// The classes of a spec's constraints, in the order of the constraints.
    pub fn of_spec(&self, spec: SpecIdx) -> &[ConstraintIdx] {
        &self.constraints.of_spec[spec.at()]
    }

    /// The node's domain.
    pub fn domain(&self, constraint: ConstraintIdx, node: NodeIdx) -> Option<Domain> {
        self.constraints.topology.domain(self.constraints.fixed[constraint as usize].key, node)
    }

    /// True when pods on the node count.
    pub fn is_eligible(&self, constraint: ConstraintIdx, node: NodeIdx) -> bool {
        self.constraints.fixed[constraint as usize].eligible.contains(node.at())
    }

    /// Domains with an eligible node.
    pub fn domains(&self, constraint: ConstraintIdx) -> usize {
        self.constraints.fixed[constraint as usize].domains
    }

    /// Pods in a domain.
    pub fn pods(&self, constraint: ConstraintIdx, domain: Domain) -> u32 {
        self.counts[constraint as usize].pods.get(&domain).copied().unwrap_or(0)
    }

    /// The least count of a domain once `more` pods came into `domain`; 0 when there is no domain.
    pub fn least_with(&self, constraint: ConstraintIdx, domain: Domain, more: u32) -> u32 {
        let counts = &self.counts[constraint as usize];
        let here = self.pods(constraint, domain);
        if more == 0 || here > counts.least || counts.domains_with.get(here as usize) != Some(&1) {
            return counts.least;
        }
        // The domain was the only one with the least count.
        let others = counts.domains_with.iter().enumerate().skip(here as usize + 1);
        let next = others.filter(|&(_, &n)| n > 0).find_map(|(count, _)| u32::try_from(count).ok());
        next.unwrap_or(u32::MAX).min(here + more)
    }
}

impl Counts {
    fn shift(&mut self, domain: Domain, arrives: bool) {
        let before = self.pods.get(&domain).copied().unwrap_or(0);
        let after = if arrives { before + 1 } else { before.saturating_sub(1) };
        if after == 0 {
            self.pods.remove(&domain);
        } else {
            self.pods.insert(domain, after);
        }
        self.domains_with[before as usize] -= 1;
        if self.domains_with.len() <= after as usize {
            self.domains_with.resize(after as usize + 1, 0);
        }
        self.domains_with[after as usize] += 1;
        while self.domains_with.last() == Some(&0) {
            self.domains_with.pop();
        }
        // One domain moved by one: the least count follows it up only when it was the last one there.
        if after < self.least || self.domains_with.get(self.least as usize) == Some(&0) {
            self.least = after;
        }
    }
}

impl Constraints {
    fn new(snapshot: &Snapshot, topology: &Arc<Topology>, selection: &Selection<'_>) -> Self {
        let mut eligibilities: Distinct<Eligibility> = Distinct::default();
        let mut classes: Distinct<Class> = Distinct::default();
        let mut of_spec = Vec::with_capacity(snapshot.specs.len());
        for spec in &snapshot.specs {
            let of = spec.spread.iter().map(|constraint| {
                let eligibility = eligibilities.intern(eligibility(spec, constraint, topology));
                let class = Class {
                    namespace: spec.namespace,
                    selector: constraint.selector.clone(),
                    key: topology.key(constraint.topology_key),
                    eligibility,
                };
                ConstraintIdx::try_from(classes.intern(class)).expect("fewer than 2^32 constraints")
            });
            of_spec.push(of.collect());
        }
        let eligible: Vec<_> =
            eligibilities.values().iter().map(|e| Arc::new(e.nodes(snapshot, topology))).collect();
        let mut counting: Vec<Vec<ConstraintIdx>> = vec![Vec::new(); snapshot.specs.len()];
        for (at, class) in classes.values().iter().enumerate() {
            let at = ConstraintIdx::try_from(at).expect("fewer than 2^32 constraints");
            // A selector that selects everything counts nothing, oddly (rulebook 1.8).
            for selector in class.selector.iter().filter(|s| !s.is_empty()) {
                for spec in selection.in_namespace(selector, class.namespace) {
                    counting[spec.at()].push(at);
                }
            }
        }
        let fixed = classes.values().iter().map(|class| {
            let eligible = Arc::clone(&eligible[class.eligibility]);
            let domains = eligible.ones().filter_map(|node| topology.domain(class.key, NodeIdx::new(node)));
            let domains = domains.collect::<FxHashSet<_>>().len();
            Fixed { key: class.key, eligible, domains }
        });
        let fixed = fixed.collect();
        Self { topology: Arc::clone(topology), fixed, of_spec, counting }
    }
}

fn eligibility(spec: &PodSpec, constraint: &Spread, topology: &Topology) -> Eligibility {
    let mut keys: Vec<_> = spec.spread.iter().map(|s| topology.key(s.topology_key)).collect();
    keys.sort_unstable();
    keys.dedup();
    Eligibility {
        keys,
        affinity_of: constraint.honor_affinity.then_some(spec.node_rules),
        taints_of: constraint.honor_taints.then_some(spec.node_rules),
    }
}

impl Eligibility {
    fn nodes(&self, snapshot: &Snapshot, topology: &Topology) -> FixedBitSet {
        let mut nodes = FixedBitSet::with_capacity(snapshot.nodes.len());
        for class in &snapshot.node_classes {
            let node = snapshot.node(class.representative);
            let rules = |at: NodeRulesIdx| &snapshot.node_rules[at.at()];
            let accepted = self.affinity_of.is_none_or(|at| matches_node(snapshot, rules(at), node))
                && self.taints_of.is_none_or(|at| untolerated(rules(at), node).is_none());
            let has_keys = |&&node: &&NodeIdx| self.keys.iter().all(|&k| topology.domain(k, node).is_some());
            if accepted {
                nodes.extend(class.nodes.iter().filter(has_keys).map(|node| node.at()));
            }
        }
        nodes
    }
}
