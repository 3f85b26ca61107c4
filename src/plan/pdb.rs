//! `PodDisruptionBudgets`: what the eviction API would answer, and in how many waves victims can go.
//!
//! Rules: eviction subresource of the API server and the disruption controller (rulebook 4.6). A budget without a
//! status (hand-written files), or with one of an older spec, is computed as the controller would.
//!
//! May import: snapshot, plan

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use crate::snapshot::Snapshot;
use crate::snapshot::model::{Budget, BudgetIdx, BudgetStatus, OwnerIdx, Phase, PodIdx, WorkloadIdx};
use crate::snapshot::model::{OwnerObject, Sym};
use crate::snapshot::view::object::Kind;

/// What one budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Evictions allowed now; never negative.
    pub now: i64,
    /// Evictions allowed when all its pods are healthy; never negative.
    pub most: i64,
    /// Healthy pods now.
    pub healthy: i64,
    /// Healthy pods needed.
    pub desired: i64,
    /// Why it can never allow one.
    pub never: Option<&'static str>,
}

/// What stands in the way of evicting a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grip {
    /// No budget is asked.
    Free,
    /// The budget allows it now.
    Allowed(BudgetIdx),
    /// The budget allows nothing at the moment.
    ExhaustedNow(BudgetIdx),
    /// The budget can never allow it.
    Never(BudgetIdx, &'static str),
    /// More than one budget selects it: the eviction API answers 500 for ever.
    Several(BudgetIdx, BudgetIdx),
}

/// What all budgets of a snapshot allow.
#[derive(Clone, Debug)]
pub struct Forecast {
    allowances: Vec<Allowance>,
    /// Pods that some budget selects: few, so the others need no look at the pod.
    covered: FixedBitSet,
    ready: Readiness,
}

/// Whether pods are Ready. In a file in which no pod has that condition, running pods count as Ready.
#[derive(Clone, Copy, Debug)]
struct Readiness {
    known: bool,
}

impl Readiness {
    fn of(snapshot: &Snapshot) -> Self {
        Self { known: snapshot.pods.iter().any(|pod| pod.ready) }
    }

    fn is_ready(self, snapshot: &Snapshot, pod: PodIdx) -> bool {
        let pod = snapshot.pod(pod);
        if self.known { pod.ready } else { pod.phase == Phase::Running }
    }
}

impl Forecast {
    /// Reads or computes every budget.
    pub fn of(snapshot: &Snapshot) -> Self {
        let ready = Readiness::of(snapshot);
        let allowances = snapshot.budgets.iter().map(|budget| match usable_status(budget) {
            Some(status) => from_status(&status),
            None => compute(snapshot, budget, ready),
        });
        let mut covered = FixedBitSet::with_capacity(snapshot.pods.len());
        covered.extend(snapshot.budgets.iter().flat_map(|budget| &budget.pods).map(|pod| pod.at()));
        Self { allowances: allowances.collect(), covered, ready }
    }

    /// What a budget allows.
    pub fn allowance(&self, budget: BudgetIdx) -> &Allowance {
        &self.allowances[budget.at()]
    }

    /// What the eviction API would answer for one pod now.
    pub fn grip(&self, snapshot: &Snapshot, pod: PodIdx) -> Grip {
        if !self.covered.contains(pod.at()) {
            return Grip::Free;
        }
        let p = snapshot.pod(pod);
        if p.terminating || p.phase.is_finished() || p.phase == Phase::Pending {
            return Grip::Free;
        }
        let budget = match *p.details().budgets {
            [] => return Grip::Free,
            [one] => one,
            [first, second, ..] => return Grip::Several(first, second),
        };
        let allowance = &self.allowances[budget.at()];
        if !self.ready.is_ready(snapshot, pod) {
            let always = snapshot.budgets[budget.at()].always_allow_unhealthy;
            if always || (allowance.healthy >= allowance.desired && allowance.desired > 0) {
                return Grip::Free;
            }
        }
        match allowance.never {
            Some(clause) => Grip::Never(budget, clause),
            None if allowance.now == 0 => Grip::ExhaustedNow(budget),
            None => Grip::Allowed(budget),
        }
    }

    /// The same for pods that go at once: a budget has to allow all of its pods among them together, although the
    /// eviction API is asked for one of them only. The hardest answer counts.
    pub fn grip_of_unit(&self, snapshot: &Snapshot, pods: &[PodIdx]) -> Grip {
        let mut taken: FxHashMap<BudgetIdx, i64> = FxHashMap::default();
        let mut worst = Grip::Free;
        for &pod in pods {
            match self.grip(snapshot, pod) {
                Grip::Free => {}
                Grip::Allowed(budget) => {
                    let taken = taken.entry(budget).or_default();
                    *taken += 1;
                    let allowance = &self.allowances[budget.at()];
                    if *taken > allowance.most {
                        return Grip::Never(budget, "it allows fewer pods at once than go together");
                    }
                    if *taken > allowance.now {
                        worst = Grip::ExhaustedNow(budget);
                    } else if worst == Grip::Free {
                        worst = Grip::Allowed(budget);
                    }
                }
                grip @ Grip::ExhaustedNow(_) => worst = grip,
                grip => return grip,
            }
        }
        worst
    }

