//! The record of an execution: one relocation per planned pod, in the order of execution, in the run's status.
//!
//! Times have whole seconds. A window is how long a replacement may take from its eviction on; the deadline is the sum
//! over the planned nodes of their longest windows, fixed before the first eviction.
//!
//! May import: api, snapshot, filter, plan

use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashMap;

use super::rights::Creator;
use super::seen::Seen;
use crate::api::{
    EvictionPhase, EvictionState, PlacementPhase, PlacementState, Plan as ApiPlan, Relocation, RepackRunSpec,
    RepackRunStatus,
};
use crate::filter::Schedulers;
use crate::plan::Plan;
use crate::plan::request::Movability;
use crate::snapshot::Snapshot;
use crate::snapshot::model::PodIdx;

/// Seconds a replacement has at least, beyond the grace period of its victim.
const BEYOND_GRACE: i64 = 300;
/// Seconds a replacement has where the run says nothing.
const DEFAULT_TIMEOUT: i64 = 600;

/// How a run wants to be carried out.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The resource that nodes are freed of.
    pub resource: String,
    /// Seconds a replacement has to be bound.
    pub timeout_seconds: i64,
    /// Evictions on the way at the same time.
    pub most_in_flight: usize,
    /// A replacement has to be Ready and not only bound.
    pub require_ready: bool,
    /// Nothing is evicted unless replacements are gated; none: only where the schedulers are not all Volcano's.
    pub require_gate: Option<bool>,
    /// Seconds that victims have to end; none: their own.
    pub grace_seconds: Option<i64>,
    /// Which rules each scheduler follows.
    pub schedulers: Schedulers,
    /// Who created the run, if their right to evict is asked about.
    pub creator: Option<Creator>,
}

impl Orders {
    /// What a spec asks for.
    pub fn of(spec: &RepackRunSpec, resource: &str, movability: &Movability) -> Self {
        let execution = spec.execution.clone().unwrap_or_default();
        let at_once = execution.max_concurrent_evictions.unwrap_or(1).max(1);
        Self {
            resource: resource.to_owned(),
            timeout_seconds: execution.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT),
            most_in_flight: usize::try_from(at_once).unwrap_or(usize::MAX),
            require_ready: execution.require_ready.unwrap_or(false),
            require_gate: execution.require_gate,
            grace_seconds: spec.eviction.as_ref().and_then(|eviction| eviction.grace_period_seconds),
            schedulers: movability.declared_rules(),
            creator: None,
        }
    }

    /// Seconds from an eviction to the time at which its replacement is let go.
    pub fn window(&self, own_grace: i64) -> i64 {
        let grace = self.grace_seconds.unwrap_or(own_grace).clamp(0, 1_000_000);
        self.timeout_seconds.clamp(1, 10_000_000).max(grace + BEYOND_GRACE)
    }
}

/// The status with which the execution of a plan begins: `status` has the plan and the conditions already.
pub fn begin(
    mut status: RepackRunStatus,
    snapshot: &Snapshot,
    plan: &Plan,
    orders: &Orders,
    seen: impl Fn(PodIdx) -> Option<Seen>,
    now: Timestamp,
) -> RepackRunStatus {
    let mut windows: FxHashMap<_, i64> = FxHashMap::default();
    let mut relocations = Vec::with_capacity(plan.moves.len());
    let mut step = None;
    for m in &plan.moves {
        // Pods that are recreated along belong to the node whose pod is evicted.
        if !m.cascade {
            step = Some(m.from);
        }
        let pod = snapshot.pod(m.pod);
        let seen = seen(m.pod).unwrap_or_default();
        let window = windows.entry(step).or_default();
        *window = orders.window(seen.grace_seconds).max(*window);
        let group = pod.group.map(|group| snapshot.text(snapshot.groups[group.at()].name));
        relocations.push(Relocation {
            namespace: snapshot.namespace_name(pod.namespace).to_owned(),
            pod_group_name: group.unwrap_or_default().to_owned(),
            replacement_pod_group_name: None,
            victim_pod_name: snapshot.pod_name(m.pod).to_owned(),
            victim_pod_uid: snapshot.text(pod.uid).to_owned(),
            scheduling_requirements_hash: seen.requirements,
            planned_node_name: snapshot.node_name(m.to).to_owned(),
            eviction: EvictionState { phase: EvictionPhase::Pending, message: String::new() },
            placement: PlacementState {
                phase: PlacementPhase::WaitingForReplacement,
                selected_node_name: None,
                replacement_pod_name: None,
                replacement_pod_uid: None,
                actual_node_name: None,
                expiration_time: String::new(),
            },
        });
    }
    let deadline = now + SignedDuration::from_secs(windows.values().sum());
    for relocation in &mut relocations {
        relocation.placement.expiration_time = written(deadline);
    }
    status.execution_deadline = Some(written(deadline));
    status.relocations = Some(relocations);
    status
}

