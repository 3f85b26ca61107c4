//! `kubectl-repack run --once`
//!
//! May import: cli

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::controller::{ExecutionArgs, ProcessArgs};
use super::groups::{PlanArgs, RunArgs, ViewArgs};
use super::value;

/// Carry one run out in this process and end with its result, as a CronJob does
///
/// Creates the RepackRun, plans it, and in mode Execute moves the pods, checks what came of it and cleans up. This process
/// stands for election like a controller and serves the webhooks while it runs; where a controller leads, that one does the
/// work and this process only follows. Execute runs of others are not begun; one that another process left half done is
/// finished first. A run of the same name that asks for the same is taken up, so that a Job may try again.
///
/// Logs are lines of JSON on standard error. When the process is asked to end or its time is over, and it leads, the run
/// is cancelled and cleaned up after before it goes; killed, it leaves the run to the next process.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  # As the CronJob of manifests/cronjob runs it: a Job that tries again goes on with the same run
  kubectl-repack run --once -f /etc/kubectl-repack/run.yaml --name \"$JOB_NAME\"

  # Only look, with the flags of dryrun
  kubectl-repack run --once --mode dryrun -r huawei.com/ascend-1980 --max-podgroups 2

  # From outside the cluster, where the API server can reach this machine
  kubectl-repack run --once --mode execute --webhook-url https://10.0.0.7")]
pub struct OnceArgs {
    /// One run and no more; anything else is the controller's work
    #[arg(long, required = true)]
    pub once: bool,
    /// Take mode, goal, scope and budget from this RepackRun file; `-` is standard input. Flags given beside it win
    #[arg(long, short = 'f', value_name = "FILE", required_unless_present = "mode")]
    pub filename: Option<PathBuf>,
    /// What to do, instead of the mode of the file
    #[arg(long, value_enum, value_name = "MODE", ignore_case = true, help_heading = "Run")]
    pub mode: Option<ModeName>,
    /// Name of the run, instead of the file's [default: a new one]
    #[arg(long, help_heading = "Run", value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Give the run up after this time; seconds or 90s, 30m, 2h [default: none]
    #[arg(long, help_heading = "Run", value_name = "TIME", value_parser = value::seconds)]
    pub timeout: Option<i64>,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub process: ProcessArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// Values of `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// Plan
    #[value(name = "dryrun")]
    DryRun,
    /// Plan, and move the pods
    Execute,
}
