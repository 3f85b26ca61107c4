//! `kubectl repack execute` and `kubectl repack cancel`
//!
//! May import: cli, manifests

use std::path::PathBuf;

use clap::Args;

use super::groups::{PlanArgs, RunArgs, ViewArgs};
use super::value;
use crate::manifests::NAMESPACE;

/// Move the pods of a plan, after showing it and asking once
///
/// The plan is made by the controller (as a run of mode DryRun), shown, and asked about; then a run of mode Execute carries
/// out that plan and no other: when the cluster has changed so much that another plan comes out, nothing is moved, the
/// difference is shown and the question comes again. The run goes on without this command: Ctrl-C leaves it.
///
/// Where no controller lives, --local does all of it in this process, with the rights of the one who calls it. Ctrl-C
/// then stops the run and cleans up after it, since nobody else would.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # Show the plan, ask, carry it out, and show what came of it
  kubectl repack execute

  # At most two PodGroups and eight cards, without a question
  kubectl repack execute --max-podgroups 2 --max-cards 8 --yes

  # Only the plan that was reviewed before; another one is refused with exit code 3
  kubectl repack execute -f run.yaml --expect 0123456789abcdef --yes

  # Without a controller, from a machine that the API server can reach
  kubectl repack execute --local --webhook-url https://10.0.0.7")]
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
    /// Namespace of the Lease kubectl-repack-controller
    #[arg(long, help_heading = "Run", value_name = "NAME", default_value = NAMESPACE)]
    pub lease_namespace: String,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub local: LocalArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// Carrying the run out without a controller.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Without a controller")]
pub struct LocalArgs {
    /// Carry the run out in this process, under the Lease
    #[arg(long)]
    pub local: bool,
    /// With --local: where the API server finds the webhooks that this process serves; without, no replacement waits at a
    /// gate, and only pods of Volcano are moved
    #[arg(long, value_name = "URL", requires = "local")]
    pub webhook_url: Option<String>,
    /// With --local: port of the webhooks; 0 takes a free one, which a URL without a port gets
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    pub webhook_port: u16,
    /// With --local: how long the Lease holds after it was renewed; at least 2s
    #[arg(long, value_name = "TIME", value_parser = value::lease, default_value = "20s")]
    pub lease_duration: i64,
    /// With --local: time between the end of a run that evicted something and this one
    #[arg(long, value_name = "TIME", value_parser = value::seconds, default_value = "10m")]
    pub execute_cooldown: i64,
}

/// Stop a run; what it has moved stays where it is
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  # Stop a run and see how it ends
  kubectl repack cancel execute-x7k2p
  kubectl repack status execute-x7k2p -w

  # The controller is gone for good: clean up after a run of its
  kubectl repack cancel execute-x7k2p --force")]
pub struct CancelArgs {
    /// The run
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where no controller lives, clean up from here: take gates, leases and the finalizer away and say how it ended
    #[arg(long)]
    pub force: bool,
    /// Namespace of the Lease kubectl-repack-controller
    #[arg(long, value_name = "NAME", default_value = NAMESPACE)]
    pub lease_namespace: String,
    /// With --force: how long the Lease holds after it was renewed; at least 2s
    #[arg(long, value_name = "TIME", value_parser = value::lease, default_value = "20s")]
    pub lease_duration: i64,
}