/// A time as a status has it.
pub(super) fn written(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time of a status.
pub(super) fn read(time: &str) -> Option<Timestamp> {
    time.parse().ok()
}

/// What the plan says about a relocation and the relocation does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Where the victim stands.
    pub from: String,
    /// The node that is emptied by its unit.
    pub step: String,
    /// Its cards.
    pub cards: i64,
    /// The relocation whose eviction takes it away: its own, or for a pod that goes along the one it follows.
    pub unit: usize,
    /// Its controller takes it down along with another.
    pub cascade: bool,
    /// Its wave, from 1.
    pub wave: i64,
    /// Kind and name of the group's controlling owner; empty: none.
    pub owner: (String, String),
    /// Its API version.
    pub owner_api: String,
}

/// The facts of each relocation, in their order.
pub(super) fn facts(plan: &ApiPlan, relocations: &[Relocation]) -> Vec<Facts> {
    let mut by_pod: FxHashMap<(&str, &str), Facts> = FxHashMap::default();
    for group in &plan.moves {
        let owner = group.owner.as_ref().map(|owner| (owner.kind.clone(), owner.name.clone()));
        let owner_api = group.owner.as_ref().map(|owner| owner.api_version.clone());
        for pod in &group.pods {
            let facts = Facts {
                from: pod.from_node.clone(),
                step: String::new(),
                cards: pod.cards,
                unit: 0,
                cascade: pod.cascade,
                wave: pod.wave.unwrap_or(1),
                owner: owner.clone().unwrap_or_default(),
                owner_api: owner_api.clone().unwrap_or_default(),
            };
            by_pod.insert((&group.namespace, &pod.name), facts);
        }
    }
    let mut step = String::new();
    let mut unit = 0;
    let mut all = Vec::with_capacity(relocations.len());
    for (at, relocation) in relocations.iter().enumerate() {
        let key = (relocation.namespace.as_str(), relocation.victim_pod_name.as_str());
        let mut facts = by_pod.remove(&key).unwrap_or_default();
        if !facts.cascade {
            step.clone_from(&facts.from);
            unit = at;
        }
        facts.unit = unit;
        facts.step.clone_from(&step);
        all.push(facts);
    }
    all
}

/// Whether a placement will not change any more.
pub(super) const fn is_closed(placement: PlacementPhase) -> bool {
    matches!(placement, PlacementPhase::Placed | PlacementPhase::TimedOut | PlacementPhase::NotNeeded)
}

/// Whether an eviction took its pod away.
pub(super) const fn left(eviction: EvictionPhase) -> bool {
    matches!(eviction, EvictionPhase::Accepted | EvictionPhase::IndirectlyRemoved)
}

/// Whether a relocation needs a place and has none yet.
pub(super) const fn is_open(relocation: &Relocation) -> bool {
    left(relocation.eviction.phase) && !is_closed(relocation.placement.phase)
}
