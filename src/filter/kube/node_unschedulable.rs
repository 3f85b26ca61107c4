//! `NodeUnschedulable`: a cordoned node takes only pods that tolerate it (rulebook 1.5).
//!
//! The field decides, whether the taint is there yet or not.
//!
//! May import: snapshot, filter

use crate::filter::plugin::{ClassRule, Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Effect, Node, NodeRules, SpecIdx, Sym, Taint};

/// Taint that the node controller sets on a cordoned node.
const KEY: &str = "node.kubernetes.io/unschedulable";

/// The plugin.
#[derive(Debug)]
pub struct NodeUnschedulable;

impl Plugin for NodeUnschedulable {
    fn name(&self) -> PluginName {
        PluginName::NodeUnschedulable
    }

    fn concerns(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        true
    }

    fn on_class(&self) -> Option<ClassRule> {
        Some(rule)
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        PreFilter::Check(super::ask_class(context, rule))
    }
}

fn rule(snapshot: &Snapshot, pod: &NodeRules, node: &Node) -> Result<(), Failure> {
    if !node.unschedulable {
        return Ok(());
    }
    // Where no object writes the key, only a toleration of every key covers the taint: any foreign symbol does.
    let key = snapshot.symbols.find(KEY).unwrap_or(Sym(u32::MAX));
    let taint = Taint { key, value: Sym::EMPTY, effect: Effect::NoSchedule };
    if pod.tolerations.iter().any(|t| t.tolerates(&taint)) {
        return Ok(());
    }
    Err(Failure { plugin: PluginName::NodeUnschedulable, code: Code::Unresolvable, detail: Detail::Cordoned })
}
