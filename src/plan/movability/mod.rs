//! Which pods may move, and for each of the others the one reason that is told.
//!
//! Reasons that no flag lifts come before those that one does, so that a remedy never promises too much. A pod that
//! would take others along (see [`super::cascade`]) moves only if all of them may.
//!
//! May import: snapshot, plan, api, api

mod marks;
mod owners;
mod summary;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use super::cascade::Units;
use super::fate::Fates;
use super::kept::Kept;
use super::pdb::{Forecast, Grip};
use super::pending::without_rules;
use super::reason::{Code, Detail, Reason};
use super::request::Request;
use super::scope::ResolvedScope;
use super::types::Move;
use crate::api::OnBlockedPdb;
use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::Volume;
use crate::snapshot::model::{NodeIdx, OwnerIdx, OwnerObject, Pod, PodIdx, ResourceIdx, SpecIdx, Sym};

use self::marks::Marks;
use self::owners::{Membership, OwnerFacts, OwnerKind, owners};
pub use self::summary::Held;

/// Everything about a snapshot and a request that planning needs before it looks for receivers.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The resource.
    pub resource: ResourceIdx,
    /// The scope.
    pub scope: ResolvedScope,
    /// The disruption budgets.
    pub forecast: Forecast,
    /// The units.
    pub units: Units,
    /// Which pods may move.
    pub movability: Movability,
}

impl Facts {
    /// Collects them.
    ///
    /// # Errors
    /// A sentence when the scope can not be resolved (reason `ScopeResolutionFailed`).
    pub fn of(snapshot: &Snapshot, resource: ResourceIdx, request: &Request) -> Result<Self, String> {
        let scope = ResolvedScope::of(snapshot, resource, request)?;
        let forecast = Forecast::of(snapshot);
        let fates = Fates::new(snapshot);
        let units = Units::with(snapshot, &fates);
        let judge = Judge {
            snapshot,
            resource,
            request,
            scope: &scope,
            forecast: &forecast,
            fates: &fates,
            units: &units,
            marks: Marks::new(snapshot, request),
            schedulers: request
                .movability
                .schedulers
                .iter()
                .filter_map(|name| snapshot.symbols.find(name))
                .collect(),
            owners: owners(snapshot),
            memberships: snapshot.groups.iter().map(Membership::of).collect(),
        };
        let mut movability = judge.all();
        movability.warnings.extend(without_rules(snapshot, resource, request));
        Ok(Self { resource, scope, forecast, units, movability })
    }

    /// Why a node is not emptied, before receivers and budgets are looked at: the policy for the node, or the first
    /// pod on it that can not move.
    pub fn node_block(&self, snapshot: &Snapshot, node: NodeIdx) -> Option<Kept> {
        self.scope.node(node).not_emptied.clone().or_else(|| {
            snapshot.pods_on[node.at()].iter().find_map(|&pod| {
                let reason = *self.movability.reason(pod).filter(|_| self.movability.blocks(pod))?;
                Some(Kept::UnmovablePod { pod, reason })
            })
        })
    }

    /// The wave of each move: evictions under one disruption budget go at most as many at a time as it allows, and the
    /// next wave begins when the replacements of the last are Ready. Cascade pods go with the eviction that takes
    /// them along. Moves are in the order of the plan, and waves never fall along it but for cascade pods.
    pub fn waves(&self, snapshot: &Snapshot, moves: &[Move]) -> Vec<usize> {
        let pods: Vec<PodIdx> = moves.iter().filter(|m| !m.cascade).map(|m| m.pod).collect();
        let evicted = self.units.evictions(&pods);
        let steps: Vec<&[PodIdx]> = evicted.iter().map(|&pod| self.units.members(pod)).collect();
        let mut wave_of: FxHashMap<PodIdx, usize> = FxHashMap::default();
        for (step, wave) in steps.iter().zip(self.forecast.waves(snapshot, &steps)) {
            for &pod in *step {
                wave_of.entry(pod).or_insert(wave);
            }
        }
        moves.iter().map(|m| wave_of.get(&m.pod).copied().unwrap_or(0)).collect()
    }

    /// The pods that leave a node when it is emptied: those that hold the resource and are not terminating.
    pub fn victims<'a>(&'a self, snapshot: &'a Snapshot, node: NodeIdx) -> impl Iterator<Item = PodIdx> + 'a {
        let holds =
            |&pod: &PodIdx| !snapshot.pod(pod).terminating && snapshot.charged(pod, self.resource) > 0;
        snapshot.pods_on[node.at()].iter().copied().filter(holds)
    }
}

/// The verdict on every pod.
#[derive(Clone, Debug)]
pub struct Movability {
    reasons: Vec<Option<Reason>>,
    tolerated: Vec<Option<i64>>,
    /// Some movable pod's controller was not read: its kind's default reaction and the live spec are taken.
    pub derived_from_live_pods: bool,
    /// Sentences about marks that have no effect where they stand, and about waiting pods that nothing is known of.
    pub warnings: Vec<String>,
}

