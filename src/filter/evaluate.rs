//! Asks a rule set about one pod: once as a whole, then node by node.
//!
//! A [`Prepared`] borrows the state, so its answers can not outlive a change. Making one costs next to nothing for
//! pods that only class rules and amounts concern; [`Prepared::fits`] then is a bit test and a few comparisons.
//!
//! May import: snapshot, filter

use std::cell::OnceCell;

use fixedbitset::FixedBitSet;

use super::plugin::{Check, Context, Plugin, PreFilter, Visit};
use super::rules::{RuleSet, SchedulerRules};
use super::state::{Incoming, State, Tenant};
use super::verdict::{Code, Detail, Failure, Verdict};
use crate::snapshot::model::{NodeIdx, PodIdx, SpecIdx, Sym};

/// One pod, ready to be compared with nodes.
pub struct Prepared<'a> {
    context: Context<'a>,
    rules: &'static RuleSet,
    /// Node classes that the class rules accept.
    accepted: &'a FixedBitSet,
    /// Only class rules and amounts decide.
    plain: bool,
    full: OnceCell<Full<'a>>,
}

/// What the plugins said beforehand.
struct Full<'a> {
    /// In the order of the rule set.
    steps: Vec<(&'static dyn Plugin, PreFilter<'a>)>,
    /// Positions of the steps that look at more than class rules.
    rest: Vec<usize>,
    /// The refusal that ended the round before any node was asked.
    rejected: Option<Failure>,
}

/// What the scheduler of the pod says about one node. To ask about many nodes, keep a [`Prepared`].
pub fn evaluate(state: &State<'_>, incoming: Incoming, node: NodeIdx) -> Verdict {
    Prepared::new(state, incoming).verdict(node)
}

/// Every plugin that refuses a node when it is the only one, in the order of the rule set.
pub fn explain(state: &State<'_>, incoming: Incoming, node: NodeIdx) -> Vec<Failure> {
    Prepared::new(state, incoming).explain(node)
}

impl<'a> Prepared<'a> {
    /// Prepares a pod under the rules of its scheduler; those of kube where nobody declared that scheduler.
    pub fn new(state: &'a State<'a>, incoming: Incoming) -> Self {
        let rules = state.rules_of(incoming.spec).unwrap_or(SchedulerRules::Kube);
        Self::with_rules(state, rules, incoming)
    }

    /// Prepares a pod under given rules.
    pub fn with_rules(state: &'a State<'a>, rules: SchedulerRules, incoming: Incoming) -> Self {
        let state = state.seen_by(rules);
        let snapshot = state.snapshot();
        let accepted = state.tables().accepted(snapshot, rules, snapshot.spec(incoming.spec).node_rules);
        let plain = state.tables().is_plain(state, rules, incoming.spec);
        let context = Context { state, incoming };
        Self { context, rules: rules.set(), accepted, plain, full: OnceCell::new() }
    }

    /// True when only class rules and amounts decide about this pod.
    pub const fn is_plain(&self) -> bool {
        self.plain
    }

