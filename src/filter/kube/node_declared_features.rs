//! `NodeDeclaredFeatures`: the node must declare every feature that the pod needs (rulebook 1.14).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{ClassRule, Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Node, NodeRules, SpecIdx};

/// The plugin.
#[derive(Debug)]
pub struct NodeDeclaredFeatures;

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> PluginName {
        PluginName::NodeDeclaredFeatures
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let snapshot = state.snapshot();
        !snapshot.node_rules[snapshot.spec(spec).node_rules.at()].features.is_empty()
    }

    fn on_class(&self) -> Option<ClassRule> {
        Some(rule)
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        if context.node_rules().features.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Check(super::ask_class(context, rule))
    }
}

fn rule(snapshot: &Snapshot, pod: &NodeRules, node: &Node) -> Result<(), Failure> {
    match pod.features.iter().find(|feature| node.features.binary_search(feature).is_err()) {
        None => Ok(()),
        Some(&feature) => Err(Failure {
            plugin: PluginName::NodeDeclaredFeatures,
            code: Code::Unresolvable,
            detail: Detail::Object { text: format!("the node does not declare {}", snapshot.text(feature)) },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pass, Unresolvable, node, pod, table};
    use crate::filter::PluginName;

    #[test]
    fn a_pod_that_restarts_all_containers_needs_a_node_that_declares_it() {
        let rule =
            "restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [1]}}]";
        let needs = pod("p", "", &format!("containers: [{{name: c, {rule}}}]"));
        let plain = pod("p", "", "");
        let without = node("n1", "", "");
        let with = without.replace(
            "status: {",
            "status: {declaredFeatures: [Other, RestartAllContainersOnContainerExits], ",
        );
        table(
            PluginName::NodeDeclaredFeatures,
            &[
                ("N1", vec![without.clone()], needs.clone(), "n1", Unresolvable),
                ("N1 declared", vec![with], needs, "n1", Pass),
                ("N1 plain pod", vec![without], plain, "n1", Pass),
            ],
        );
    }
}
