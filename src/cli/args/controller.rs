//! `kubectl-repack controller`
//!
//! May import: cli

use std::net::IpAddr;

use clap::{ArgAction, Args};

use super::groups::MovabilityArgs;
use super::value;

/// Run the controller that answers RepackRuns: it plans them, and carries those of mode Execute out
///
/// Several replicas may run: one leads, by a Lease, and the others wait. The leader plans runs in the order of their
/// creation, writes their status and events, and deletes finished runs whose ttlSecondsAfterFinished is over. It carries
/// out one run of mode Execute at a time. Runs whose spec.managedBy names another manager stay as they are. It works only
/// while the CustomResourceDefinition repackruns.repack.volcano.sh is labelled
/// app.kubernetes.io/managed-by=kubectl-repack.
///
/// Logs are lines of JSON on standard error. SIGTERM lets it finish what it writes and give the lease back.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  # As a container runs it; the namespace of the pod holds the lease
  kubectl-repack controller --lease-namespace kubectl-repack

  # Runs without a goal are about this resource, and pods of two schedulers may move
  kubectl-repack controller --default-resource huawei.com/ascend-1980 --schedulers volcano,default-scheduler

  # Beside a test cluster, on free ports of this machine
  kubectl-repack controller --listen 127.0.0.1 --health-port 0 --metrics-port 0 --webhook-port 0 --webhook-url https://127.0.0.1")]
pub struct ControllerArgs {
    /// Resource of runs that name none in spec.goals
    #[arg(long, value_name = "RESOURCE", value_parser = value::resource)]
    pub default_resource: Option<String>,
    #[command(flatten)]
    pub movability: MovabilityArgs,
    /// Leave runs of mode Execute alone
    #[arg(long, help_heading = "Execution")]
    pub dry_run_only: bool,
    /// Whether whoever created an Execute run has to be allowed to evict its pods themselves; asked before the run moves
    /// anything and again before each node. The webhooks note who creates a run
    #[arg(long, help_heading = "Execution", value_name = "BOOL", action = ArgAction::Set, default_value_t = true)]
    pub check_creator: bool,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub process: ProcessArgs,
    #[command(flatten)]
    pub ports: PortArgs,
}

/// How the process takes its place among others.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Process")]
pub struct ProcessArgs {
    /// Namespace of the Lease kubectl-repack-controller
    #[arg(
        long,
        value_name = "NAME",
        env = "POD_NAMESPACE",
        hide_env_values = true,
        default_value = "kubectl-repack"
    )]
    pub lease_namespace: String,
    /// How long a leader that is not heard of keeps the others waiting, and its successor from acting; at least 2s
    #[arg(long, value_name = "TIME", value_parser = value::lease, default_value = "20s")]
    pub lease_duration: i64,
    /// Address to listen at [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
}

/// Where probes and scrapers are answered.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Process")]
pub struct PortArgs {
    /// Port of /healthz and /readyz; 0 takes a free one and logs it
    #[arg(long, value_name = "PORT", default_value_t = 8081)]
    pub health_port: u16,
    /// Port of /metrics; 0 takes a free one and logs it
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub metrics_port: u16,
}

/// How runs of mode Execute are carried out.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Execution")]
pub struct ExecutionArgs {
    /// Time between the end of a run that evicted something and the next
    #[arg(long, value_name = "TIME", value_parser = value::seconds, default_value = "10m")]
    pub execute_cooldown: i64,
    /// Port of the webhooks that hold replacements at a gate; 0 takes a free one and logs it
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    pub webhook_port: u16,
    /// Where the API server finds the webhooks, outside a cluster; a URL without a port gets theirs [default: the Service
    /// kubectl-repack-controller in the namespace of the Lease]
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<String>,
    /// How long a certificate of the webhooks is good; each process makes its own and renews it at half of that
    #[arg(long, value_name = "TIME", value_parser = value::seconds, default_value = "90d")]
    pub webhook_certificate_lifetime: i64,
    /// Serve no webhooks: only pods of Volcano are moved then, ungated
    #[arg(long)]
    pub no_webhooks: bool,
}