    /// Puts steps into waves: a wave takes at most what each budget allows, and the next one begins when the
    /// replacements of the last are Ready. A step is an eviction with the pods that go along. Steps keep their
    /// order, so the result never falls; a budget that allows nothing now is waited for and then allows one.
    pub fn waves(&self, snapshot: &Snapshot, steps: &[&[PodIdx]]) -> Vec<usize> {
        let mut wave = 0;
        let mut taken: FxHashMap<BudgetIdx, i64> = FxHashMap::default();
        let mut waves = Vec::with_capacity(steps.len());
        for step in steps {
            let mut needs: FxHashMap<BudgetIdx, i64> = FxHashMap::default();
            for &pod in *step {
                if let Grip::Allowed(budget) | Grip::ExhaustedNow(budget) = self.grip(snapshot, pod) {
                    *needs.entry(budget).or_default() += 1;
                }
            }
            let fits = needs.iter().all(|(budget, need)| {
                let taken = taken.get(budget).copied().unwrap_or(0);
                taken == 0 || taken + need <= self.allowances[budget.at()].now.max(1)
            });
            if !fits {
                wave += 1;
                taken.clear();
            }
            for (budget, need) in needs {
                *taken.entry(budget).or_default() += need;
            }
            waves.push(wave);
        }
        waves
    }
}

/// The status, unless it is one that no controller has written yet, or that speaks of an older spec.
fn usable_status(budget: &Budget) -> Option<BudgetStatus> {
    let status = budget.status.filter(|status| !status.stale)?;
    let blank = !status.sync_failed
        && [status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods]
            == [0; 4];
    (!blank || budget.pods.is_empty()).then_some(status)
}

const WANTS_ALL: &str = "it wants all of its pods";
const SYNC_FAILED: &str = "its expected pods can not be computed";

fn from_status(status: &BudgetStatus) -> Allowance {
    let never = if status.sync_failed {
        Some(SYNC_FAILED)
    } else if status.expected_pods > 0 && status.desired_healthy >= status.expected_pods {
        Some(WANTS_ALL)
    } else {
        None
    };
    Allowance {
        now: status.disruptions_allowed.max(0),
        most: (status.expected_pods - status.desired_healthy).max(status.disruptions_allowed).max(0),
        healthy: status.current_healthy,
        desired: status.desired_healthy,
        never,
    }
}

/// A number or a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    Count(i64),
    Percent(i64),
}

impl Share {
    fn read(snapshot: &Snapshot, text: Option<Sym>) -> Option<Self> {
        let text = snapshot.text(text?);
        match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(Self::Percent),
            None => text.parse().ok().map(Self::Count),
        }
    }

    /// Of a total; percentages are rounded up.
    fn of(self, total: i64) -> i64 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => (percent.saturating_mul(total) + 99).div_euclid(100),
        }
    }
}

/// What the disruption controller would write.
fn compute(snapshot: &Snapshot, budget: &Budget, ready: Readiness) -> Allowance {
    let healthy = budget
        .pods
        .iter()
        .filter(|&&pod| !snapshot.pod(pod).terminating && ready.is_ready(snapshot, pod))
        .count();
    let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
    let failed = |clause| Allowance { now: 0, most: 0, healthy, desired: 0, never: Some(clause) };
    let least = Share::read(snapshot, budget.min_available);
    let (expected, desired) = match (Share::read(snapshot, budget.max_unavailable), least) {
        (Some(most), _) => match scale(snapshot, budget) {
            Some(expected) => (expected, (expected - most.of(expected)).max(0)),
            None => return failed(SYNC_FAILED),
        },
        (None, Some(Share::Count(count))) => (i64::try_from(budget.pods.len()).unwrap_or(i64::MAX), count),
        (None, Some(share)) => match scale(snapshot, budget) {
            Some(expected) => (expected, share.of(expected)),
            None => return failed(SYNC_FAILED),
        },
        (None, None) => return failed("it says neither minAvailable nor maxUnavailable"),
    };
    let now = if expected <= 0 { 0 } else { (healthy - desired).max(0) };
    let never = (expected > 0 && desired >= expected).then_some(WANTS_ALL);
    Allowance { now, most: (expected - desired).max(0), healthy, desired, never }
}

/// Pods that the controllers of a budget's pods want; `None` when one of them has no scale subresource, as Jobs of
/// any kind. Pods without a controller do not count. Where the object was not read, the pods there are count.
fn scale(snapshot: &Snapshot, budget: &Budget) -> Option<i64> {
    let mut owners: Vec<OwnerIdx> = budget.pods.iter().filter_map(|&pod| snapshot.pod(pod).owner).collect();
    owners.sort_unstable();
    owners.dedup();
    let mut seen: Vec<WorkloadIdx> = Vec::new();
    let mut sum = 0;
    for at in owners {
        let owner = &snapshot.owners[at.at()];
        let scales = matches!(
            owner.known,
            Some(
                Kind::ReplicaSet
                    | Kind::ReplicationController
                    | Kind::StatefulSet
                    | Kind::Deployment
                    | Kind::ModelServing
                    | Kind::LeaderWorkerSet
            )
        );
        if !scales {
            return None;
        }
        let OwnerObject::Present(mut object) = owner.object else {
            let live = owner.pods.iter().filter(|&&pod| {
                let pod = snapshot.pod(pod);
                pod.stands() && !pod.terminating
            });
            sum += i64::try_from(live.count()).unwrap_or(i64::MAX);
            continue;
        };
        // A ReplicaSet of a Deployment counts as the Deployment.
        let above = snapshot.workloads[object.at()].owner.map(|above| snapshot.owners[above.at()].object);
        if owner.known == Some(Kind::ReplicaSet)
            && let Some(OwnerObject::Present(above)) = above
        {
            object = above;
        }
        if !seen.contains(&object) {
            seen.push(object);
            sum += snapshot.workloads[object.at()].replicas.unwrap_or(0);
        }
    }
    Some(sum)
}

#[cfg(test)]
#[path = "pdb_tests.rs"]
mod tests;
