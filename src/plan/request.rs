//! What a planner is asked: the one value that flags, a `RepackRun` file and the controller turn into.
//!
//! Plain values, no clock: ages count only when [`Request::now`] is given. Percentages are whole, cards and other
//! amounts whole units, weights tenths.
//!
//! May import: api, filter

use std::collections::BTreeMap;

use crate::api::{self, Algorithm, FieldError, OnBlockedPdb, RepackRunSpec, Scope};
use crate::filter::{SchedulerRules, Schedulers};

/// Work units of a search that is not told otherwise.
pub const DEFAULT_EFFORT: u64 = api::DEFAULT_EFFORT.unsigned_abs();

/// Everything that planning depends on besides the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The extended resource whose nodes are to be freed.
    pub resource: String,
    /// Percentage points by which the rate has to fall, 0 to 100.
    pub min_improvement_percent: i64,
    /// Which `PodGroups` may move and which nodes may be emptied.
    pub scope: Scope,
    /// Upper limits of the whole plan.
    pub budget: Budget,
    /// Which pods may move besides the scope.
    pub movability: Movability,
    /// Cost of each kind of disruption.
    pub weights: Weights,
    /// Stop after this many freed nodes (`--free`).
    pub max_freed_nodes: Option<u64>,
    /// Each further node has to bring this many allocatable cards per card that it damages (`--min-benefit`); 0 and
    /// `None` ask for nothing. Only [`crate::engine::plan`] knows what further nodes are: [`make`](super::make) passes
    /// over it.
    pub min_benefit: Option<u64>,
    /// A node, by name, that every plan has to free: what a plan with it would be. Search alone keeps to it.
    pub must_free: Option<String>,
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// Work units that Search may spend.
    pub effort: u64,
    /// Grace period of evictions; `None` = the pod's own.
    pub grace_period_seconds: Option<u64>,
    /// The plan is to be carried out: its status has a record per move.
    pub executes: bool,
    /// Largest status of a run, in bytes; `None` offline. Only [`crate::engine::plan`] knows what a status is:
    /// [`make`](super::make) passes over it.
    pub max_object_bytes: Option<u64>,
    /// The present, seconds since 1970. Without it ages are unknown and age rules do not apply.
    pub now: Option<i64>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            resource: String::new(),
            min_improvement_percent: 0,
            scope: Scope::default(),
            budget: Budget::default(),
            movability: Movability::default(),
            weights: Weights::default(),
            max_freed_nodes: None,
            min_benefit: None,
            must_free: None,
            algorithm: Algorithm::Drain,
            effort: DEFAULT_EFFORT,
            grace_period_seconds: None,
            executes: false,
            max_object_bytes: None,
            now: None,
        }
    }
}

/// Upper limits of a plan, cascades included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Distinct `PodGroups`; `Some(0)` = nothing may move.
    pub pod_groups: Option<u64>,
    /// Resource to the largest sum over all moved pods.
    pub resources: BTreeMap<String, u64>,
}

/// Which pods may move, besides scope and opt-outs. Each `allow_…` lifts one refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movability {
    /// Schedulers whose pods may move (`--schedulers`).
    pub schedulers: Vec<String>,
    /// Whose rules a scheduler name follows (`--scheduler-rules`), where the default is wrong.
    pub scheduler_rules: BTreeMap<String, SchedulerRules>,
    /// Pods of schedulers without `PodGroups`, in virtual groups of their owners.
    pub allow_ungrouped: bool,
    /// Pods with `hostPath` volumes.
    pub allow_host_path: bool,
    /// Pods whose admission belongs to another system, such as a Kueue queue.
    pub allow_managed_elsewhere: bool,
    /// Pods of controllers whose reaction is unknown: taken to recreate that pod only, once it is gone.
    pub allow_custom_owners: bool,
    /// Pods whose controller may leave them out for a while (`ModelServing` with recovery policy None).
    pub allow_late_recovery: bool,
    /// Pods of jobs that end if the evicted pod exits with a fault.
    pub allow_may_terminate: bool,
    /// Only pods that are marked preemptable.
    pub only_preemptable: bool,
    /// Younger pods stay; needs [`Request::now`].
    pub min_pod_age_seconds: u64,
    /// Pods moved more recently than this stay; needs [`Request::now`].
    pub pod_cooldown_seconds: u64,
    /// What earlier runs moved.
    pub recent_moves: Vec<RecentMove>,
    /// What a disruption budget that allows nothing at the moment means.
    pub on_blocked_pdb: OnBlockedPdb,
}

