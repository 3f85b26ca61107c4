//! The claims of a pod, as the storage plugins see them.
//!
//! A claim volume names a PVC of the pod's namespace. A generic ephemeral volume has a PVC `POD-VOLUME` that the pod
//! must own (controlling owner with the pod's UID). A *replacement* that does not exist yet uses the victim's PVCs
//! where it names them (that is what a StatefulSet's pods do), but gets new PVCs for its ephemeral volumes: the victim's
//! vanish with the victim. Such a [`Claim::Fresh`] asks for what the victim's PVC asked for, is unbound, and is bound or
//! made by its class; its name is free only once the victim is gone, if the replacement has the victim's name.
//!
//! May import: snapshot, filter

pub mod attach;
pub mod binding;
#[cfg(test)]
pub mod testing;

use super::plugin::Context;
use super::state::{Incoming, Tenant};
use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::Volume;
use crate::snapshot::model::{PodIdx, PodSpec, PvcIdx, Sym};

/// A PVC as a pod uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// An object.
    Pvc(PvcIdx),
    /// One that will be made for an ephemeral volume of a replacement, like this one of its victim.
    Fresh(PvcIdx),
}

impl Claim {
    /// The object that says what is asked for.
    pub const fn like(self) -> PvcIdx {
        match self {
            Self::Pvc(pvc) | Self::Fresh(pvc) => pvc,
        }
    }
}

/// Why a volume has no claim to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No PVC of that name.
    Missing(Sym),
    /// The ephemeral volume's PVC is not there (yet).
    NotMade(Sym),
    /// The ephemeral volume's PVC belongs to something else.
    NotOwned(PvcIdx),
    /// The victim still holds the name of the replacement's PVC.
    NameTaken(PvcIdx),
}

impl Trouble {
    /// One clause that names the claim.
    pub fn text(self, snapshot: &Snapshot, namespace: Sym) -> String {
        let named =
            |name| format!("PersistentVolumeClaim {}/{}", snapshot.text(namespace), snapshot.text(name));
        let of = |pvc: PvcIdx| named(snapshot.storage.pvc(pvc).name);
        match self {
            Self::Missing(name) => format!("{} does not exist", named(name)),
            Self::NotMade(volume) => {
                format!("the claim of ephemeral volume {} does not exist", snapshot.text(volume))
            }
            Self::NotOwned(pvc) => format!("{} was not made for this pod", of(pvc)),
            Self::NameTaken(pvc) => format!("{} of the predecessor must go first", of(pvc)),
        }
    }
}

/// Whose claims.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// Spec of the pod.
    pub spec: &'a PodSpec,
    pod: Option<PodIdx>,
    replaces: Option<PodIdx>,
    /// The victim is still there and has the name that the replacement will have.
    name_taken: bool,
}

impl<'a> Holder<'a> {
    /// The pod to place.
    pub fn incoming(context: Context<'a>) -> Self {
        let Incoming { pod, replaces, name, .. } = context.incoming;
        let snapshot = context.snapshot();
        let name_taken = replaces.map(|victim| snapshot.pod(victim)).is_some_and(|victim| {
            let here = victim.node.map(|node| context.state.tenants(node)).unwrap_or_default();
            victim.name == name && here.iter().any(|t| t.pod == replaces)
        });
        Self { spec: context.spec(), pod, replaces, name_taken }
    }

    /// A pod that stands on a node.
    pub fn tenant(snapshot: &'a Snapshot, tenant: &Tenant) -> Self {
        let spec = snapshot.spec(tenant.spec);
        Self { spec, pod: tenant.pod, replaces: tenant.replaces, name_taken: false }
    }

    /// The claim of one of its volumes; `None` for volumes without one.
    pub fn claim(&self, snapshot: &Snapshot, volume: &Volume) -> Option<Result<Claim, Trouble>> {
        match *volume {
            Volume::Claim(name) => {
                let pvc = snapshot.storage.pvc_named(self.spec.namespace, name);
                Some(pvc.map(Claim::Pvc).ok_or(Trouble::Missing(name)))
            }
            Volume::Ephemeral(name) => Some(self.ephemeral(snapshot, name)),
            Volume::Disk(..) | Volume::HostPath | Volume::EmptyDir => None,
        }
    }

    fn ephemeral(&self, snapshot: &Snapshot, volume: Sym) -> Result<Claim, Trouble> {
        let Some(pod) = self.pod.or(self.replaces) else { return Err(Trouble::NotMade(volume)) };
        let pod = snapshot.pod(pod);
        let name = format!("{}-{}", snapshot.text(pod.name), snapshot.text(volume));
        let pvc = snapshot
            .symbols
            .find(&name)
            .and_then(|name| snapshot.storage.pvc_named(self.spec.namespace, name))
            .ok_or(Trouble::NotMade(volume))?;
        if snapshot.storage.pvc(pvc).owner != Some(pod.uid) {
            return Err(Trouble::NotOwned(pvc));
        }
        match (self.pod, self.name_taken) {
            (Some(_), _) => Ok(Claim::Pvc(pvc)),
            (None, false) => Ok(Claim::Fresh(pvc)),
            (None, true) => Err(Trouble::NameTaken(pvc)),
        }
    }
}

/// True when a pod of this spec has a volume with a claim.
pub fn has_claims(spec: &PodSpec) -> bool {
    spec.volumes.iter().any(|v| matches!(v, Volume::Claim(_) | Volume::Ephemeral(_)))
}
