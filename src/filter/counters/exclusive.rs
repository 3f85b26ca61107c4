//! Which pods use claims that only one pod of the cluster may use (`ReadWriteOncePod`).
//!
//! May import: snapshot, filter

use rustc_hash::FxHashMap;

use crate::filter::state::{Change, Tenant};
use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::Volume;
use crate::snapshot::model::{PodIdx, PodSpec, PvcIdx};

/// Users of such claims.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exclusive {
    /// Per claim with a user: the pods, by index; a planned replacement goes by its victim, others by none.
    users: FxHashMap<PvcIdx, Vec<Option<PodIdx>>>,
}

/// The claims of that kind that a pod names. Ephemeral volumes do not count.
pub fn exclusive_claims<'a>(snapshot: &'a Snapshot, spec: &'a PodSpec) -> impl Iterator<Item = PvcIdx> + 'a {
    let named = spec.volumes.iter().filter_map(|volume| match volume {
        Volume::Claim(name) => snapshot.storage.pvc_named(spec.namespace, *name),
        _ => None,
    });
    named.filter(|&pvc| snapshot.storage.pvc(pvc).modes.is_once_per_pod())
}

impl Exclusive {
    /// Nothing in use.
    pub fn new(_snapshot: &Snapshot) -> Self {
        Self::default()
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        let Tenant { spec, pod, replaces, .. } = change.tenant;
        let who = pod.or(replaces);
        for pvc in exclusive_claims(snapshot, snapshot.spec(spec)) {
            let users = self.users.entry(pvc).or_default();
            match (users.binary_search(&who), change.arrives) {
                (Ok(at) | Err(at), true) => users.insert(at, who),
                (Ok(at), false) => drop(users.remove(at)),
                (Err(_), false) => {}
            }
            if users.is_empty() {
                self.users.remove(&pvc);
            }
        }
    }

    /// The pods that use a claim.
    pub fn users(&self, pvc: PvcIdx) -> &[Option<PodIdx>] {
        self.users.get(&pvc).map(Vec::as_slice).unwrap_or_default()
    }
}
