//! Pods that Volcano's cache refuses (rulebook 2.3): a named device claim does not exist, or the claim of a generic
//! ephemeral volume belongs to another pod. Bound, they are neither charged nor seen by any predicate.
//!
//! May import: snapshot

use crate::snapshot::Snapshot;
use crate::snapshot::model::PodIdx;
use crate::snapshot::model::pod::{ClaimSource, Volume};

/// True for a pod that the cache refuses.
pub fn refuses(snapshot: &Snapshot, pod: PodIdx) -> bool {
    let (facts, spec) = (snapshot.pod(pod), snapshot.spec_of(pod));
    let claim_missing = spec.claims.iter().any(|claim| match claim.source {
        ClaimSource::Named(name) => snapshot.dra.claim_named(spec.namespace, name).is_none(),
        ClaimSource::Template(_) => false,
    });
    let foreign = |volume: &Volume| {
        let Volume::Ephemeral(volume) = volume else { return false };
        let name = format!("{}-{}", snapshot.text(facts.name), snapshot.text(*volume));
        let claim =
            snapshot.symbols.find(&name).and_then(|name| snapshot.storage.pvc_named(spec.namespace, name));
        claim.is_some_and(|claim| snapshot.storage.pvc(claim).owner != Some(facts.uid))
    };
    claim_missing || spec.volumes.iter().any(foreign)
}
