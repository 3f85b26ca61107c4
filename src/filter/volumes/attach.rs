//! Which attachable volumes a pod uses on a node (rulebook 1.12).
//!
//! A bound claim counts as its PV's driver and handle, an unbound one as a volume of its class's provisioner. In-tree
//! volumes count for the CSI driver that took them over, on every node with a CSINode, whatever that says. Of inline
//! disks, those of GCE and AWS are known.
//!
//! May import: snapshot, filter

use super::{Claim, Holder, Trouble};
use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::{Disk, Volume};
use crate::snapshot::model::storage::{InTree, NodeStorage, PvSource};
use crate::snapshot::model::{NodeIdx, Sym};

/// An attachable volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attachable {
    /// Driver; never empty.
    pub driver: Sym,
    /// Which of its volumes.
    pub id: VolumeId,
}

/// A volume of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VolumeId {
    /// By handle; never empty.
    Handle(Sym),
    /// Whatever will be made for a claim.
    Claim(Claim),
}

/// The attachable volumes of a pod on a node, each once, sorted. The first trouble with a claim is handed to
/// `on_trouble`, which says whether to go on.
pub fn attachables(
    snapshot: &Snapshot,
    holder: &Holder<'_>,
    node: NodeIdx,
    mut on_trouble: impl FnMut(Trouble) -> Result<(), Trouble>,
) -> Result<Vec<Attachable>, Trouble> {
    let here = snapshot.storage.node(node);
    let mut found = Vec::new();
    for volume in &holder.spec.volumes {
        match holder.claim(snapshot, volume) {
            Some(Ok(claim)) => found.extend(of_claim(snapshot, claim, here)),
            Some(Err(trouble)) => on_trouble(trouble)?,
            None => found.extend(of_disk(snapshot, volume, here)),
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The driver that counts for an in-tree kind on a node.
fn migrated(snapshot: &Snapshot, kind: InTree, node: &NodeStorage) -> Option<Sym> {
    if node.known { snapshot.storage.driver_of(kind) } else { None }
}

fn of_disk(snapshot: &Snapshot, volume: &Volume, node: &NodeStorage) -> Option<Attachable> {
    let (kind, handle) = match volume {
        Volume::Disk(Disk::Gce(name), _) => (InTree::Gce, *name),
        Volume::Disk(Disk::Aws(id), _) => (InTree::Aws, *id),
        _ => return None,
    };
    Some(Attachable { driver: migrated(snapshot, kind, node)?, id: VolumeId::Handle(handle) })
}

fn of_claim(snapshot: &Snapshot, claim: Claim, node: &NodeStorage) -> Option<Attachable> {
    let storage = &snapshot.storage;
    let pvc = storage.pvc(claim.like());
    let volume = if let (Claim::Pvc(_), Some(pv)) = (claim, pvc.pv) {
        let (driver, handle) = match storage.pv(pv).source {
            PvSource::Csi { driver, handle } => (driver, handle),
            PvSource::InTree { kind, handle } => (migrated(snapshot, kind, node)?, handle),
            PvSource::Other => return None,
        };
        Attachable { driver, id: VolumeId::Handle(handle) }
    } else {
        let class = storage.class(pvc.class?);
        let driver = match class.in_tree {
            Some(kind) => migrated(snapshot, kind, node)?,
            None => class.provisioner,
        };
        Attachable { driver, id: VolumeId::Claim(claim) }
    };
    let nameless = volume.driver == Sym::EMPTY || volume.id == VolumeId::Handle(Sym::EMPTY);
    (!nameless).then_some(volume)
}
