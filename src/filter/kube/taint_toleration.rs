//! `TaintToleration`: every `NoSchedule` and `NoExecute` taint must be tolerated (rulebook 1.3).
//!
//! The comparison operators `Lt` and `Gt` are behind a gate that is off by default: they tolerate nothing.
//!
//! May import: snapshot, filter

use crate::filter::plugin::{ClassRule, Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Effect, Node, NodeRules, SpecIdx, Taint};

/// The plugin.
#[derive(Debug)]
pub struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> PluginName {
        PluginName::TaintToleration
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

fn rule(_: &Snapshot, pod: &NodeRules, node: &Node) -> Result<(), Failure> {
    match untolerated(pod, node) {
        None => Ok(()),
        Some(&Taint { key, value, .. }) => Err(Failure {
            plugin: PluginName::TaintToleration,
            code: Code::Unresolvable,
            detail: Detail::Taint { key, value },
        }),
    }
}

/// The first taint of the node that keeps the pod away; spread constraints ask for it as well.
pub(in crate::filter) fn untolerated<'n>(pod: &NodeRules, node: &'n Node) -> Option<&'n Taint> {
    let filters = |t: &&Taint| matches!(t.effect, Effect::NoSchedule | Effect::NoExecute);
    node.taints.iter().filter(filters).find(|taint| !pod.tolerations.iter().any(|t| t.tolerates(taint)))
}

/// True when the pod may be bound to the node and is evicted again after a while: the first toleration that covers one
/// of its `NoExecute` taints is for some seconds only.
pub fn tolerated_for_a_while(pod: &NodeRules, node: &Node) -> bool {
    let evicting = node.taints.iter().filter(|taint| taint.effect == Effect::NoExecute);
    evicting.filter_map(|taint| pod.tolerations.iter().find(|t| t.tolerates(taint))).any(|t| t.finite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{Expect, Pass, Unresolvable, node, pod, table};

    fn line<'a>(
        number: &'a str,
        tolerations: &str,
        taints: &str,
        expected: Expect,
    ) -> (&'a str, Vec<String>, String, &'a str, Expect) {
        let node = node("n1", "", &format!("taints: [{taints}]"));
        (number, vec![node], pod("new", "", &format!("tolerations: [{tolerations}]")), "n1", expected)
    }

    #[test]
    fn taints_as_in_the_rulebook() {
        let gpu = "{key: gpu, value: 'true', effect: NoSchedule}";
        let not_ready = "{key: node.kubernetes.io/not-ready, effect: NoSchedule}, \
                         {key: node.kubernetes.io/not-ready, effect: NoExecute}";
        let for_a_while = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}";
        let lines = [
            line("T1", "{key: gpu, operator: Exists}", gpu, Pass),
            line("T2", "{key: gpu, operator: Equal, value: ''}", gpu, Unresolvable),
            line("T3", "{operator: Exists}", &format!("{gpu}, {not_ready}"), Pass),
            line("T4", "", "{key: x, value: y, effect: PreferNoSchedule}", Pass),
            line(
                "T5",
                "{key: x, operator: Exists, effect: NoExecute, tolerationSeconds: 30}",
                "{key: x, value: y, effect: NoExecute}",
                Pass,
            ),
            line(
                "T6",
                "{key: x, operator: Exists, effect: NoExecute}",
                "{key: x, value: y, effect: NoSchedule}",
                Unresolvable,
            ),
            line("T8", for_a_while, not_ready, Unresolvable),
            line(
                "T11, gate off",
                "{key: sla, operator: Gt, value: '80', effect: NoSchedule}",
                "{key: sla, value: '90', effect: NoSchedule}",
                Unresolvable,
            ),
        ];
        table(PluginName::TaintToleration, &lines);
    }

    #[test]
    fn t7_conditions_are_not_read() {
        let unknown = node("n1", "", "").replacen(
            "status: {",
            "status: {conditions: [{type: Ready, status: Unknown}], ",
            1,
        );
        table(PluginName::TaintToleration, &[("T7", vec![unknown], pod("new", "", ""), "n1", Pass)]);
    }
}
