//! Volcano's volume units per node and driver: used, and the part that terminating pods give back.
//!
//! May import: snapshot, filter

use rustc_hash::FxHashMap;

use crate::filter::state::Change;
use crate::filter::volcano::csi;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, Phase, Sym};

/// Units per node and driver; zeros are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsiUnits(FxHashMap<(NodeIdx, Sym), (i64, i64)>);

impl CsiUnits {
    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        let tenant = &change.tenant;
        if snapshot.spec(tenant.spec).volumes.is_empty() {
            return;
        }
        let member = tenant.pod.or(tenant.replaces);
        let name = member.map_or(Sym::EMPTY, |pod| snapshot.pod(pod).name);
        let sign = if change.arrives { 1 } else { -1 };
        let unknown = tenant.pod.is_some_and(|pod| snapshot.pod(pod).phase == Phase::Unknown);
        for (driver, n) in csi::units(snapshot, tenant.spec, name) {
            let key = (change.node, driver);
            let entry = self.0.entry(key).or_default();
            entry.0 += sign * n;
            if tenant.terminating && !unknown {
                entry.1 += sign * n;
            }
            if *entry == (0, 0) {
                self.0.remove(&key);
            }
        }
    }

    /// Units used on a node, and how many of them terminating pods give back.
    pub fn on(&self, node: NodeIdx, driver: Sym) -> (i64, i64) {
        self.0.get(&(node, driver)).copied().unwrap_or_default()
    }
}