impl Movability {
    /// Why a pod may not move; `None` = it may.
    pub fn reason(&self, pod: PodIdx) -> Option<&Reason> {
        self.reasons[pod.at()].as_ref()
    }

    /// True when the pod may move.
    pub fn is_movable(&self, pod: PodIdx) -> bool {
        self.reasons[pod.at()].is_none()
    }

    /// True when the pod keeps its node from being emptied.
    pub fn blocks(&self, pod: PodIdx) -> bool {
        self.reasons[pod.at()].is_some_and(|reason| !reason.code.holds_nothing())
    }

    /// How many evictions of its pods an owner tolerates before it fails; `None` = no limit. A plan must not
    /// need more.
    pub fn evictions_tolerated(&self, owner: OwnerIdx) -> Option<i64> {
        self.tolerated[owner.at()]
    }
}

/// True when a pod has scratch space on its node that does not move along: worth saying, no reason to stay.
pub fn loses_local_data(snapshot: &Snapshot, pod: PodIdx) -> bool {
    snapshot.spec_of(pod).volumes.contains(&Volume::EmptyDir)
}

/// Judges pods one by one.
struct Judge<'a> {
    snapshot: &'a Snapshot,
    resource: ResourceIdx,
    request: &'a Request,
    scope: &'a ResolvedScope,
    forecast: &'a Forecast,
    fates: &'a Fates<'a>,
    units: &'a Units,
    marks: Marks<'a>,
    schedulers: Vec<Sym>,
    /// By owner.
    owners: Vec<OwnerFacts>,
    /// By group.
    memberships: Vec<Membership>,
}

