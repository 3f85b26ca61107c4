//! `NodeVolumeLimits`: how many volumes of a CSI driver can be attached to a node (rulebook 1.12).
//!
//! Volumes of a planned pod whose claim is unbound count for the class's provisioner, as they do in the scheduler
//! until the claim is bound. `VolumeAttachments` are as the input says: a volume that a victim leaves behind stays
//! attached to its node.
//!
//! May import: snapshot, filter

use crate::filter::counters::attached::uses;
use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::filter::volumes::attach::{Attachable, VolumeId, attachables};
use crate::filter::volumes::{Holder, Trouble};
use crate::snapshot::model::pod::{Disk, Volume};
use crate::snapshot::model::{SpecIdx, Sym};

/// The plugin.
#[derive(Debug)]
pub struct NodeVolumeLimits {
    /// Drivers can demand that nodes without them are refused (`preventPodSchedulingIfMissing`, on since 1.37).
    pub strict_drivers: bool,
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> PluginName {
        PluginName::NodeVolumeLimits
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        state.snapshot().spec(spec).volumes.iter().any(|volume| {
            matches!(
                volume,
                Volume::Claim(_) | Volume::Ephemeral(_) | Volume::Disk(Disk::Gce(_) | Disk::Aws(_), _)
            )
        })
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        if !self.concerns(context.state, context.incoming.spec) {
            return PreFilter::Skip;
        }
        let holder = Holder::incoming(context);
        let strict_drivers = self.strict_drivers;
        PreFilter::check(move |at| check(context, &holder, strict_drivers, at))
    }
}

fn fail(code: Code, detail: Detail) -> Failure {
    Failure { plugin: PluginName::NodeVolumeLimits, code, detail }
}

fn check(
    context: Context<'_>,
    holder: &Holder<'_>,
    strict_drivers: bool,
    at: Visit<'_>,
) -> Result<(), Failure> {
    let snapshot = context.snapshot();
    let new = attachables(snapshot, holder, at.node, Err).map_err(|trouble| {
        let code = match trouble {
            Trouble::Missing(_) | Trouble::NotMade(_) => Code::Unresolvable,
            Trouble::NotOwned(_) | Trouble::NameTaken(_) => Code::Error,
        };
        fail(code, Detail::Object { text: trouble.text(snapshot, holder.spec.namespace) })
    })?;
    let here = snapshot.storage.node(at.node);
    let absent = |v: &&Attachable| snapshot.storage.is_strict(v.driver) && here.driver(v.driver).is_none();
    if strict_drivers && let Some(volume) = new.iter().find(absent) {
        let text = format!("CSI driver {} does not run on the node", snapshot.text(volume.driver));
        return Err(fail(Code::Unschedulable, Detail::Object { text }));
    }
    if new.is_empty() || here.drivers.iter().all(|d| d.limit.is_none()) {
        return Ok(());
    }
    let in_use = context.state.counters.attached.on(at.node);
    let mut guests: Vec<Attachable> = Vec::new();
    let mut broken = in_use.broken > 0;
    for guest in at.guests {
        let (volumes, guest_broken) = uses(snapshot, &Holder::tenant(snapshot, guest), at.node);
        guests.extend(volumes);
        broken |= guest_broken;
    }
    if broken {
        let text = "an ephemeral volume of a pod on the node has a claim that is not the pod's".to_owned();
        return Err(fail(Code::Error, Detail::Object { text }));
    }
    guests.retain(|&volume| !in_use.contains(volume));
    guests.sort_unstable();
    guests.dedup();
    let used = |volume| in_use.contains(volume) || guests.contains(&volume);
    let of = |driver: Sym, volumes: &mut dyn Iterator<Item = Attachable>| {
        i64::try_from(volumes.filter(|v| v.driver == driver).count()).unwrap_or(i64::MAX)
    };
    for driver in &here.drivers {
        let Some(limit) = driver.limit else { continue };
        let coming = of(driver.name, &mut new.iter().copied().filter(|&v| !used(v)));
        if coming == 0 {
            continue;
        }
        // Attached although no pod uses it. When the incoming pod does, it counts again as coming.
        let leftovers =
            here.attached.iter().map(|&(driver, handle)| Attachable { driver, id: VolumeId::Handle(handle) });
        let attached = of(driver.name, &mut in_use.volumes())
            + of(driver.name, &mut guests.iter().copied())
            + of(driver.name, &mut leftovers.filter(|&v| !used(v)));
        if attached + coming > limit {
            return Err(fail(Code::Unschedulable, Detail::VolumeLimit { attached, new: coming, limit }));
        }
    }
    Ok(())
}
