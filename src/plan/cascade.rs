//! Units: sets of pods that their controller recreates together.
//!
//! Evicting one pod of a unit takes the others down as well, so only one of them is evicted and all of them need a
//! receiver, count in damage and in budgets. The members of a pod's unit always include the pod; they need not be
//! the same for two pods of one workload (a lost leader takes its workers along, a lost worker only itself).
//!
//! May import: snapshot, plan

use rustc_hash::FxHashMap;

use super::fate::{Fates, Timing, Together};
use crate::snapshot::Snapshot;
use crate::snapshot::model::PodIdx;

/// A unit with more than one pod in it, or a pod by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitIdx {
    /// A pod that is recreated alone.
    Alone(PodIdx),
    /// A shared unit, by its position.
    Shared(u32),
}

/// Which pods are recreated with which.
#[derive(Clone, Debug)]
pub struct Units {
    unit_of: Vec<UnitIdx>,
    shared: Vec<Vec<PodIdx>>,
    /// Every pod, so that a pod by itself is a slice of one.
    pods: Vec<PodIdx>,
    timing: Vec<Timing>,
}

impl Units {
    /// The units of all pods. Members stand and are not terminating.
    pub fn of(snapshot: &Snapshot) -> Self {
        let fates = Fates::new(snapshot);
        Self::with(snapshot, &fates)
    }

    /// The same with fates that are there already.
    pub fn with(snapshot: &Snapshot, fates: &Fates<'_>) -> Self {
        let pods: Vec<PodIdx> = (0..snapshot.pods.len()).map(PodIdx::new).collect();
        let mut unit_of: Vec<UnitIdx> = pods.iter().copied().map(UnitIdx::Alone).collect();
        let mut timing = Vec::with_capacity(pods.len());
        let mut index: FxHashMap<Together, u32> = FxHashMap::default();
        let mut wanted: u32 = 0;
        for &pod in &pods {
            let fate = fates.of(pod);
            timing.push(fate.timing);
            let Some(together) = fate.together.filter(|_| takes_part(snapshot, pod)) else { continue };
            let unit = *index.entry(together).or_insert_with(|| {
                wanted += 1;
                wanted - 1
            });
            unit_of[pod.at()] = UnitIdx::Shared(unit);
        }
        let mut shared = vec![Vec::new(); wanted as usize];
        if !index.is_empty() {
            for &pod in pods.iter().filter(|&&pod| takes_part(snapshot, pod)) {
                for set in fates.sets_of(pod) {
                    if let Some(&unit) = index.get(&set) {
                        shared[unit as usize].push(pod);
                    }
                }
            }
        }
        Self { unit_of, shared, pods, timing }
    }

    /// The unit of a pod.
    pub fn unit(&self, pod: PodIdx) -> UnitIdx {
        self.unit_of[pod.at()]
    }

    /// All pods that go when this one is evicted, itself included, by index.
    pub fn members(&self, pod: PodIdx) -> &[PodIdx] {
        match self.unit_of[pod.at()] {
            UnitIdx::Alone(pod) => &self.pods[pod.at()..=pod.at()],
            UnitIdx::Shared(unit) => &self.shared[unit as usize],
        }
    }

    /// True when the pod is recreated alone.
    pub fn is_alone(&self, pod: PodIdx) -> bool {
        self.members(pod).len() == 1
    }

    /// When the replacement of a pod is created.
    pub fn timing(&self, pod: PodIdx) -> Timing {
        self.timing[pod.at()]
    }

    /// All pods that go when `victims` are evicted, by index, each once.
    pub fn closure(&self, victims: impl IntoIterator<Item = PodIdx>) -> Vec<PodIdx> {
        let mut all: Vec<PodIdx> =
            victims.into_iter().flat_map(|pod| self.members(pod).iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Which of `victims` need an eviction of their own, in their order: a pod that an earlier eviction takes along
    /// needs none. Of one unit only the first is evicted.
    pub fn evictions(&self, victims: &[PodIdx]) -> Vec<PodIdx> {
        let mut gone: rustc_hash::FxHashSet<PodIdx> = rustc_hash::FxHashSet::default();
        let mut evicted = Vec::new();
        for &pod in victims {
            if !gone.contains(&pod) {
                evicted.push(pod);
                gone.extend(self.members(pod));
            }
        }
        evicted
    }
}

fn takes_part(snapshot: &Snapshot, pod: PodIdx) -> bool {
    let pod = snapshot.pod(pod);
    pod.stands() && !pod.terminating
}

#[cfg(test)]
#[path = "cascade_tests.rs"]
mod tests;
