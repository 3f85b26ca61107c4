//! `kubectl repack dryrun`
//!
//! May import: cli

use std::path::PathBuf;

use clap::Args;

use super::groups::{PlanArgs, RunArgs, SourceArgs, ViewArgs};
use super::value;

/// Show which pods would move and which nodes that frees, without moving anything
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # What could be freed in the cluster of the current context; the plan is kept as a RepackRun for a day
  kubectl repack dryrun --ttl 1d

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
    #[command(flatten)]
    pub plan: PlanArgs,
    /// List freed nodes against disruption instead of one plan; --free N then picks a point
    ///
    /// COST is 1.0 for each PodGroup that is touched, 0.8 for each that falls below its minimum (BREACHED), 0.6 for
    /// each card that stops working (DAMAGED: those that move, and all of a PodGroup below its minimum), 0.3 for each
    /// card and 0.1 for each pod that moves; `spec.planner.weights` of a run file changes that. No plan for as many
    /// nodes costs less than AT LEAST. CARDS are the allocatable cards of the freed nodes; beside --min-benefit N the
    /// last line says where that stops.
    #[arg(long, help_heading = "Planner")]
    pub frontier: bool,
    /// Plan on this machine instead of creating a RepackRun in the cluster
    ///
    /// The same happens by itself where the cluster has no RepackRuns, with --snapshot and with --frontier.
    #[arg(long, help_heading = "Run")]
    pub local: bool,
    /// Give up waiting for the run after this time; seconds or 90s, 30m, 2h [default: 5m]
    #[arg(long, help_heading = "Run", value_name = "TIME", value_parser = value::seconds)]
    pub timeout: Option<i64>,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}
