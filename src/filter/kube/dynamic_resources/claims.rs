//! Which claims a pod has, and which of them still need devices (rulebook 1.13).
//!
//! May import: snapshot, filter

use std::borrow::Cow;

use crate::filter::counters::devices::{Devices, Standing};
use crate::filter::state::Incoming;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::dra::{Claim, ClaimSpec};
use crate::snapshot::model::pod::ClaimSource;
use crate::snapshot::model::{ClaimIdx, PodIdx, Sym};

/// The claims of a pod.
#[derive(Debug, Default)]
pub(in crate::filter) struct PodClaims<'a> {
    /// Claims that are there, allocated or not, in the order of the pod.
    pub there: Vec<ClaimIdx>,
    /// What has to be allocated, and the claim if it is there: a replacement gets claims that do not exist yet.
    pub fresh: Vec<(Option<ClaimIdx>, Cow<'a, ClaimSpec>)>,
    /// The scheduler's own claim for extended resources is left over from an earlier attempt.
    pub leftover: bool,
}

impl PodClaims<'_> {
    /// True when the pod has no claim at all.
    pub fn is_empty(&self) -> bool {
        self.there.is_empty() && self.fresh.is_empty() && !self.leftover
    }
}

/// Finds the claims of a pod. Fails where the scheduler refuses all nodes.
pub(in crate::filter) fn resolve<'a>(
    snapshot: &'a Snapshot,
    devices: &Devices,
    incoming: Incoming,
    extended_resources: bool,
) -> Result<PodClaims<'a>, Failure> {
    let mut claims = PodClaims::default();
    let spec = snapshot.spec(incoming.spec);
    // Missing claims are found first, whatever is wrong with the others.
    let mut found: Vec<Found<'a>> = Vec::with_capacity(spec.claims.len());
    for entry in &spec.claims {
        match entry.source {
            ClaimSource::Named(name) => found.push(Found::Claim(existing(snapshot, spec.namespace, name)?)),
            ClaimSource::Template(template) => {
                found.extend(of_template(snapshot, incoming, spec.namespace, entry.name, template)?);
            }
        }
    }
    let me = incoming.pod.map(|pod| (snapshot.pod(pod).name, snapshot.pod(pod).uid));
    if extended_resources && super::extended::wants(snapshot, spec) {
        let own = |claim: &Claim| {
            claim.extended
                && claim.namespace == spec.namespace
                && me.is_some_and(|(n, uid)| claim.is_for(n, uid))
        };
        claims.leftover = me.is_some() && snapshot.dra.claims.iter().any(own);
    }
    for found in found {
        let (claim, spec) = match found {
            Found::New(spec) => (None, spec),
            Found::Claim(claim) => (Some(claim), &snapshot.dra.specs[snapshot.dra.claim(claim).spec.at()]),
        };
        claims.there.extend(claim);
        // A claim with all its 256 consumers is not refused here: the scheduler notices only when it binds.
        let is_free = claim.is_none_or(|claim| matches!(devices.standing(snapshot, claim), Standing::Free));
        if !is_free {
            continue;
        }
        check_classes(snapshot, spec)?;
        claims.fresh.push((claim, Cow::Borrowed(spec)));
    }
    Ok(claims)
}

/// A claim of the pod.
enum Found<'a> {
    Claim(ClaimIdx),
    /// Will be made from this.
    New(&'a ClaimSpec),
}

fn existing(snapshot: &Snapshot, namespace: Sym, name: Sym) -> Result<ClaimIdx, Failure> {
    let text = || snapshot.text(name);
    let claim = snapshot.dra.claim_named(namespace, name);
    let claim = claim.ok_or_else(|| refuse(format!("there is no claim {}", text())))?;
    if snapshot.dra.claim(claim).deleting {
        return Err(refuse(format!("claim {} is being deleted", text())));
    }
    Ok(claim)
}

/// The claim made from a template for this pod; none when the pod needs none.
fn of_template(
    snapshot: &Snapshot,
    incoming: Incoming,
    namespace: Sym,
    entry: Sym,
    template: Sym,
) -> Result<Option<Found<'_>>, Failure> {
    let generated = |pod: PodIdx| {
        let names = &snapshot.pod(pod).details().claim_names;
        names.iter().find(|(own, _)| *own == entry).map(|&(_, claim)| claim)
    };
    if let Some(pod) = incoming.pod {
        let Some(name) = generated(pod) else {
            return Err(refuse(format!("the claim {} of the pod is not made yet", snapshot.text(entry))));
        };
        if name == Sym::EMPTY {
            return Ok(None);
        }
        let claim = existing(snapshot, namespace, name)?;
        let object = snapshot.pod(pod);
        if !snapshot.dra.claim(claim).is_for(object.name, object.uid) {
            return Err(refuse(format!("claim {} was made for another pod", snapshot.text(name))));
        }
        return Ok(Some(Found::Claim(claim)));
    }
    // A replacement gets a claim of its own. Where the template was not read, its predecessor's claim tells what.
    let spec = snapshot.dra.template_named(namespace, template).map(|template| template.spec);
    let spec = spec.or_else(|| {
        let name = generated(incoming.replaces?)?;
        snapshot.dra.claim_named(namespace, name).map(|claim| snapshot.dra.claim(claim).spec)
    });
    match spec {
        Some(spec) => Ok(Some(Found::New(&snapshot.dra.specs[spec.at()]))),
        None if incoming.replaces.and_then(generated) == Some(Sym::EMPTY) => Ok(None),
        None => Err(Failure {
            plugin: PluginName::DynamicResources,
            code: Code::Unknown,
            detail: Detail::Object {
                text: format!("claim template {} was not read", snapshot.text(template)),
            },
        }),
    }
}

fn check_classes(snapshot: &Snapshot, spec: &ClaimSpec) -> Result<(), Failure> {
    for request in &spec.requests {
        let name = snapshot.text(request.name);
        if request.alternatives.is_empty() {
            return Err(refuse(format!("request {name} is of an unknown kind")));
        }
        for alternative in &request.alternatives {
            let class = alternative.class;
            if class == Sym::EMPTY {
                let text = format!("request {name} names no device class");
                return Err(Failure { code: Code::Error, ..refuse(text) });
            }
            if snapshot.dra.class_named(class).is_none() {
                return Err(refuse(format!("there is no device class {}", snapshot.text(class))));
            }
        }
    }
    Ok(())
}

/// Every refusal of this plugin is final in its code, although removing a pod may free devices.
pub(super) fn refuse(text: String) -> Failure {
    Failure {
        plugin: PluginName::DynamicResources,
        code: Code::Unresolvable,
        detail: Detail::Object { text },
    }
}
