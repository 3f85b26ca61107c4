//! `kubectl repack report`
//!
//! May import: cli

use clap::{ArgAction, Args};

use super::groups::{MovabilityArgs, SourceArgs, ViewArgs};
use super::value;

/// Show how fragmented each extended resource is
///
/// Nodes, occupied nodes, the fewest that could hold the load, free cards by hole size, and the largest job
/// that fits now: how many pods of how many cards, with as many cards a pod as fit anywhere.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # Every extended resource of a saved cluster
  kubectl repack report --snapshot cluster.json

  # One resource, per node pool
  kubectl repack report --snapshot cluster.json -r nvidia.com/gpu --group-by pool

  # Totals only, least fragmented first
  kubectl repack report --snapshot cluster.json --summary --sort-by RATE")]
pub struct ReportArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Report on this extended resource only; can be repeated
    #[arg(long, short, value_name = "RESOURCE", value_parser = value::resource, action = ArgAction::Append)]
    pub resource: Vec<String>,
    /// Add a line per value of this node label
    #[arg(long, value_name = "LABEL")]
    pub group_by: Option<String>,
    #[command(flatten)]
    pub movability: MovabilityArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}
