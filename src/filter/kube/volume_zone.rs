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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{Expect, Pass, Unresolvable, node, table};
    use crate::filter::volumes::testing::{
        bound, claim, delayed, immediate, user, volume, with_meta, with_volumes,
    };

    const ZONE: &str = "topology.kubernetes.io/zone";
    const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

    fn line(
        what: &'static str,
        pv_labels: &str,
        node_labels: &str,
        expected: Expect,
    ) -> (&'static str, Vec<String>, String, &'static str, Expect) {
        let pv = with_meta(&volume("pv", "1Gi", "x", ""), &format!("labels: {{{pv_labels}}}"));
        let objects = vec![node("n1", node_labels, ""), pv, bound("c", "pv", "x")];
        (what, objects, user("new", "", &["c"]), "n1", expected)
    }

    #[test]
    fn zones_are_sets_and_old_labels_fall_back_to_those_of_today() {
        let (zone, old) = (|z: &str| format!("{ZONE}: {z}"), |z: &str| format!("{OLD_ZONE}: {z}"));
        let region = "topology.kubernetes.io/region: r";
        let table_of = [
            line("V4 in the set", &zone("a__b"), &zone("b"), Pass),
            line("V4 outside", &zone("a__b"), &zone("c"), Unresolvable),
            line("V4 node without zones", &zone("a__b"), "x: y", Pass),
            line("node has only a region", &zone("a"), region, Unresolvable),
            line("old volume, new node", &old("a"), &zone("a"), Pass),
            line("old volume, new node elsewhere", &old("a"), &zone("b"), Unresolvable),
            line(
                "the node's old label counts first",
                &old("a"),
                &format!("{}, {}", old("a"), zone("b")),
                Pass,
            ),
            line("new volume, old node", &zone("a"), &old("a"), Unresolvable),
            line("zone and region", &format!("{}, {region}", zone("a")), &zone("a"), Unresolvable),
            line("an empty zone in the set", &zone("a__"), &zone("b"), Pass),
            line("spaces around", &zone("' a __ b '"), &zone("b"), Pass),
        ];
        table(PluginName::VolumeZone, &table_of);
    }

    #[test]
    fn claims_without_a_volume_are_refused_unless_they_wait() {
        let ask = |what, objects: &[String], expected| {
            let objects = [&[node("n1", "", "")], objects].concat();
            (what, objects, user("new", "", &["c"]), "n1", expected)
        };
        let c = claim("c", "1Gi", "x", "");
        let ephemeral = with_volumes("new", "", "{name: c, ephemeral: {}}");
        let lines = [
            ask("waits", &[delayed("x", "csi.x", ""), c.clone()], Pass),
            ask("does not wait", &[immediate("x", "csi.x"), c.clone()], Unresolvable),
            ask("class is gone", std::slice::from_ref(&c), Unresolvable),
            ask("no class", &[claim("c", "1Gi", "''", "")], Unresolvable),
            ask("claim is gone", &[], Unresolvable),
            ask("volume is gone", &[bound("c", "pv", "x")], Unresolvable),
            ("ephemeral volumes do not count", vec![node("n1", "", "")], ephemeral, "n1", Pass),
        ];
        table(PluginName::VolumeZone, &lines);
    }
}
