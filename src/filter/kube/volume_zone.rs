//! `VolumeZone`: zone and region labels of bound volumes (rulebook 1.11).
//!
//! Looks at named claims only. The labels of a PV are sets of values; a PV with an old label is also reachable from a
//! node with the label of today, not the other way round.
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::filter::volumes::Trouble;
use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::Volume;
use crate::snapshot::model::storage::Pvc;
use crate::snapshot::model::{NodeIdx, PvIdx, SpecIdx, Sym};
use crate::snapshot::names::{BETA_TOPOLOGY_KEYS, TOPOLOGY_KEYS};

/// The plugin.
#[derive(Debug)]
pub struct VolumeZone;

impl Plugin for VolumeZone {
    fn name(&self) -> PluginName {
        PluginName::VolumeZone
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        state.snapshot().spec(spec).volumes.iter().any(|v| matches!(v, Volume::Claim(_)))
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let (snapshot, spec) = (context.snapshot(), context.spec());
        let mut zoned: Vec<PvIdx> = Vec::new();
        for volume in &spec.volumes {
            let Volume::Claim(name) = *volume else { continue };
            let Some(pvc) = snapshot.storage.pvc_named(spec.namespace, name) else {
                return PreFilter::Reject(fail(Trouble::Missing(name).text(snapshot, spec.namespace)));
            };
            match bound_to(snapshot, snapshot.storage.pvc(pvc)) {
                Ok(pv) => zoned.extend(pv.filter(|&pv| !snapshot.storage.pv(pv).zones.is_empty())),
                Err(text) => return PreFilter::Reject(fail(text)),
            }
        }
        if zoned.is_empty() {
            return PreFilter::Skip;
        }
        let keys = Keys::of(snapshot);
        PreFilter::check(move |at| match zoned.iter().find(|&&pv| !keys.reaches(snapshot, pv, at.node)) {
            None => Ok(()),
            Some(&pv) => {
                let name = snapshot.text(snapshot.storage.pv(pv).name);
                Err(fail(format!("PersistentVolume {name} is in another zone or region")))
            }
        })
    }
}

fn fail(text: String) -> Failure {
    Failure { plugin: PluginName::VolumeZone, code: Code::Unresolvable, detail: Detail::Object { text } }
}

/// The PV of a claim; `None` while it waits for its pod.
fn bound_to(snapshot: &Snapshot, pvc: &Pvc) -> Result<Option<PvIdx>, String> {
    let claim =
        || format!("PersistentVolumeClaim {}/{}", snapshot.text(pvc.namespace), snapshot.text(pvc.name));
    if pvc.pv_name != Sym::EMPTY {
        let missing = || format!("PersistentVolume {} does not exist", snapshot.text(pvc.pv_name));
        return pvc.pv.map(Some).ok_or_else(missing);
    }
    match pvc.class.map(|class| snapshot.storage.class(class)) {
        Some(class) if class.delayed => Ok(None),
        Some(_) => Err(format!("{} is not bound", claim())),
        None if pvc.class_name == Sym::EMPTY => Err(format!("{} has neither volume nor class", claim())),
        None => Err(format!("StorageClass {} of {} does not exist", snapshot.text(pvc.class_name), claim())),
    }
}

/// Symbols of the labels, where anything in the snapshot has them.
struct Keys {
    today: [Option<Sym>; 2],
    before: [Option<Sym>; 2],
}

impl Keys {
    fn of(snapshot: &Snapshot) -> Self {
        let find = |keys: [&str; 2]| keys.map(|key| snapshot.symbols.find(key));
        Self { today: find(TOPOLOGY_KEYS), before: find(BETA_TOPOLOGY_KEYS) }
    }

    fn reaches(&self, snapshot: &Snapshot, pv: PvIdx, node: NodeIdx) -> bool {
        let labels = &snapshot.node(node).labels;
        let mut all = self.today.iter().chain(&self.before).flatten();
        if !all.any(|&key| labels.get(key).is_some()) {
            return true;
        }
        snapshot.storage.pv(pv).zones.iter().all(|(key, allowed)| {
            let old = self.before.iter().position(|before| *before == Some(*key));
            let value = labels.get(*key).or_else(|| labels.get(self.today[old?]?));
            value.is_some_and(|value| allowed.contains(&value))
        })
    }
}
