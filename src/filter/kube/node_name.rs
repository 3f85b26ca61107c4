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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{Pass, Unresolvable, node, pod, table};

    #[test]
    fn a_named_node_is_the_only_one_and_need_not_exist() {
        let nodes = || vec![node("n1", "", ""), node("n2", "", "")];
        let lines = [
            ("no name", nodes(), pod("new", "", ""), "n1", Pass),
            ("this node", nodes(), pod("new", "", "nodeName: n1"), "n1", Pass),
            ("another node", nodes(), pod("new", "", "nodeName: n1"), "n2", Unresolvable),
            ("no such node", nodes(), pod("new", "", "nodeName: n9"), "n1", Unresolvable),
        ];
        table(PluginName::NodeName, &lines);
    }
}
