//! `kubectl repack status`
//!
//! May import: cli

use clap::Args;

use super::groups::ViewArgs;
use super::value;

/// Show the runs of a cluster, or one run: what was asked, planned, done and achieved
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # All runs, oldest first
  kubectl repack status

  # One run in full
  kubectl repack status ascend-npu-dryrun

  # Follow a run to its end; the exit code is that of the run
  kubectl repack status ascend-npu-dryrun -w --timeout 10m")]
pub struct StatusArgs {
    /// Name of the run; all runs without
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Follow the run until it has finished, then show it: on a terminal a picture of each node and its pods, elsewhere a line
    /// per change, with -o json or yaml the whole object whenever it changes
    #[arg(long, short)]
    pub watch: bool,
    /// Give up watching after this time; seconds or 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = value::seconds, requires = "watch")]
    pub timeout: Option<i64>,
    #[command(flatten)]
    pub view: ViewArgs,
}