impl Default for Movability {
    fn default() -> Self {
        Self {
            schedulers: vec!["volcano".to_owned()],
            scheduler_rules: BTreeMap::new(),
            allow_ungrouped: false,
            allow_host_path: false,
            allow_managed_elsewhere: false,
            allow_custom_owners: false,
            allow_late_recovery: false,
            allow_may_terminate: false,
            only_preemptable: false,
            min_pod_age_seconds: 0,
            pod_cooldown_seconds: 24 * 60 * 60,
            recent_moves: Vec::new(),
            on_blocked_pdb: OnBlockedPdb::Fail,
        }
    }
}

impl Movability {
    /// Whose rules the scheduler of that name follows: as told, else by its usual name, else kube-scheduler's.
    pub fn rules_of(&self, scheduler: &str) -> SchedulerRules {
        self.scheduler_rules.get(scheduler).copied().unwrap_or(match scheduler {
            "volcano" => SchedulerRules::Volcano,
            "hami-scheduler" => SchedulerRules::Hami,
            _ => SchedulerRules::Kube,
        })
    }

    /// The same for the evaluator: every enabled scheduler is declared.
    pub fn declared_rules(&self) -> Schedulers {
        let mut declared = Schedulers::default();
        for name in self.schedulers.iter().chain(self.scheduler_rules.keys()) {
            declared.set(name, self.rules_of(name));
        }
        declared
    }

    /// Whether the scheduler of that name places pods only as members of `PodGroups`.
    pub fn has_pod_groups(&self, scheduler: &str) -> bool {
        self.rules_of(scheduler) == SchedulerRules::Volcano
    }
}

/// A pod that an earlier run moved. Controllers that keep names are recognised by owner and ordinal, the others by
/// the replacement's UID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentMove {
    /// Namespace.
    pub namespace: String,
    /// Kind of the controlling owner.
    pub owner_kind: String,
    /// Name of the controlling owner.
    pub owner_name: String,
    /// Name of the victim.
    pub pod_name: String,
    /// UID of the replacement, empty when it was never seen.
    pub replacement_uid: String,
    /// When, seconds since 1970.
    pub at: i64,
}

/// Cost of each kind of disruption, in tenths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Per `PodGroup` touched.
    pub affected_pod_groups: i64,
    /// Per `PodGroup` that falls below its minimum.
    pub gang_breaches: i64,
    /// Per damaged card.
    pub damaged_cards: i64,
    /// Per moved card.
    pub moved_cards: i64,
    /// Per moved pod.
    pub moved_pods: i64,
}

impl Default for Weights {
    fn default() -> Self {
        let [affected_pod_groups, gang_breaches, damaged_cards, moved_cards, moved_pods] =
            api::DEFAULT_WEIGHTS;
        Self { affected_pod_groups, gang_breaches, damaged_cards, moved_cards, moved_pods }
    }
}

impl Request {
    /// A request for `resource` with every default.
    pub fn for_resource(resource: &str) -> Self {
        Self { resource: resource.to_owned(), ..Self::default() }
    }

