//! `VolumeRestrictions`: inline disks that two pods of a node can not share, and claims for a single pod
//! (rulebook 1.9).
//!
//! A claim that is used blocks every node until its pod is gone, so a replacement of the same name waits for its
//! predecessor: fine in the planned state, a failure while the victim terminates.
//!
//! May import: snapshot, filter

use crate::filter::counters::exclusive::exclusive_claims;
use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::filter::volumes::Trouble;
use crate::snapshot::model::pod::{Disk, Volume};
use crate::snapshot::model::{PodIdx, PvcIdx, SpecIdx};

/// The plugin.
#[derive(Debug)]
pub struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    fn name(&self) -> PluginName {
        PluginName::VolumeRestrictions
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let volumes = &state.snapshot().spec(spec).volumes;
        volumes.iter().any(|v| matches!(v, Volume::Claim(_) | Volume::Disk(..)))
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let (snapshot, spec) = (context.snapshot(), context.spec());
        for volume in &spec.volumes {
            let Volume::Claim(name) = *volume else { continue };
            if snapshot.storage.pvc_named(spec.namespace, name).is_none() {
                let text = Trouble::Missing(name).text(snapshot, spec.namespace);
                return PreFilter::Reject(fail(Code::Unresolvable, Detail::Object { text }));
            }
        }
        let claims: Vec<PvcIdx> = exclusive_claims(snapshot, spec).collect();
        let disks = spec.volumes.iter().any(|v| matches!(v, Volume::Disk(..)));
        let user =
            claims.iter().find_map(|&pvc| context.state.counters.exclusive.users(pvc).first().copied());
        // Nominated pods do not wake the plugin up.
        if !disks && user.is_none() {
            return PreFilter::Skip;
        }
        PreFilter::check(move |at| check(context, &claims, user, at))
    }
}

fn fail(code: Code, detail: Detail) -> Failure {
    Failure { plugin: PluginName::VolumeRestrictions, code, detail }
}

fn check(
    context: Context<'_>,
    claims: &[PvcIdx],
    user: Option<Option<PodIdx>>,
    at: Visit<'_>,
) -> Result<(), Failure> {
    let (snapshot, mine) = (context.snapshot(), &context.spec().volumes);
    let in_use = |by| Err(fail(Code::Unschedulable, Detail::VolumeInUse { by }));
    for tenant in context.state.tenants(at.node).iter().chain(at.guests) {
        let theirs = &snapshot.spec(tenant.spec).volumes;
        if mine.iter().any(|one| theirs.iter().any(|other| clash(one, other))) {
            return in_use(tenant.pod.or(tenant.replaces));
        }
    }
    if let Some(by) = user {
        return in_use(by);
    }
    for guest in at.guests {
        if exclusive_claims(snapshot, snapshot.spec(guest.spec)).any(|pvc| claims.contains(&pvc)) {
            return in_use(guest.pod);
        }
    }
    Ok(())
}

/// True when a node can not mount both. Read-only mounts of one disk get along, except on AWS.
fn clash(one: &Volume, other: &Volume) -> bool {
    let (Volume::Disk(a, a_only_reads), Volume::Disk(b, b_only_reads)) = (one, other) else { return false };
    match (a, b) {
        (Disk::Aws(a), Disk::Aws(b)) => a == b,
        (Disk::Gce(a), Disk::Gce(b)) | (Disk::Iscsi(a), Disk::Iscsi(b)) => {
            a == b && !(*a_only_reads && *b_only_reads)
        }
        (Disk::Rbd(monitors, pool, image), Disk::Rbd(others, other_pool, other_image)) => {
            (pool, image) == (other_pool, other_image)
                && monitors.iter().any(|m| others.contains(m))
                && !(*a_only_reads && *b_only_reads)
        }
        _ => false,
    }
}
