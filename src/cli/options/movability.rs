//! Which pods count as movable, and whose rules their schedulers follow.
//!
//! May import: cli

use std::collections::BTreeMap;

use crate::cli::args::groups::{MovabilityArgs, Rules};

/// How long a pod that was moved is left alone when nothing else is said: a day, so that a policy that runs every
/// hour does not move the same pod around.
const DEFAULT_POD_COOLDOWN_SECONDS: i64 = 24 * 3600;

/// Whose Filter rules a scheduler name follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedulerRules {
    /// kube-scheduler's default profile.
    Kube,
    /// Volcano's predicates.
    Volcano,
    /// HAMi's extender on top of kube-scheduler.
    Hami,
}

/// Which pods count as movable, defaults filled in. Times are whole seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movability {
    /// Scheduler names whose pods may move, sorted, each once.
    pub schedulers: Vec<String>,
    /// Whose rules a name follows. Names that are not in here follow kube-scheduler's.
    pub rules: BTreeMap<String, SchedulerRules>,
    /// Whether pods without a PodGroup may move, grouped by their controlling owner.
    pub allow_ungrouped: bool,
    /// Whether pods with hostPath volumes may move.
    pub allow_host_path: bool,
    /// Whether pods whose admission another system manages may move.
    pub allow_managed_elsewhere: bool,
    /// Younger pods stay.
    pub min_pod_age_seconds: i64,
    /// Pods moved more recently stay.
    pub pod_cooldown_seconds: i64,
    /// Whether only pods marked preemptable may move.
    pub only_preemptable: bool,
}

impl Default for Movability {
    fn default() -> Self {
        Self::resolve(&MovabilityArgs::default())
    }
}

impl Movability {
    /// Fills the defaults in; of two rules for one name the last one typed wins.
    pub fn resolve(args: &MovabilityArgs) -> Self {
        let mut schedulers: Vec<String> = args
            .schedulers
            .iter()
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        if schedulers.is_empty() {
            schedulers.push("volcano".to_owned());
        }
        schedulers.sort();
        schedulers.dedup();
        let mut rules = BTreeMap::from([
            ("volcano".to_owned(), SchedulerRules::Volcano),
            ("default-scheduler".to_owned(), SchedulerRules::Kube),
            ("hami-scheduler".to_owned(), SchedulerRules::Hami),
        ]);
        for (name, typed) in &args.scheduler_rules {
            let typed = match typed {
                Rules::Kube => SchedulerRules::Kube,
                Rules::Volcano => SchedulerRules::Volcano,
                Rules::Hami => SchedulerRules::Hami,
            };
            rules.insert(name.clone(), typed);
        }
        Self {
            schedulers,
            rules,
            allow_ungrouped: args.allow_ungrouped,
            allow_host_path: args.allow_host_path,
            allow_managed_elsewhere: args.allow_managed_elsewhere,
            min_pod_age_seconds: args.min_pod_age.unwrap_or(0),
            pod_cooldown_seconds: args.pod_cooldown.unwrap_or(DEFAULT_POD_COOLDOWN_SECONDS),
            only_preemptable: args.only_preemptable,
        }
    }

    /// Whose rules this scheduler name follows.
    pub fn rules_of(&self, scheduler: &str) -> SchedulerRules {
        self.rules.get(scheduler).copied().unwrap_or(SchedulerRules::Kube)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_typed_means_volcano_and_a_day() {
        let movability = Movability::default();
        assert_eq!(movability.schedulers, ["volcano"]);
        assert_eq!((movability.min_pod_age_seconds, movability.pod_cooldown_seconds), (0, 86_400));
        assert_eq!(movability.rules_of("volcano"), SchedulerRules::Volcano);
        assert_eq!(movability.rules_of("anything-else"), SchedulerRules::Kube);
    }

    #[test]
    fn typed_schedulers_replace_the_default_and_typed_rules_add_to_the_known_ones() {
        let movability = Movability::resolve(&MovabilityArgs {
            schedulers: vec!["default-scheduler".to_owned(), "mine".to_owned(), "mine".to_owned()],
            scheduler_rules: vec![("mine".to_owned(), Rules::Kube), ("mine".to_owned(), Rules::Volcano)],
            ..MovabilityArgs::default()
        });
        assert_eq!(movability.schedulers, ["default-scheduler", "mine"]);
        assert_eq!(movability.rules_of("mine"), SchedulerRules::Volcano);
        assert_eq!(movability.rules_of("hami-scheduler"), SchedulerRules::Hami);
    }
}
