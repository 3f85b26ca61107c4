//! `NodeResourcesFit`: amounts and the number of pods (rulebook 1.1).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::{NodeIdx, ResourceIdx, SpecIdx};

/// The plugin.
#[derive(Debug)]
pub struct NodeResourcesFit;

impl Plugin for NodeResourcesFit {
    fn name(&self) -> PluginName {
        PluginName::NodeResourcesFit
    }

    fn concerns(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        true
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        PreFilter::check(move |at| check(context, at))
    }
}

/// True when the pod fits as far as amounts and the number of pods go.
pub(super) fn has_room(state: &State<'_>, spec: SpecIdx, node: NodeIdx) -> bool {
    let (snapshot, amounts) = (state.snapshot(), &state.counters.amounts);
    let limit = snapshot.node(node).allocatable[ResourceIdx::PODS.at()];
    let free = amounts.free(node);
    let requests = snapshot.requests(snapshot.spec(spec).requests);
    amounts.pods(node) < limit && requests.0.iter().all(|&(r, need)| need <= free[r.at()])
}

fn check(context: Context<'_>, at: Visit<'_>) -> Result<(), Failure> {
    let (snapshot, amounts) = (context.snapshot(), &context.state.counters.amounts);
    let allocatable = &snapshot.node(at.node).allocatable;
    let fail = |code, detail| Err(Failure { plugin: PluginName::NodeResourcesFit, code, detail });
    let pods = amounts.pods(at.node) + i64::try_from(at.guests.len()).unwrap_or(i64::MAX);
    let limit = allocatable[ResourceIdx::PODS.at()];
    let mut worst: Option<(Code, Detail)> = None;
    for &(resource, need) in &snapshot.requests(context.spec().requests).0 {
        let guests = at.guests.iter().map(|g| snapshot.requests(g.charged).get(resource)).sum::<i64>();
        let have = amounts.free(at.node)[resource.at()] - guests;
        if need <= have {
            continue;
        }
        // Several shortages make one refusal; it is final as soon as one of them is.
        let hopeless = need > allocatable[resource.at()];
        let code = if hopeless { Code::Unresolvable } else { Code::Unschedulable };
        if worst.as_ref().is_none_or(|(so_far, _)| hopeless && *so_far != Code::Unresolvable) {
            worst = Some((code, Detail::Insufficient { resource, need, have }));
        }
    }
    match worst {
        Some((Code::Unresolvable, detail)) => fail(Code::Unresolvable, detail),
        _ if pods >= limit => fail(Code::Unschedulable, Detail::TooManyPods { pods, limit }),
        Some((code, detail)) => fail(code, detail),
        None => Ok(()),
    }
}
