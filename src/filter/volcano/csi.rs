//! One `attachable-volumes-csi-<driver>` unit per PVC volume of a pod (rulebook 2.3).
//!
//! May import: snapshot

use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::Volume;
use crate::snapshot::model::storage::{PvSource, Pvc};
use crate::snapshot::model::{NodeIdx, SpecIdx, Sym};

/// What a node can attach for a driver that is listed without a count.
const UNCOUNTED: i64 = (1 << 31) - 1;

/// Provisioners whose volumes are not counted by default (`--ignored-provisioners`).
const IGNORED: [&str; 2] = ["rancher.io/local-path", "hostpath.csi.k8s.io"];

/// Units per driver that a pod of this spec and name asks for, not de-duplicated: a claim used twice counts twice.
/// None when one of the pod's claims does not exist.
pub fn units(snapshot: &Snapshot, spec: SpecIdx, pod_name: Sym) -> Vec<(Sym, i64)> {
    let spec = snapshot.spec(spec);
    let mut units: Vec<(Sym, i64)> = Vec::new();
    for volume in &spec.volumes {
        let claim = match volume {
            Volume::Claim(name) => Some(*name),
            Volume::Ephemeral(volume) => {
                let name = format!("{}-{}", snapshot.text(pod_name), snapshot.text(*volume));
                match snapshot.symbols.find(&name) {
                    Some(name) => Some(name),
                    None => return Vec::new(),
                }
            }
            Volume::Disk(..) | Volume::HostPath | Volume::EmptyDir => None,
        };
        let Some(claim) = claim else { continue };
        let Some(claim) = snapshot.storage.pvc_named(spec.namespace, claim) else { return Vec::new() };
        if let Some(driver) = driver(snapshot, snapshot.storage.pvc(claim)) {
            match units.iter_mut().find(|(d, _)| *d == driver) {
                Some((_, n)) => *n += 1,
                None => units.push((driver, 1)),
            }
        }
    }
    units
}

/// The driver that a claim is counted for.
fn driver(snapshot: &Snapshot, claim: &Pvc) -> Option<Sym> {
    if let Some(pv) = claim.pv {
        return match snapshot.storage.pv(pv).source {
            PvSource::Csi { driver, .. } => Some(driver),
            PvSource::InTree { .. } | PvSource::Other => None,
        };
    }
    let class = snapshot.storage.class(claim.class?);
    if IGNORED.contains(&snapshot.text(class.provisioner)) {
        return None;
    }
    let driver =
        if class.driver_parameter == Sym::EMPTY { class.provisioner } else { class.driver_parameter };
    (driver != Sym::EMPTY).then_some(driver)
}

/// Units that a node can attach: none without a CSINode or for a driver that it does not list.
pub fn limit(snapshot: &Snapshot, node: NodeIdx, driver: Sym) -> i64 {
    let listed = snapshot.storage.node(node).driver(driver);
    listed.map_or(0, |driver| driver.limit.unwrap_or(UNCOUNTED))
}
