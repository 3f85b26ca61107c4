//! `DynamicResources`: devices for the claims of a pod (rulebook 1.13) and for extended resources that a device class
//! serves (rulebook 1.1 step 5).
//!
//! Modelled: structured allocation with counts, "all", `firstAvailable`, CEL selectors, constraints, device taints,
//! admin access, incomplete and outdated pools, named claims and claims of templates. Unknown, and said so: devices
//! that several claims may hold, shared counters, binding conditions of allocated claims, constraints on attributes
//! with several values. Nominated pods never count here.
//!
//! May import: snapshot, filter

pub(in crate::filter) mod claims;
mod constraints;
pub(in crate::filter) mod extended;
pub(in crate::filter) mod search;
pub(in crate::filter) mod selectors;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use claims::{PodClaims, refuse};
use extended::Delegated;
use search::Stop;

use crate::filter::counters::devices::Standing;
use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::dra::ClaimSpec;
use crate::snapshot::model::{NodeIdx, SpecIdx};

/// The plugin.
#[derive(Debug)]
pub struct DynamicResources {
    /// Extended resources may be served by device classes. Volcano never does that (rulebook 2.2).
    pub extended_resources: bool,
}

impl Plugin for DynamicResources {
    fn name(&self) -> PluginName {
        PluginName::DynamicResources
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let snapshot = state.snapshot();
        let spec = snapshot.spec(spec);
        !spec.claims.is_empty() || (self.extended_resources && extended::wants(snapshot, spec))
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let (snapshot, devices) = (context.snapshot(), &context.state.counters.devices);
        if !self.concerns(context.state, context.incoming.spec) {
            return PreFilter::Skip;
        }
        let found = claims::resolve(snapshot, devices, context.incoming, self.extended_resources);
        let extended = self.extended_resources && extended::wants(snapshot, context.spec());
        match found {
            Err(failure) => PreFilter::Reject(failure),
            Ok(claims) if claims.is_empty() && !extended => PreFilter::Skip,
            Ok(claims) => PreFilter::check(move |at: Visit<'_>| check(context, &claims, extended, at.node)),
        }
    }
}

fn check(context: Context<'_>, claims: &PodClaims<'_>, extended: bool, node: NodeIdx) -> Result<(), Failure> {
    let (snapshot, devices) = (context.snapshot(), &context.state.counters.devices);
    if claims.leftover {
        let text = "the claim for extended resources is left over from an earlier attempt".to_owned();
        return Err(refuse(text));
    }
    let mut wanted: Vec<Cow<'_, ClaimSpec>> =
        claims.fresh.iter().map(|(_, spec)| Cow::Borrowed(&**spec)).collect();
    if extended {
        match extended::delegated(snapshot, context.spec(), node) {
            Delegated::Lacks(resource) => {
                return Err(refuse(format!("the node has no {}", snapshot.resource_name(resource))));
            }
            Delegated::Nothing => {}
            Delegated::Claim(spec) => wanted.push(Cow::Owned(spec)),
        }
    }
    if !wanted.is_empty() {
        match devices.allocate(snapshot, node, &wanted) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(short(context, &wanted, node)),
            Err(stop) => return Err(stopped(stop)),
        }
    }
    let standing = |&claim: &_| devices.standing(snapshot, claim);
    for claim in &claims.there {
        let there = match standing(claim) {
            Standing::Free => true,
            Standing::Planned(on) => on == node,
            Standing::Allocated(allocation) => {
                let node = snapshot.node(node);
                let nodes = allocation.nodes.as_ref();
                nodes.is_none_or(|nodes| nodes.matches(Some(node.name), &node.labels, &snapshot.symbols))
            }
        };
        if !there {
            let name = snapshot.text(snapshot.dra.claim(*claim).name);
            return Err(refuse(format!("the devices of claim {name} are not on the node")));
        }
    }
    if claims.there.iter().any(|c| matches!(standing(c), Standing::Allocated(a) if a.conditional)) {
        return Err(stopped(Stop::Unknown("binding conditions of allocated devices".to_owned())));
    }
    Ok(())
}

/// The refusal with how many devices are wanted and free.
fn short(context: Context<'_>, wanted: &[Cow<'_, ClaimSpec>], node: NodeIdx) -> Failure {
    let (snapshot, devices) = (context.snapshot(), &context.state.counters.devices);
    let pools = snapshot.dra.pools_of(node).iter().flat_map(|pool| pool.devices.iter());
    let free = pools.filter(|&&at| !devices.is_used(snapshot.dra.devices[at as usize].id)).count();
    let requests = wanted.iter().map(|claim| claim.requests.len()).sum::<usize>();
    refuse(format!("devices for all {requests} requests can not be found among the {free} free ones"))
}

fn stopped(stop: Stop) -> Failure {
    let (code, detail) = match stop {
        Stop::Error(text) => (Code::Error, Detail::Object { text }),
        Stop::Unknown(text) => (Code::Unknown, Detail::NotModelled { text }),
    };
    Failure { plugin: PluginName::DynamicResources, code, detail }
}
