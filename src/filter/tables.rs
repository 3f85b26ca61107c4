//! What filters know about a snapshot that no change of the state touches: whose rules each class of pods follows,
//! and the answers of the class rules per pair of classes, as bit sets, worked out when first asked for.
//!
//! May import: snapshot, filter

use std::sync::OnceLock;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use super::rules::{RuleSet, SchedulerRules, Schedulers};
use super::state::State;
use crate::snapshot::Snapshot;
use crate::snapshot::model::selector::{NodeTerm, Requirement};
use crate::snapshot::model::{NodeClassIdx, NodeIdx, NodeRules, NodeRulesIdx, Op, SpecIdx, Sym};

/// Fixed knowledge about a snapshot.
#[derive(Debug)]
pub(super) struct Tables {
    /// Per spec; `None` for an undeclared scheduler.
    rules_of: Vec<Option<SchedulerRules>>,
    /// Per node, close together: every fast answer reads it.
    class_of: Vec<NodeClassIdx>,
    index: OnceLock<ClassIndex>,
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
    /// Per spec: what others do may turn a rule against a pod that stands.
    may_turn: Vec<OnceLock<bool>>,
}

impl RuleTable {
    fn new(snapshot: &Snapshot) -> Self {
        Self {
            rows: vec![OnceLock::new(); snapshot.node_rules.len()],
            plain: vec![OnceLock::new(); snapshot.specs.len()],
            may_turn: vec![OnceLock::new(); snapshot.specs.len()],
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
            index: OnceLock::new(),
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
        self.of(rules).rows[pod.at()].get_or_init(|| self.row(snapshot, rules.set(), pod))
    }

    /// True when only class rules and amounts decide about pods of this spec.
    pub fn is_plain(&self, state: &State<'_>, rules: SchedulerRules, spec: SpecIdx) -> bool {
        *self.of(rules).plain[spec.at()].get_or_init(|| rules.set().is_plain(state, spec))
    }

    /// True when what others do may turn a rule against a pod of this spec that stands.
    pub fn may_turn(&self, state: &State<'_>, rules: SchedulerRules, spec: SpecIdx) -> bool {
        *self.of(rules).may_turn[spec.at()].get_or_init(|| rules.set().may_turn(state, spec))
    }

    fn row(&self, snapshot: &Snapshot, rules: &RuleSet, pod: NodeRulesIdx) -> FixedBitSet {
        let pod = &snapshot.node_rules[pod.at()];
        let class_rules: Vec<_> = rules.plugins.iter().filter_map(|p| p.on_class()).collect();
        let mut accepted = FixedBitSet::with_capacity(snapshot.node_classes.len());
        let mut ask = |at: usize| {
            let node = snapshot.node(snapshot.node_classes[at].representative);
            accepted.set(at, class_rules.iter().all(|rule| rule(snapshot, pod, node).is_ok()));
        };
        match self.index.get_or_init(|| ClassIndex::new(snapshot)).named_by(pod) {
            Some(named) => named.into_iter().for_each(ask),
            None => (0..snapshot.node_classes.len()).for_each(&mut ask),
        }
        accepted
    }
}

/// Node classes by what selectors say of them: thousands of pods that each name a node would otherwise be compared
/// with every class.
#[derive(Debug, Default)]
struct ClassIndex {
    of_label: FxHashMap<(Sym, Sym), Vec<usize>>,
    of_name: FxHashMap<Sym, Vec<usize>>,
}

impl ClassIndex {
    fn new(snapshot: &Snapshot) -> Self {
        let mut index = Self::default();
        for (at, class) in snapshot.node_classes.iter().enumerate() {
            let node = snapshot.node(class.representative);
            index.of_name.entry(node.name).or_default().push(at);
            for &pair in node.labels.pairs() {
                index.of_label.entry(pair).or_default().push(at);
            }
        }
        index
    }

    /// The only classes that `NodeAffinity`, which is in every rule set, may accept; `None` where that could be any.
    fn named_by(&self, pod: &NodeRules) -> Option<Vec<usize>> {
        if let Some(pair) = pod.node_selector.first() {
            return Some(self.of_label.get(pair).cloned().unwrap_or_default());
        }
        let terms = &pod.affinity.as_ref()?.0;
        let of_term = |term: &NodeTerm| -> Option<Vec<usize>> {
            let is_in = |r: &&Requirement| r.op == Op::In;
            if let Some(label) = term.labels.iter().find(is_in) {
                let classes = label.values.iter().filter_map(|&value| self.of_label.get(&(label.key, value)));
                return Some(classes.flatten().copied().collect());
            }
            let names = &term.fields.iter().find(is_in)?.values;
            Some(names.iter().filter_map(|name| self.of_name.get(name)).flatten().copied().collect())
        };
        let mut classes = terms.iter().map(of_term).collect::<Option<Vec<_>>>()?.concat();
        classes.sort_unstable();
        classes.dedup();
        Some(classes)
    }
}
