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
