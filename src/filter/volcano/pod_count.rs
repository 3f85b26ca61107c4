//! The pod count of the `predicates` plugin: terminating pods hold their slot (rulebook 2.2).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::{ResourceIdx, SpecIdx};

/// The rule.
#[derive(Debug)]
pub struct PodCount;

impl Plugin for PodCount {
    fn name(&self) -> PluginName {
        PluginName::Predicates
    }

    fn concerns(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        true
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        PreFilter::check(move |at| {
            let limit = context.snapshot().node(at.node).allocatable[ResourceIdx::PODS.at()];
            let pods = limit - context.state.counters.amounts.slots(at.node);
            if pods < limit {
                return Ok(());
            }
            let detail = Detail::TooManyPods { pods, limit };
            Err(Failure { plugin: PluginName::Predicates, code: Code::Unschedulable, detail })
        })
    }
}
