//! `kubectl repack execute` and `kubectl repack cancel`
//!
//! May import: cli

use std::path::PathBuf;

use clap::Args;

use super::groups::{PlanArgs, RunArgs, ViewArgs};
use super::value;

/// Move the pods of a plan, after showing it and asking once
///
/// The plan is made by the controller (as a run of mode DryRun), shown, and asked about; then a run of mode Execute carries
/// out that plan and no other: when the cluster has changed so much that another plan comes out, nothing is moved, the
/// difference is shown and the question comes again. The run goes on without this command: Ctrl-C leaves it.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # Show the plan, ask, carry it out, and show what came of it
  kubectl repack execute

  # At most two PodGroups and eight cards, without a question
  kubectl repack execute --max-podgroups 2 --max-cards 8 --yes

  # Only the plan that was reviewed before; another one is refused with exit code 3
  kubectl repack execute -f run.yaml --expect 0123456789abcdef --yes")]
pub struct ExecuteArgs {
    /// Take goal, scope and budget from this RepackRun file. Flags given beside it win
    #[arg(long, short = 'f', value_name = "FILE")]
    pub filename: Option<PathBuf>,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Do not ask
    #[arg(long, short = 'y', help_heading = "Run")]
    pub yes: bool,
    /// Carry out only the plan with this id
    #[arg(long, help_heading = "Run", value_name = "ID")]
    pub expect: Option<String>,
    /// Stop following the run after this time; seconds or 90s, 30m, 2h [default: none]
    #[arg(long, help_heading = "Run", value_name = "TIME", value_parser = value::seconds)]
    pub timeout: Option<i64>,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// Stop a run; what it has moved stays where it is
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  # Stop a run and see how it ends
  kubectl repack cancel execute-x7k2p
  kubectl repack status execute-x7k2p -w

  # Which runs there are
  kubectl repack status")]
pub struct CancelArgs {
    /// The run
    #[arg(value_name = "NAME")]
    pub name: String,
}
