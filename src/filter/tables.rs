//! What filters know about a snapshot that no change of the state touches: whose rules each class of pods follows,
//! and the answers of the class rules per pair of classes, as bit sets, worked out when first asked for.
//!
//! May import: snapshot, filter

use std::sync::OnceLock;

use fixedbitset::FixedBitSet;

use super::rules::{RuleSet, SchedulerRules, Schedulers};
use super::state::State;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeClassIdx, NodeIdx, NodeRulesIdx, SpecIdx};

/// Fixed knowledge about a snapshot.
#[derive(Debug)]
pub(super) struct Tables {
    /// Per spec; `None` for an undeclared scheduler.
    rules_of: Vec<Option<SchedulerRules>>,
    /// Per node, close together: every fast answer reads it.
    class_of: Vec<NodeClassIdx>,
    kube: RuleTable,
    volcano: RuleTable,
}

/// Fixed knowledge about one rule set.
#[derive(Debug)]
struct RuleTable {
    /// Per node rules: node classes that all class rules accept.
    rows: Vec<OnceLock<FixedBitSet>>,
    /// Per spec: only class rules and amounts decide.
    plain: Vec<OnceLock<bool>>,
}

impl RuleTable {
    fn new(snapshot: &Snapshot) -> Self {
        Self {
            rows: vec![OnceLock::new(); snapshot.node_rules.len()],
            plain: vec![OnceLock::new(); snapshot.specs.len()],
        }
    }
}

impl Tables {
    pub fn new(snapshot: &Snapshot, schedulers: &Schedulers) -> Self {
        let declared = schedulers.in_snapshot(snapshot);
        let rules_of = |name| declared.iter().find(|&&(n, _)| n == name).map(|&(_, rules)| rules);
        Self {
            rules_of: snapshot.specs.iter().map(|spec| rules_of(spec.scheduler)).collect(),
            class_of: snapshot.nodes.iter().map(|node| node.class).collect(),
            kube: RuleTable::new(snapshot),
            volcano: RuleTable::new(snapshot),
        }
    }

    pub fn rules_of(&self, spec: SpecIdx) -> Option<SchedulerRules> {
        self.rules_of[spec.at()]
    }

    /// The node's class.
    pub fn class_of(&self, node: NodeIdx) -> NodeClassIdx {
        self.class_of[node.at()]
    }

    const fn of(&self, rules: SchedulerRules) -> &RuleTable {
        match rules {
            SchedulerRules::Kube | SchedulerRules::Hami => &self.kube,
            SchedulerRules::Volcano => &self.volcano,
        }
    }

    /// Node classes that all class rules accept.
    pub fn accepted(&self, snapshot: &Snapshot, rules: SchedulerRules, pod: NodeRulesIdx) -> &FixedBitSet {
        self.of(rules).rows[pod.at()].get_or_init(|| row(snapshot, rules.set(), pod))
    }

    /// True when only class rules and amounts decide about pods of this spec.
    pub fn is_plain(&self, state: &State<'_>, rules: SchedulerRules, spec: SpecIdx) -> bool {
        *self.of(rules).plain[spec.at()].get_or_init(|| rules.set().is_plain(state, spec))
    }
}

fn row(snapshot: &Snapshot, rules: &RuleSet, pod: NodeRulesIdx) -> FixedBitSet {
    let pod = &snapshot.node_rules[pod.at()];
    let class_rules: Vec<_> = rules.plugins.iter().filter_map(|p| p.on_class()).collect();
    let mut accepted = FixedBitSet::with_capacity(snapshot.node_classes.len());
    for (at, class) in snapshot.node_classes.iter().enumerate() {
        let node = snapshot.node(class.representative);
        accepted.set(at, class_rules.iter().all(|rule| rule(snapshot, pod, node).is_ok()));
    }
    accepted
}
