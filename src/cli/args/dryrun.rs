//! `kubectl repack dryrun`
//!
//! May import: cli

use std::path::PathBuf;

use clap::Args;

use super::groups::{
    BudgetArgs, GoalArgs, MovabilityArgs, PlannerArgs, RunArgs, ScopeArgs, SourceArgs, ViewArgs,
};
use super::value;

/// Show which pods would move and which nodes that frees, without moving anything
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # What could be freed on a saved cluster
  kubectl repack dryrun --snapshot cluster.json

  # At most two PodGroups and eight cards, training jobs only
  kubectl repack dryrun --snapshot cluster.json --max-podgroups 2 --max-cards 8 \\
    --include-podgroups team=training

  # The plan as the API stores it, for a run that is kept in a file
  kubectl repack dryrun --snapshot cluster.json -f run.yaml -o yaml")]
pub struct DryRunArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Take goal, scope and budget from this RepackRun file; `-` is standard input. Flags given beside it win
    #[arg(long, short = 'f', value_name = "FILE")]
    pub filename: Option<PathBuf>,
    /// Time at which the plan is made, for ages and for the times in the output
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub now: Option<jiff::Timestamp>,
    #[command(flatten)]
    pub goal: GoalArgs,
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub planner: PlannerArgs,
    /// List freed nodes against disruption instead of one plan; --free N then picks a point
    #[arg(long, help_heading = "Planner")]
    pub frontier: bool,
    #[command(flatten)]
    pub movability: MovabilityArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}
