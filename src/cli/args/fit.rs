//! `kubectl repack fit`
//!
//! May import: cli, api

use clap::Args;

use super::groups::{PlanArgs, SourceArgs, ViewArgs};
use super::value;
use crate::api::LabelSelector;

/// Say whether a job fits now, or after which repack, or that no repack helps
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # Four pods of eight cards each
  kubectl repack fit --replicas 4 --cards 8 --snapshot cluster.json

  # On nodes of one model, with cpu and memory
  kubectl repack fit --replicas 16 --cards 8 --cpu 64 --memory 512Gi --selector model=A100 \\
    --snapshot cluster.json

  # If it takes a repack, one of two PodGroups at most
  kubectl repack fit --replicas 2 --cards 8 --max-podgroups 2 --snapshot cluster.json

The exit code is 3 where it does not fit and no repack was found.")]
pub struct FitArgs {
    /// Pods that have to run at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub replicas: u16,
    /// Cards of each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub cards: u32,
    /// Cpu of each, as in a pod
    #[arg(long, value_name = "QUANTITY")]
    pub cpu: Option<String>,
    /// Memory of each, as in a pod
    #[arg(long, value_name = "QUANTITY")]
    pub memory: Option<String>,
    /// Labels that their nodes must have, KEY=VALUE,…
    #[arg(long, value_name = "SELECTOR", value_parser = value::selector)]
    pub selector: Option<LabelSelector>,
    /// Scheduler of the pods [default: volcano]
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}
