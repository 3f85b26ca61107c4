//! Where a CSI driver can reach a volume that was made by a plugin compiled into Kubernetes.
//!
//! Such a volume names the zone label of its nodes; the driver names a label of its own. Source: csi-translation-lib,
//! the topology translation (rulebook 1.10).
//!
//! May import: snapshot

use crate::snapshot::model::selector::NodeTerm;
use crate::snapshot::model::storage::InTree;
use crate::snapshot::model::{Labels, NodeSelector, Op, Requirement, Sym, Symbols};
use crate::snapshot::names;

/// The node affinity with the driver's labels; zone labels of the volume count where the affinity names no zone. The
/// labels of today or those before them: what the affinity has, else what the volume has.
pub fn migrated_affinity(
    kind: InTree,
    affinity: Option<&NodeSelector>,
    labels: &Labels,
    symbols: &mut Symbols,
) -> Option<NodeSelector> {
    let Some(driver_key) = kind.zone_key() else { return affinity.cloned() };
    let driver_key = symbols.intern(driver_key);
    let [today, before] =
        [names::TOPOLOGY_KEYS, names::BETA_TOPOLOGY_KEYS].map(|keys| keys.map(|k| symbols.intern(k)));
    let mut terms: Vec<NodeTerm> = affinity.map(|a| a.0.to_vec()).unwrap_or_default();
    let asked = |key: Sym| terms.iter().flat_map(|t| &t.labels).filter(move |r| r.key == key);
    let has = |key: Sym| labels.get(key).is_some();
    let outdated = asked(today[0]).next().is_none()
        && (asked(before[0]).next().is_some() || (!has(today[0]) && has(before[0])));
    let [zone, region] = if outdated { before } else { today };
    // Requirements without values name no zone.
    let names = |key: Sym| asked(key).any(|r| !r.values.is_empty());
    let (names_zone, names_region) = (names(zone), names(region));
    for requirement in terms.iter_mut().flat_map(|t| t.labels.iter_mut()) {
        if requirement.key == zone && names_zone {
            requirement.key = driver_key;
        } else if requirement.key == region && names_region {
            requirement.key = today[1];
        }
    }
    if !names_zone && let Some(value) = labels.get(zone) {
        let zones = symbols.text(value).split("__").map(str::trim).filter(|z| !z.is_empty());
        let zones: Vec<String> = zones.map(str::to_owned).collect();
        let values: Box<[Sym]> = zones.iter().map(|z| symbols.intern(z)).collect();
        let of_labels = Requirement { key: driver_key, op: Op::In, values };
        if terms.is_empty() && !zones.is_empty() {
            terms.push(NodeTerm { labels: Box::default(), fields: Box::default(), broken: false });
        }
        for term in terms.iter_mut().filter(|_| !zones.is_empty()) {
            term.labels = term.labels.iter().cloned().chain([of_labels.clone()]).collect();
        }
    }
    (affinity.is_some() || !terms.is_empty()).then(|| NodeSelector(terms.into_boxed_slice()))
}
