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

/// The node affinity with the driver's labels; zone labels of the volume count where the affinity names no zone.
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
    let named = |key: Sym| affinity.iter().flat_map(|a| &a.0).flat_map(|t| &t.labels).any(|r| r.key == key);
    let in_use = today.into_iter().any(named) || today.into_iter().any(|key| labels.get(key).is_some());
    let [zone, region] = if in_use { today } else { before };
    let renamed = |key: Sym| match key {
        key if key == zone => driver_key,
        key if key == region => today[1],
        key => key,
    };
    let mut terms: Vec<NodeTerm> = affinity.map(|a| a.0.to_vec()).unwrap_or_default();
    let has_zone = named(zone);
    for requirement in terms.iter_mut().flat_map(|t| t.labels.iter_mut()) {
        requirement.key = renamed(requirement.key);
    }
    let of_labels = labels.get(zone).filter(|_| !has_zone);
    if let Some(value) = of_labels {
        let zones: Vec<String> = symbols.text(value).split("__").map(str::to_owned).collect();
        let values = zones.iter().map(|z| symbols.intern(z)).collect();
        let asked = Requirement { key: driver_key, op: Op::In, values };
        if terms.is_empty() {
            terms.push(NodeTerm { labels: Box::default(), fields: Box::default(), broken: false });
        }
        for term in &mut terms {
            term.labels = term.labels.iter().cloned().chain([asked.clone()]).collect();
        }
    } else if affinity.is_none() {
        return None;
    }
    Some(NodeSelector(terms.into_boxed_slice()))
}