    /// The request of a run's spec. `resource` stands in when the spec has no goal; movability comes from `base`
    /// (flags of the process), since the API does not carry it.
    ///
    /// # Errors
    /// What [`RepackRunSpec::validate`] finds, a missing resource, and fields that no plan would follow.
    pub fn from_spec(
        spec: &RepackRunSpec,
        resource: Option<&str>,
        base: Movability,
    ) -> Result<Self, Vec<FieldError>> {
        spec.validate()?;
        supported(spec)?;
        let goal = spec.goals.first();
        let Some(resource) = goal.map(|g| g.resource.as_str()).or(resource) else {
            return Err(vec![FieldError::new(
                "spec.goals",
                "names no resource, and there is no default one",
            )]);
        };
        let planner = spec.planner.clone().unwrap_or_default();
        let max = spec.max_per_run.clone().unwrap_or_default();
        let execution = spec.execution.as_ref();
        let request = Self {
            resource: resource.to_owned(),
            min_improvement_percent: goal.map_or(0, |g| g.min_frag_improvement_percent),
            scope: spec.scope.clone().unwrap_or_default(),
            budget: Budget {
                pod_groups: max.pod_groups.map(i64::unsigned_abs),
                resources: max.resources.iter().map(|(name, n)| (name.clone(), n.unsigned_abs())).collect(),
            },
            movability: Movability {
                on_blocked_pdb: execution.and_then(|e| e.on_blocked_pdb).unwrap_or(base.on_blocked_pdb),
                ..base
            },
            weights: Weights::from_api(&planner.weights.unwrap_or_default()),
            max_freed_nodes: planner.max_freed_nodes.map(i64::unsigned_abs),
            min_benefit: planner.min_benefit.map(i64::unsigned_abs),
            algorithm: planner.algorithm.unwrap_or(Algorithm::Search),
            effort: planner.effort.map_or(DEFAULT_EFFORT, i64::unsigned_abs),
            grace_period_seconds: spec
                .eviction
                .as_ref()
                .and_then(|e| e.grace_period_seconds)
                .map(i64::unsigned_abs),
            ..Self::default()
        };
        request.validate()?;
        Ok(request)
    }

    /// The cards that each further node has to bring per damaged card, where something is asked for.
    pub fn least_benefit(&self) -> Option<i64> {
        self.min_benefit.filter(|&least| least > 0).map(|least| i64::try_from(least).unwrap_or(i64::MAX))
    }

