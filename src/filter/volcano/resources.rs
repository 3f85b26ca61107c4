//! Allocate's comparison of amounts: the request against FutureIdle, and last against Idle (rulebook 2.3).
//!
//! Idle = allocatable + oversubscription − charged; FutureIdle = Idle + what terminating pods give back. cpu and
//! memory are always compared, other names when they are written in the request, zero included. A pod that requests
//! nothing goes through backfill, which compares nothing.
//!
//! May import: snapshot, filter

use super::csi;
use crate::filter::plugin::{Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::{NodeIdx, Requests, ResourceIdx, SpecIdx, Sym};

/// Fits once the releasing pods are gone; asked first.
#[derive(Debug)]
pub struct FutureRoom;

/// Fits now; asked last.
#[derive(Debug)]
pub struct RoomNow;

impl Plugin for FutureRoom {
    fn name(&self) -> PluginName {
        PluginName::Resources
    }

    fn concerns(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        true
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        compare(context, true)
    }
}

impl Plugin for RoomNow {
    fn name(&self) -> PluginName {
        PluginName::Resources
    }

    fn concerns(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        true
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        compare(context, false)
    }
}

fn compare(context: Context<'_>, future: bool) -> PreFilter<'_> {
    let Context { state, incoming } = context;
    let snapshot = context.snapshot();
    let requests = snapshot.requests(context.spec().volcano_requests);
    let volumes = csi::units(snapshot, incoming.spec, incoming.name);
    if volumes.is_empty() && is_best_effort(requests) {
        return PreFilter::Skip;
    }
    PreFilter::check(move |at| {
        let short = shortage(state, requests, at.node, future)
            .or_else(|| volume_shortage(state, &volumes, at.node, future))
            .or_else(|| slot_shortage(state, at.node, future));
        let Some(detail) = short else { return Ok(()) };
        Err(Failure { plugin: PluginName::Resources, code: Code::Unschedulable, detail })
    })
}

/// Nothing but zeros is requested.
fn is_best_effort(requests: &Requests) -> bool {
    requests.0.iter().all(|&(_, amount)| amount == 0)
}

/// True when the pod fits as far as amounts and the number of pods go; its volumes are not looked at.
pub(super) fn has_room(state: &State<'_>, spec: SpecIdx, node: NodeIdx) -> bool {
    let snapshot = state.snapshot();
    let requests = snapshot.requests(snapshot.spec(spec).volcano_requests);
    state.counters.amounts.slots(node) > 0
        && (is_best_effort(requests) || shortage(state, requests, node, false).is_none())
}

/// What of the request does not fit.
fn shortage(state: &State<'_>, requests: &Requests, node: NodeIdx, future: bool) -> Option<Detail> {
    let always = [ResourceIdx::CPU, ResourceIdx::MEMORY];
    let written = requests.0.iter().copied();
    let implied = always.into_iter().filter(|&r| !requests.0.iter().any(|&(w, _)| w == r)).map(|r| (r, 0));
    let (idle, releasing) = (state.counters.amounts.idle(node), state.counters.amounts.releasing(node));
    implied.chain(written).find_map(|(resource, need)| {
        let have = idle[resource.at()] + if future { releasing[resource.at()] } else { 0 };
        (need > have).then_some(Detail::Insufficient { resource, need, have })
    })
}

fn volume_shortage(state: &State<'_>, units: &[(Sym, i64)], node: NodeIdx, future: bool) -> Option<Detail> {
    units.iter().find_map(|&(driver, new)| {
        let (used, releasing) = state.counters.csi_units.on(node, driver);
        let attached = if future { used - releasing } else { used };
        let limit = csi::limit(state.snapshot(), node, driver);
        (attached + new > limit).then_some(Detail::VolumeLimit { attached, new, limit })
    })
}

/// "pods: 1" is a scalar like the others, so a slot that a terminating pod will free counts in the future.
fn slot_shortage(state: &State<'_>, node: NodeIdx, future: bool) -> Option<Detail> {
    let amounts = &state.counters.amounts;
    let leaving = if future { amounts.releasing_pods(node) } else { 0 };
    let limit = state.snapshot().node(node).allocatable[ResourceIdx::PODS.at()];
    let pods = limit - amounts.slots(node) - leaving;
    (pods >= limit).then_some(Detail::TooManyPods { pods, limit })
}