    /// Node classes that no class rule refuses; only their nodes can pass.
    pub const fn accepted_classes(&self) -> &'a FixedBitSet {
        self.accepted
    }

    /// True when the pod would be bound to the node now: the same as `verdict(node).passes()`, only faster.
    pub fn fits(&self, node: NodeIdx) -> bool {
        if !self.has_room(node) {
            return false;
        }
        let state = self.context.state;
        if self.rules.nominations && state.has_nominees(node) {
            return self.verdict(node).passes();
        }
        self.plain || self.passes_the_rest(node)
    }

    /// True when node classes and amounts let the pod in, whatever the other rules say.
    pub fn has_room(&self, node: NodeIdx) -> bool {
        let state = self.context.state;
        self.accepted.contains(state.tables().class_of(node).at())
            && (self.rules.has_room)(state, self.context.incoming.spec, node)
    }

    /// The plugins without class rules; no guests.
    fn passes_the_rest(&self, node: NodeIdx) -> bool {
        let full = self.full();
        let name = self.context.snapshot().node(node).name;
        let passes = |&at: &usize| {
            let said = &full.steps[at].1;
            !self.leaves_out(said, name)
                && said.as_check().is_none_or(|check| check.check(Visit::plain(node)).is_ok())
        };
        full.rejected.is_none() && full.rest.iter().all(passes)
    }

    /// What the scheduler says: the first failure in its order.
    pub fn verdict(&self, node: NodeIdx) -> Verdict {
        let full = self.full();
        if let Some(failure) = &full.rejected {
            return Verdict::Fail(failure.clone());
        }
        let name = self.context.snapshot().node(node).name;
        if let Some((plugin, _)) = full.steps.iter().find(|(_, said)| self.leaves_out(said, name)) {
            return Verdict::Fail(left_out(*plugin));
        }
        let guests = self.guests(node);
        if !guests.is_empty()
            && let verdict = self.first(full, Visit { node, guests: &guests })
            && !verdict.passes()
        {
            return verdict;
        }
        self.first(full, Visit::plain(node))
    }

    /// Every plugin that refuses the node when it is the only one, in the order of the rule set.
    pub fn explain(&self, node: NodeIdx) -> Vec<Failure> {
        let name = self.context.snapshot().node(node).name;
        let guests = self.guests(node);
        let mut failures = Vec::new();
        for (plugin, said) in &self.full().steps {
            let failure = match said {
                PreFilter::Skip => None,
                PreFilter::Reject(failure) => Some(failure.clone()),
                PreFilter::Only(..) if self.leaves_out(said, name) => Some(left_out(*plugin)),
                PreFilter::Only(_, check) | PreFilter::Check(check) => {
                    let crowded =
                        if guests.is_empty() { Ok(()) } else { check.check(Visit { node, guests: &guests }) };
                    crowded.and_then(|()| check.check(Visit::plain(node))).err()
                }
            };
            failures.extend(failure);
        }
        failures
    }

    fn first(&self, full: &Full<'a>, visit: Visit<'_>) -> Verdict {
        for (at, (_, said)) in full.steps.iter().enumerate() {
            let Some(check) = said.as_check() else { continue };
            if let Err(failure) = check.check(visit) {
                let waits = at >= self.rules.waits_from;
                return if waits { Verdict::Wait(failure) } else { Verdict::Fail(failure) };
            }
        }
        Verdict::Pass
    }

    fn leaves_out(&self, said: &PreFilter<'a>, node: Sym) -> bool {
        self.rules.narrows && matches!(said, PreFilter::Only(names, _) if !names.contains(&node))
    }

    fn full(&self) -> &Full<'a> {
        self.full.get_or_init(|| {
            let ask = |&plugin: &&'static dyn Plugin| (plugin, plugin.pre_filter(self.context));
            let steps: Vec<_> = self.rules.plugins.iter().map(ask).collect();
            let rejected = self.rejection(&steps);
            let looks = |(_, said): &(_, PreFilter<'_>)| !matches!(said, PreFilter::Skip);
            let rest = (0..steps.len()).filter(|&at| steps[at].0.on_class().is_none() && looks(&steps[at]));
            Full { rest: rest.collect(), steps, rejected }
        })
    }

    /// The first plugin that refuses all nodes, or after which no possible name is left.
    fn rejection(&self, steps: &[(&'static dyn Plugin, PreFilter<'a>)]) -> Option<Failure> {
        let mut possible: Option<Vec<Sym>> = None;
        for (plugin, said) in steps {
            match said {
                PreFilter::Reject(failure) => return Some(failure.clone()),
                PreFilter::Only(names, _) if self.rules.narrows => {
                    let left = match possible {
                        None => names.clone(),
                        Some(before) => before.into_iter().filter(|n| names.contains(n)).collect(),
                    };
                    if left.is_empty() {
                        return Some(left_out(*plugin));
                    }
                    possible = Some(left);
                }
                _ => {}
            }
        }
        None
    }

    /// Pods that count on the node although they are only nominated to it.
    fn guests(&self, node: NodeIdx) -> Vec<Tenant> {
        let Context { state, incoming } = self.context;
        if !self.rules.nominations {
            return Vec::new();
        }
        let snapshot = state.snapshot();
        let me = snapshot.spec(incoming.spec);
        let mine = state.rules_of(incoming.spec);
        // Only the scheduler that decides knows a nomination: one process serves all profiles declared as kube. It
        // is also the one that is meant when a pod of Volcano is asked about under kube's rules.
        let knows = |other: SpecIdx| match state.rules_of(other) {
            Some(SchedulerRules::Kube) => {
                matches!(mine, Some(SchedulerRules::Kube | SchedulerRules::Volcano))
            }
            Some(SchedulerRules::Volcano) => false,
            Some(SchedulerRules::Hami) | None => snapshot.spec(other).scheduler == me.scheduler,
        };
        let counts = |&&pod: &&PodIdx| {
            let spec = snapshot.pod(pod).spec;
            incoming.pod != Some(pod) && snapshot.spec(spec).priority >= me.priority && knows(spec)
        };
        state.nominees(node).iter().filter(counts).map(|&pod| Tenant::live(snapshot, pod)).collect()
    }
}

