//! Native gang scheduling: a pod that refers to a group of the workload API is scheduled with that group, which is not
//! modelled (rulebook 1.14). Where it goes is unknown.
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::SpecIdx;

/// The rule; last, since it stands for whatever the group decides after the Filters.
#[derive(Debug)]
pub struct NativeGroup;

impl Plugin for NativeGroup {
    fn name(&self) -> PluginName {
        PluginName::NativeGroup
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        state.snapshot().spec(spec).native_group
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        if !context.spec().native_group {
            return PreFilter::Skip;
        }
        let text = "it is scheduled with a group of the workload API, which is not modelled".to_owned();
        PreFilter::check(move |_| {
            let detail = Detail::NotModelled { text: text.clone() };
            Err(Failure { plugin: PluginName::NativeGroup, code: Code::Unknown, detail })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fail, Pass, node, pod, table};
    use crate::filter::PluginName;

    #[test]
    fn a_pod_of_a_native_group_fits_nowhere_for_all_that_is_known() {
        let nodes = vec![node("n1", "", "")];
        let of_group = pod("p", "", "schedulingGroup: {podGroupName: g}");
        table(
            PluginName::NativeGroup,
            &[
                ("1.14", nodes.clone(), of_group, "n1", Fail),
                ("1.14, no group", nodes, pod("p", "", ""), "n1", Pass),
            ],
        );
    }
}
