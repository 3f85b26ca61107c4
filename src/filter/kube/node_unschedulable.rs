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
    let key = snapshot.symbols.find(KEY).unwrap_or(Sym::UNSET);
    let taint = Taint { key, value: Sym::EMPTY, effect: Effect::NoSchedule };
    if pod.tolerations.iter().any(|t| t.tolerates(&taint)) {
        return Ok(());
    }
    Err(Failure { plugin: PluginName::NodeUnschedulable, code: Code::Unresolvable, detail: Detail::Cordoned })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{Pass, Unresolvable, node, pod, table};

    #[test]
    fn the_field_decides_and_a_toleration_of_its_taint_helps() {
        let cordoned = || vec![node("n1", "", "unschedulable: true")];
        let tolerant = |t: &str| pod("new", "", &format!("tolerations: [{t}]"));
        let exists = "{key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}";
        let other = "{key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoExecute}";
        let lines = [
            ("T9", cordoned(), pod("new", "", ""), "n1", Unresolvable),
            ("T10", cordoned(), tolerant(exists), "n1", Pass),
            ("T10, another effect", cordoned(), tolerant(other), "n1", Unresolvable),
            ("T10, every key", cordoned(), tolerant("{operator: Exists}"), "n1", Pass),
        ];
        table(PluginName::NodeUnschedulable, &lines);
    }
}