impl PreFilter<'_> {
    fn as_check(&self) -> Option<&dyn Check> {
        match self {
            Self::Check(check) | Self::Only(_, check) => Some(&**check),
            Self::Skip | Self::Reject(_) => None,
        }
    }
}

/// A node that a plugin left out beforehand.
fn left_out(plugin: &dyn Plugin) -> Failure {
    Failure { plugin: plugin.name(), code: Code::Unresolvable, detail: Detail::OtherNode }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{asks, candidate, cluster, node, node_with, pod};
    use crate::filter::{PluginName, State};

    fn first(verdict: Verdict) -> Option<PluginName> {
        match verdict {
            Verdict::Pass => None,
            Verdict::Wait(failure) | Verdict::Fail(failure) => Some(failure.plugin),
        }
    }

    #[test]
    fn the_first_plugin_in_kubes_order_is_reported_and_all_are_explained() {
        let full = node_with(
            "n1",
            "",
            "unschedulable: true, taints: [{key: t, effect: NoSchedule}]",
            "cpu: 1, pods: 9",
        );
        let snapshot =
            cluster(&[full], &pod("new", "", &format!("nodeSelector: {{zone: a}}, {}", asks("cpu: 2"))));
        let state = State::live(&snapshot);
        let (incoming, n1) = (candidate(&snapshot), NodeIdx::new(0));
        assert_eq!(first(evaluate(&state, incoming, n1)), Some(PluginName::NodeUnschedulable));
        let all: Vec<_> = explain(&state, incoming, n1).iter().map(|f| f.plugin).collect();
        assert_eq!(
            all,
            [
                PluginName::NodeUnschedulable,
                PluginName::TaintToleration,
                PluginName::NodeAffinity,
                PluginName::NodeResourcesFit
            ]
        );
    }

    #[test]
    fn a_plugin_that_names_the_nodes_is_reported_before_any_other() {
        let cordoned = node("n2", "", "unschedulable: true");
        let snapshot = cluster(&[node("n1", "", ""), cordoned], &pod("new", "", "nodeName: n1"));
        let state = State::live(&snapshot);
        let verdict = evaluate(&state, candidate(&snapshot), NodeIdx::new(1));
        assert_eq!(first(verdict), Some(PluginName::NodeName));
    }

    #[test]
    fn f96_thousands_of_pods_that_repel_each_other_are_planned_one_by_one() {
        let repels = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
                      [{labelSelector: {matchLabels: {app: web}}, topologyKey: host}]}}";
        let nodes: Vec<_> = (0..60).map(|n| node(&format!("n{n:02}"), &format!("host: h{n}"), "")).collect();
        let snapshot = cluster(&nodes, &pod("new", "app: web", repels));
        let mut state = State::live(&snapshot);
        let incoming = Incoming { pod: None, ..candidate(&snapshot) };
        for at in 0..60 {
            let fitting = |state: &State<'_>| {
                let prepared = Prepared::new(state, incoming);
                (0..60).map(NodeIdx::new).filter(|&n| prepared.fits(n)).collect::<Vec<_>>()
            };
            let free = fitting(&state);
            assert_eq!(free, (at..60).map(NodeIdx::new).collect::<Vec<_>>());
            state.place(incoming, free[0]);
        }
    }

    #[test]
    fn pods_that_nothing_but_amounts_concerns_take_the_fast_path() {
        let lonely = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
                      [{labelSelector: {matchLabels: {app: web}}, topologyKey: host}]}}";
        let objects = [node("n1", "host: h1", ""), pod("other", "", &format!("nodeName: n1, {lonely}"))];
        for (labels, plain) in [("app: db", true), ("app: web", false)] {
            let snapshot = cluster(&objects, &pod("new", labels, ""));
            let state = State::live(&snapshot);
            let prepared = Prepared::new(&state, candidate(&snapshot));
            assert_eq!((prepared.is_plain(), prepared.fits(NodeIdx::new(0))), (plain, plain));
        }
    }
}
