//! `kubectl repack fit`
//!
//! May import: cli, api

use std::path::PathBuf;

use clap::Args;

use super::groups::{PlanArgs, SourceArgs, ViewArgs};
use super::value;
use crate::api::LabelSelector;

/// Say whether a job fits now, or after which repack, or that no repack helps
///
/// All its pods have to find room at the same time. They are described by --replicas and --cards, or read from a file
/// with -f: a Pod, Job, Deployment, StatefulSet, ReplicaSet, ReplicationController or Volcano's Job, as it would be given
/// to kubectl apply. Requests, node selectors, affinities, tolerations, spread, ports, claims, scheduler and the
/// number in spec.priority count; namespaces that the file leaves out are `default`. Of a Volcano Job as many pods
/// have to run as minAvailable says, of each task its own minAvailable first and then of the tasks in order; of a Job
/// as many as run in parallel. Several workloads in one file have to fit together. What the file holds beside them,
/// such as claims, is taken as part of the cluster.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # Four pods of eight cards each
  kubectl repack fit --replicas 4 --cards 8 --snapshot cluster.json

  # The job that a manifest describes
  kubectl repack fit -f job.yaml --snapshot cluster.json

  # On nodes of one model, with cpu and memory; if it takes a repack, one of two PodGroups at most
  kubectl repack fit --replicas 16 --cards 8 --cpu 64 --memory 512Gi --selector model=A100 \\
    --max-podgroups 2 --snapshot cluster.json

The exit code is 3 where it does not fit and no repack was found.")]
pub struct FitArgs {
    /// Read the pods from this manifest, YAML or JSON; `-` is standard input
    #[arg(long, short = 'f', value_name = "FILE", conflicts_with_all = ["cards", "cpu", "memory", "selector", "scheduler"])]
    pub filename: Option<PathBuf>,
    /// Pods that have to run at the same time; with -f in place of the number in the file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true,
        required_unless_present = "filename")]
    pub replicas: Option<u16>,
    /// Cards of each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true,
        required_unless_present = "filename")]
    pub cards: Option<u32>,
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
    #[arg(long, value_name = "NAME", value_parser = value::scheduler)]
    pub scheduler: Option<String>,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}