impl Judge<'_> {
    fn all(&self) -> Movability {
        let snapshot = self.snapshot;
        let pods = || (0..snapshot.pods.len()).map(PodIdx::new);
        // A member of a unit without the resource never is a victim, but it may forbid the others.
        let own: Vec<Option<Reason>> = pods().map(|pod| self.standing(pod)).collect();
        let reasons: Vec<Option<Reason>> = pods()
            .map(|pod| {
                let holds = snapshot.charged(pod, self.resource) > 0;
                match own[pod.at()] {
                    Some(reason) if reason.code.holds_nothing() => Some(reason),
                    _ if !holds => Some(Code::NotRequesting.into()),
                    Some(reason) => Some(reason),
                    None => self.in_company(pod, &own),
                }
            })
            .collect();
        let not_read = |pod: PodIdx| {
            let owner = snapshot.pod(pod).owner;
            owner.is_some_and(|owner| snapshot.owners[owner.at()].object == OwnerObject::NotRead)
        };
        let derived_from_live_pods = pods().any(|pod| reasons[pod.at()].is_none() && not_read(pod));
        let owners = (0..snapshot.owners.len()).map(OwnerIdx::new);
        let tolerated = owners.map(|owner| self.fates.evictions_tolerated(owner)).collect();
        Movability { reasons, tolerated, derived_from_live_pods, warnings: self.marks.warnings() }
    }

    /// The reason of the pod itself, whether or not it holds the resource.
    fn standing(&self, at: PodIdx) -> Option<Reason> {
        let pod = self.snapshot.pod(at);
        if !pod.stands() {
            return Some(Code::NotBound.into());
        }
        if pod.terminating {
            return Some(Code::Terminating.into());
        }
        if pod.mirror {
            return Some(Code::StaticPod.into());
        }
        let Some(owner) = pod.owner else { return Some(Code::BarePod.into()) };
        let (kind, state) = self.owners[owner.at()];
        if kind == OwnerKind::Daemon {
            return Some(Reason::new(Code::DaemonSetPod, Detail::Owner(owner)));
        }
        self.marks
            .protected(pod)
            .or_else(|| self.marks.opted_out(pod))
            .or_else(|| pod.group.and_then(|group| self.scope.group(group)).map(Reason::from))
            .or(state)
            .or_else(|| self.lasting_trouble(at, owner))
            .or_else(|| self.lasting_budget(at))
            .or_else(|| self.placement(pod))
            .or_else(|| self.liftable_trouble(at, owner))
            .or_else(|| self.marks.managed_elsewhere(pod))
            .or_else(|| self.host_path(pod))
            .or_else(|| self.marks.not_preemptable(pod))
            .or_else(|| self.marks.age(pod))
            .or_else(|| self.budget_now(self.forecast.grip(self.snapshot, at)))
    }

    fn trouble(&self, at: PodIdx, owner: OwnerIdx) -> Option<Reason> {
        let (code, clause) = self.fates.of(at).trouble?;
        Some(Reason::new(code, Detail::OwnerClause(owner, clause)))
    }

    /// What the owner would do that no flag excuses, and templates that no scheduler sees.
    fn lasting_trouble(&self, at: PodIdx, owner: OwnerIdx) -> Option<Reason> {
        let lasts =
            |r: &Reason| matches!(r.code, Code::OwnerEnds | Code::RetriesExhausted | Code::OwnerScalingDown);
        let trouble = self.trouble(at, owner).filter(lasts);
        let template = self.snapshot.pod(at).template;
        let names_node = template.is_some_and(|template| template.names_node);
        trouble.or_else(|| names_node.then(|| Reason::new(Code::TemplateNamesNode, Detail::Owner(owner))))
    }

    fn liftable_trouble(&self, at: PodIdx, owner: OwnerIdx) -> Option<Reason> {
        let options = &self.request.movability;
        if self.owners[owner.at()].0 == OwnerKind::Custom && !options.allow_custom_owners {
            return Some(Reason::new(Code::CustomOwner, Detail::Owner(owner)));
        }
        self.trouble(at, owner).filter(|reason| match reason.code {
            Code::OwnerMayEnd => !options.allow_may_terminate,
            Code::LateRecovery => !options.allow_late_recovery,
            _ => true,
        })
    }

    /// Scheduler and group.
    fn placement(&self, pod: &Pod) -> Option<Reason> {
        let scheduler = self.snapshot.spec(pod.replacement_spec()).scheduler;
        if !self.schedulers.contains(&scheduler) {
            return Some(Reason::new(Code::SchedulerNotEnabled, Detail::Text(scheduler)));
        }
        let Some(group) = pod.group else { return Some(Code::NoPodGroup.into()) };
        match self.memberships[group.at()] {
            Membership::Free => None,
            // Replacements have to stay in the part of the network where the others run (rulebook 2.10).
            Membership::HardTopology => Some(Code::HardTopology.into()),
            Membership::NotRead => {
                let name = self.snapshot.groups[group.at()].name;
                Some(Reason::new(Code::PodGroupNotRead, Detail::Text(name)))
            }
            Membership::Virtual => {
                if self.request.movability.has_pod_groups(self.snapshot.text(scheduler)) {
                    Some(Code::NoPodGroup.into())
                } else {
                    (!self.request.movability.allow_ungrouped).then(|| Code::Ungrouped.into())
                }
            }
        }
    }

    fn host_path(&self, pod: &Pod) -> Option<Reason> {
        let uses = |spec: SpecIdx| self.snapshot.spec(spec).volumes.contains(&Volume::HostPath);
        let any = uses(pod.spec) || uses(pod.replacement_spec());
        (any && !self.request.movability.allow_host_path).then(|| Code::HostPath.into())
    }

    fn lasting_budget(&self, at: PodIdx) -> Option<Reason> {
        match self.forecast.grip(self.snapshot, at) {
            Grip::Never(budget, clause) => {
                Some(Reason::new(Code::BudgetNeverAllows, Detail::BudgetClause(budget, clause)))
            }
            Grip::Several(a, b) => Some(Reason::new(Code::SeveralBudgets, Detail::Budgets(a, b))),
            Grip::Free | Grip::Allowed(_) | Grip::ExhaustedNow(_) => None,
        }
    }

    fn budget_now(&self, grip: Grip) -> Option<Reason> {
        match grip {
            Grip::ExhaustedNow(budget) if self.request.movability.on_blocked_pdb == OnBlockedPdb::Fail => {
                let allowance = self.forecast.allowance(budget);
                let (healthy, desired) = (allowance.healthy, allowance.desired);
                let detail = Detail::BudgetNumbers { budget, healthy, desired };
                Some(Reason::new(Code::BudgetExhaustedNow, detail))
            }
            _ => None,
        }
    }

    /// The reason that the pods taken along give.
    fn in_company(&self, pod: PodIdx, own: &[Option<Reason>]) -> Option<Reason> {
        let members = self.units.members(pod);
        if members.len() < 2 {
            return None;
        }
        let blocked = members.iter().find_map(|&member| {
            let reason = own[member.at()].filter(|reason| forbids_company(reason.code))?;
            Some(Reason::new(Code::CascadeBlocked, Detail::Pod(member, reason.code)))
        });
        blocked.or_else(|| match self.forecast.grip_of_unit(self.snapshot, members) {
            Grip::Never(budget, clause) => {
                Some(Reason::new(Code::BudgetNeverAllows, Detail::BudgetClause(budget, clause)))
            }
            grip => self.budget_now(grip),
        })
    }
}

/// Reasons of a pod for which its siblings may not take it along. What its controller thinks of evictions counts for
/// the evicted pod only.
fn forbids_company(code: Code) -> bool {
    !code.holds_nothing()
        && !matches!(code, Code::OwnerEnds | Code::OwnerMayEnd | Code::RetriesExhausted | Code::LateRecovery)
}