    /// Checks what [`RepackRunSpec::validate`] does not know. Field names are those of this value, as flags spell
    /// them.
    ///
    /// # Errors
    /// All faults, in the order of the fields.
    pub fn validate(&self) -> Result<(), Vec<FieldError>> {
        let mut faults = Vec::new();
        if !self.resource.contains('/') {
            let fault =
                format!("must be an extended resource such as \"nvidia.com/gpu\", not {:?}", self.resource);
            faults.push(FieldError::new("resource", fault));
        }
        if !(0..=100).contains(&self.min_improvement_percent) {
            let fault = format!("must be 0 to 100, not {}", self.min_improvement_percent);
            faults.push(FieldError::new("min-improvement", fault));
        }
        if self.movability.schedulers.is_empty() {
            faults.push(FieldError::new("schedulers", "must name at least one scheduler"));
        }
        if self.movability.schedulers.iter().any(String::is_empty) {
            faults.push(FieldError::new("schedulers", "has an empty name"));
        }
        let weights = &self.weights;
        for (name, weight) in [
            ("affectedPodGroups", weights.affected_pod_groups),
            ("gangBreaches", weights.gang_breaches),
            ("damagedCards", weights.damaged_cards),
            ("movedCards", weights.moved_cards),
            ("movedPods", weights.moved_pods),
        ] {
            if !(0..=Weights::MOST).contains(&weight) {
                let fault = format!("must be 0 to {}, not {weight}", Weights::MOST);
                faults.push(FieldError::new(format!("weights.{name}"), fault));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// Refuses what the contract has and planning does not: a plan that passes over a field would not be what was asked for.
fn supported(spec: &RepackRunSpec) -> Result<(), Vec<FieldError>> {
    let mut faults = Vec::new();
    if spec.network_topology.is_some() {
        faults.push(FieldError::new("spec.networkTopology", "is not supported yet"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

impl Weights {
    /// Largest weight.
    pub const MOST: i64 = api::MAX_WEIGHT;

    /// The weights in the order of the dimensions.
    pub const fn array(&self) -> [i64; 5] {
        [self.affected_pod_groups, self.gang_breaches, self.damaged_cards, self.moved_cards, self.moved_pods]
    }

    /// Weights of a run's spec; absent ones keep their default.
    pub fn from_api(api: &crate::api::Weights) -> Self {
        let default = Self::default();
        Self {
            affected_pod_groups: api.affected_pod_groups.unwrap_or(default.affected_pod_groups),
            gang_breaches: api.gang_breaches.unwrap_or(default.gang_breaches),
            damaged_cards: api.damaged_cards.unwrap_or(default.damaged_cards),
            moved_cards: api.moved_cards.unwrap_or(default.moved_cards),
            moved_pods: api.moved_pods.unwrap_or(default.moved_pods),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Goal, MaxPerRun};

    #[test]
    fn a_spec_becomes_a_request_with_the_defaults_of_the_contract() {
        let spec = RepackRunSpec {
            goals: vec![Goal { resource: "x.io/npu".to_owned(), min_frag_improvement_percent: 5 }],
            max_per_run: Some(MaxPerRun { pod_groups: Some(0), ..MaxPerRun::default() }),
            ..RepackRunSpec::default()
        };
        let request = Request::from_spec(&spec, None, Movability::default()).unwrap();
        assert_eq!((request.resource.as_str(), request.min_improvement_percent), ("x.io/npu", 5));
        assert_eq!(request.budget.pod_groups, Some(0));
        assert_eq!(request.weights, Weights::default());
        assert_eq!(request.movability.schedulers, ["volcano"]);
        assert_eq!(request.algorithm, Algorithm::Search);
    }

    #[test]
    fn a_request_without_a_resource_is_one_sentence() {
        let faults = Request::from_spec(&RepackRunSpec::default(), None, Movability::default()).unwrap_err();
        assert_eq!(faults[0].to_string(), "spec.goals names no resource, and there is no default one");
        let wrong = Request { min_improvement_percent: 101, ..Request::for_resource("cpu") };
        let faults: Vec<String> = wrong.validate().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "resource must be an extended resource such as \"nvidia.com/gpu\", not \"cpu\"",
                "min-improvement must be 0 to 100, not 101"
            ]
        );
    }

    #[test]
    fn what_no_plan_would_follow_is_refused_and_not_passed_over() {
        let faults = |json: serde_json::Value| -> Vec<String> {
            let spec: RepackRunSpec = serde_json::from_value(json).unwrap();
            let request = Request::from_spec(&spec, Some("x.io/npu"), Movability::default());
            request.err().unwrap_or_default().iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            faults(serde_json::json!({"mode": "DryRun", "networkTopology": {"hyperNodeTier": 1}})),
            ["spec.networkTopology is not supported yet"]
        );
    }

    #[test]
    fn no_least_benefit_and_one_of_zero_ask_for_nothing() {
        let asked = |min_benefit| Request { min_benefit, ..Request::default() }.least_benefit();
        assert_eq!(
            [None, Some(0), Some(2), Some(u64::MAX)].map(asked),
            [None, None, Some(2), Some(i64::MAX)]
        );
    }

    #[test]
    fn f54_an_absent_grace_period_is_not_zero() {
        let grace = |seconds: Option<i64>| {
            let spec = RepackRunSpec {
                eviction: Some(crate::api::Eviction { grace_period_seconds: seconds }),
                ..RepackRunSpec::default()
            };
            let request = Request::from_spec(&spec, Some("x.io/npu"), Movability::default());
            request.map(|r| r.grace_period_seconds).map_err(|faults| faults[0].field.clone())
        };
        assert_eq!(grace(None), Ok(None));
        assert_eq!(grace(Some(0)), Ok(Some(0)));
        assert_eq!(grace(Some(-1)), Err("spec.eviction.gracePeriodSeconds".to_owned()));
    }

    #[test]
    fn f32_a_scheduler_follows_kube_unless_its_name_or_the_user_says_otherwise() {
        let mut options = Movability::default();
        assert_eq!(options.rules_of("volcano"), SchedulerRules::Volcano);
        assert_eq!(options.rules_of("my-scheduler"), SchedulerRules::Kube);
        options.scheduler_rules.insert("my-scheduler".to_owned(), SchedulerRules::Volcano);
        assert!(options.has_pod_groups("my-scheduler"));
        assert_eq!(options.declared_rules().rules_of("my-scheduler"), Some(SchedulerRules::Volcano));
    }
}
