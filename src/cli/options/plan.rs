//! What is to be planned: the flags and the run file become one `RepackRun` and the planner's request.
//!
//! May import: cli, api, plan

use super::movability::movability;
use crate::api::{
    Algorithm, Eviction, Execution, Goal, LabelSelector, MaxPerRun, Mode, ObjectSelection, OnBlockedPdb,
    Planner, RepackRun, RepackRunSpec, Scope, ScopeRule,
};
use crate::cli::args::dryrun::DryRunArgs;
use crate::cli::args::groups::{
    AlgorithmName, BlockedPdb, BudgetArgs, PlanArgs, PlannerArgs, RunArgs, ScopeArgs,
};
use crate::cli::error::CliError;
use crate::plan::request::{Movability, Request};

/// What is to be planned.
///
/// The resource may still be open: without one the caller takes the only extended resource in use, and only then do
/// the threshold and the cap on cards have the resource they belong to. [`Self::run_for`] closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    run: RepackRun,
    resource: Option<String>,
    min_improvement: Option<i64>,
    max_cards: Option<i64>,
    /// Which pods count as movable.
    pub movability: Movability,
    /// When the plan is made; absent: no time stands in the output.
    pub now: Option<jiff::Timestamp>,
}

impl PlanOptions {
    /// A dry run, on top of the run that `--filename` named. A flag replaces the field of the file that it stands
    /// for and nothing else. The mode becomes `DryRun` whatever the file says.
    pub fn dry_run(args: &DryRunArgs, file: Option<RepackRun>) -> Self {
        Self::resolve(&args.plan, &args.run, file)
    }

    /// The same without a dry run's own flags.
    pub fn of_run(plan: &PlanArgs, flags: &RunArgs, file: Option<RepackRun>) -> Self {
        Self::resolve(plan, flags, file)
    }

    /// A plan that is not printed as a run: the one that `explain` speaks about, or that makes room for `fit`.
    pub fn of(args: &PlanArgs) -> Self {
        Self::resolve(args, &RunArgs::default(), None)
    }

    fn resolve(plan: &PlanArgs, flags: &RunArgs, file: Option<RepackRun>) -> Self {
        let mut run = file.unwrap_or_else(|| RepackRun::new(RepackRunSpec::default()));
        run.spec.mode = Mode::DryRun;
        apply_scope(&mut run.spec, &plan.scope);
        apply_budget(&mut run.spec, &plan.budget);
        apply_planner(&mut run.spec, &plan.planner);
        if let Some(blocked) = plan.movability.on_blocked_pdb {
            run.spec.execution.get_or_insert_with(Execution::default).on_blocked_pdb = Some(match blocked {
                BlockedPdb::Fail => OnBlockedPdb::Fail,
                BlockedPdb::Wait => OnBlockedPdb::Wait,
            });
        }
        if flags.grace_period.is_some() {
            run.spec.eviction.get_or_insert_with(Eviction::default).grace_period_seconds = flags.grace_period;
        }
        if flags.ttl.is_some() {
            run.spec.ttl_seconds_after_finished = flags.ttl;
        }
        let goal = run.spec.goals.first();
        Self {
            resource: plan.goal.resource.clone().or_else(|| goal.map(|goal| goal.resource.clone())),
            min_improvement: plan
                .goal
                .min_improvement
                .or_else(|| goal.map(|goal| goal.min_frag_improvement_percent)),
            max_cards: plan.budget.max_cards,
            run,
            movability: movability(&plan.movability),
            now: plan.now,
        }
    }

    /// The resource that was asked for, if any was.
    pub fn resource(&self) -> Option<&str> {
        self.resource.as_deref()
    }

    /// The complete run for this resource, and the planner's request that says the same.
    ///
    /// # Errors
    /// Names that no object can have, such as `--include-node team/x`.
    pub fn request_for(&self, resource: &str) -> Result<(RepackRun, Request), CliError> {
        let run = self.run_for(resource);
        let mut request = Request::from_spec(&run.spec, None, self.movability.clone())
            .map_err(|faults| CliError::faults("cannot plan this", faults))?;
        request.now = self.now.map(jiff::Timestamp::as_second);
        Ok((run, request))
    }

    /// The complete run for this resource.
    pub fn run_for(&self, resource: &str) -> RepackRun {
        let mut run = self.run.clone();
        run.spec.goals = vec![Goal {
            resource: resource.to_owned(),
            min_frag_improvement_percent: self.min_improvement.unwrap_or(0),
        }];
        if let Some(cards) = self.max_cards {
            let max = run.spec.max_per_run.get_or_insert_with(MaxPerRun::default);
            max.resources.insert(resource.to_owned(), cards);
        }
        run
    }
}

fn apply_scope(spec: &mut RepackRunSpec, flags: &ScopeArgs) {
    let groups_in = selection(flags.include_podgroups.as_ref(), &flags.include_podgroup);
    let groups_out = selection(flags.exclude_podgroups.as_ref(), &[]);
    let nodes_in = selection(flags.include_nodes.as_ref(), &flags.include_node);
    let nodes_out = selection(flags.exclude_nodes.as_ref(), &[]);
    if [&groups_in, &groups_out, &nodes_in, &nodes_out].iter().all(|side| side.is_none()) {
        return;
    }
    let scope = spec.scope.get_or_insert_with(Scope::default);
    apply_rule(&mut scope.pod_groups, groups_in, groups_out);
    apply_rule(&mut scope.nodes, nodes_in, nodes_out);
}

fn apply_rule(
    rule: &mut Option<ScopeRule>,
    include: Option<ObjectSelection>,
    exclude: Option<ObjectSelection>,
) {
    if include.is_none() && exclude.is_none() {
        return;
    }
    let rule = rule.get_or_insert_with(ScopeRule::default);
    rule.include = include.or_else(|| rule.include.take());
    rule.exclude = exclude.or_else(|| rule.exclude.take());
}

fn selection(selector: Option<&LabelSelector>, names: &[String]) -> Option<ObjectSelection> {
    let selection = ObjectSelection { selector: selector.cloned(), names: names.to_vec() };
    (!selection.is_empty()).then_some(selection)
}

fn apply_budget(spec: &mut RepackRunSpec, flags: &BudgetArgs) {
    if flags.max_podgroups.is_some() {
        spec.max_per_run.get_or_insert_with(MaxPerRun::default).pod_groups = flags.max_podgroups;
    }
    if flags.free.is_some() {
        spec.planner.get_or_insert_with(Planner::default).max_freed_nodes = flags.free;
    }
    if flags.min_benefit.is_some() {
        spec.planner.get_or_insert_with(Planner::default).min_benefit = flags.min_benefit;
    }
}

fn apply_planner(spec: &mut RepackRunSpec, flags: &PlannerArgs) {
    let planner = spec.planner.get_or_insert_with(Planner::default);
    planner.algorithm = match (flags.algorithm, planner.algorithm) {
        (Some(AlgorithmName::Search), _) => Some(Algorithm::Search),
        (Some(AlgorithmName::Drain), _) => Some(Algorithm::Drain),
        (None, asked) => Some(asked.unwrap_or(Algorithm::Search)),
    };
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
