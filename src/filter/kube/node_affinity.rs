//! `NodeAffinity`: the node selector and the required node affinity (rulebook 1.2).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{ClassRule, Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::selector::NodeTerm;
use crate::snapshot::model::{Node, NodeRules, Op, SpecIdx, Sym};

/// The plugin.
#[derive(Debug)]
pub struct NodeAffinity;

impl Plugin for NodeAffinity {
    fn name(&self) -> PluginName {
        PluginName::NodeAffinity
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let snapshot = state.snapshot();
        !is_absent(&snapshot.node_rules[snapshot.spec(spec).node_rules.at()])
    }

    fn on_class(&self) -> Option<ClassRule> {
        Some(rule)
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let pod = context.node_rules();
        if is_absent(pod) {
            return PreFilter::Skip;
        }
        match named(pod) {
            None => PreFilter::Check(super::ask_class(context, rule)),
            // Terms that name no node in common: the refusal comes before any node is asked.
            Some(names) if names.is_empty() => PreFilter::Reject(failure()),
            Some(names) => PreFilter::Only(names, super::ask_class(context, rule)),
        }
    }
}

fn is_absent(pod: &NodeRules) -> bool {
    pod.node_selector.is_empty() && pod.affinity.is_none()
}

fn failure() -> Failure {
    Failure { plugin: PluginName::NodeAffinity, code: Code::Unresolvable, detail: Detail::Selector }
}

fn rule(snapshot: &Snapshot, pod: &NodeRules, node: &Node) -> Result<(), Failure> {
    if matches(snapshot, pod, node) { Ok(()) } else { Err(failure()) }
}

/// True when selector and affinity accept the node; spread constraints ask for it as well.
pub(in crate::filter) fn matches(snapshot: &Snapshot, pod: &NodeRules, node: &Node) -> bool {
    pod.node_selector.iter().all(|&(key, value)| node.labels.get(key) == Some(value))
        && pod.affinity.as_ref().is_none_or(|a| a.matches(node.name, &node.labels, &snapshot.symbols))
}

/// The nodes that the affinity names, if every term names some: names intersect inside a term, terms unite.
fn named(pod: &NodeRules) -> Option<Vec<Sym>> {
    let terms = &pod.affinity.as_ref()?.0;
    let of_term = |term: &NodeTerm| {
        let mut lists = term.fields.iter().filter(|r| r.op == Op::In).map(|r| &r.values);
        let first = lists.next()?.to_vec();
        Some(lists.fold(first, |left, values| left.into_iter().filter(|n| values.contains(n)).collect()))
    };
    let mut names = terms.iter().map(of_term).collect::<Option<Vec<_>>>()?.concat();
    names.sort_unstable();
    names.dedup();
    (!terms.is_empty()).then_some(names)
}
