//! `NodeName`: a pod that names a node goes nowhere else (rulebook 1.5).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{ClassRule, Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Node, NodeRules, SpecIdx, Sym};

/// The plugin.
#[derive(Debug)]
pub struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> PluginName {
        PluginName::NodeName
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let snapshot = state.snapshot();
        snapshot.node_rules[snapshot.spec(spec).node_rules.at()].node_name != Sym::EMPTY
    }

    fn on_class(&self) -> Option<ClassRule> {
        Some(rule)
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        match context.node_rules().node_name {
            Sym::EMPTY => PreFilter::Skip,
            name => PreFilter::Only(vec![name], super::ask_class(context, rule)),
        }
    }
}

fn rule(_: &Snapshot, pod: &NodeRules, node: &Node) -> Result<(), Failure> {
    if pod.node_name == Sym::EMPTY || pod.node_name == node.name {
        return Ok(());
    }
    Err(Failure { plugin: PluginName::NodeName, code: Code::Unresolvable, detail: Detail::OtherNode })
}
