//! Which pods count as movable: typed flags over the planner's defaults.
//!
//! May import: cli, filter, plan

use crate::cli::args::groups::{MovabilityArgs, Rules};
use crate::filter::SchedulerRules;
use crate::plan::request::Movability;

/// The planner's movability options with what was typed filled in. Of two rules for one scheduler the last one wins.
/// The action on blocked disruption budgets is not among them: the run's spec carries it.
pub fn movability(args: &MovabilityArgs) -> Movability {
    let mut movability = Movability::default();
    let mut schedulers = args.schedulers.clone();
    if !schedulers.is_empty() {
        schedulers.sort();
        schedulers.dedup();
        movability.schedulers = schedulers;
    }
    for (name, typed) in &args.scheduler_rules {
        let rules = match typed {
            Rules::Kube => SchedulerRules::Kube,
            Rules::Volcano => SchedulerRules::Volcano,
            Rules::Hami => SchedulerRules::Hami,
        };
        movability.scheduler_rules.insert(name.clone(), rules);
    }
    if let Some(seconds) = args.min_pod_age {
        movability.min_pod_age_seconds = seconds.unsigned_abs();
    }
    if let Some(seconds) = args.pod_cooldown {
        movability.pod_cooldown_seconds = seconds.unsigned_abs();
    }
    Movability {
        allow_ungrouped: args.allow_ungrouped,
        allow_host_path: args.allow_host_path,
        allow_managed_elsewhere: args.allow_managed_elsewhere,
        allow_custom_owners: args.allow_custom_owners,
        allow_late_recovery: args.allow_late_recovery,
        allow_may_terminate: args.allow_may_terminate,
        only_preemptable: args.only_preemptable,
        ..movability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_typed_means_the_defaults_of_the_planner() {
        assert_eq!(movability(&MovabilityArgs::default()), Movability::default());
    }

    #[test]
    fn typed_schedulers_replace_the_default_and_the_last_rule_for_a_name_wins() {
        let movability = movability(&MovabilityArgs {
            schedulers: vec!["mine".to_owned(), "default-scheduler".to_owned(), "mine".to_owned()],
            scheduler_rules: vec![("mine".to_owned(), Rules::Kube), ("mine".to_owned(), Rules::Volcano)],
            allow_late_recovery: true,
            ..MovabilityArgs::default()
        });
        assert_eq!(movability.schedulers, ["default-scheduler", "mine"]);
        assert_eq!(movability.rules_of("mine"), SchedulerRules::Volcano);
        assert!(movability.allow_late_recovery && !movability.allow_ungrouped);
    }
}
