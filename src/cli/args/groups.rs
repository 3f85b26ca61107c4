//! Groups of flags that several commands share, each under its own heading of the help.
//!
//! May import: cli, api

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::value;
use crate::api::LabelSelector;

/// Where the cluster's state comes from.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster state")]
pub struct SourceArgs {
    /// Read the state from this file or folder instead of the cluster; `-` is standard input
    ///
    /// Takes what `kubectl get nodes,pods,… -A -o json` (or yaml) prints, several documents or files, folders of
    /// them, gzip, and files of `kubectl repack snapshot`. Can be repeated.
    #[arg(long, value_name = "FILE", num_args = 1.., action = ArgAction::Append)]
    pub snapshot: Vec<PathBuf>,
}

/// The resource to free nodes of.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Goal")]
pub struct GoalArgs {
    /// Extended resource to free nodes of; needed only when several are in use
    #[arg(long, short, value_name = "RESOURCE", value_parser = value::resource)]
    pub resource: Option<String>,
    /// Accept only plans that lower the fragmentation rate by this many percentage points
    #[arg(long, value_name = "PERCENT", value_parser = value::percent, allow_negative_numbers = true)]
    pub min_improvement: Option<i64>,
}

/// What may be moved and emptied.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Scope (exclude wins; selectors and names add up)")]
pub struct ScopeArgs {
    /// Move only pods of PodGroups with these labels
    #[arg(long, value_name = "SELECTOR", value_parser = value::selector)]
    pub include_podgroups: Option<LabelSelector>,
    /// Never move pods of PodGroups with these labels
    #[arg(long, value_name = "SELECTOR", value_parser = value::selector)]
    pub exclude_podgroups: Option<LabelSelector>,
    /// Move pods of this PodGroup; can be repeated
    #[arg(long, value_name = "NS/NAME", value_parser = value::namespaced, action = ArgAction::Append)]
    pub include_podgroup: Vec<String>,
    /// Empty only nodes with these labels; other nodes may still receive pods
    #[arg(long, value_name = "SELECTOR", value_parser = value::selector)]
    pub include_nodes: Option<LabelSelector>,
    /// Never empty nodes with these labels
    #[arg(long, value_name = "SELECTOR", value_parser = value::selector)]
    pub exclude_nodes: Option<LabelSelector>,
    /// Empty this node; can be repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub include_node: Vec<String>,
}

/// How much one run may change.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Budget")]
pub struct BudgetArgs {
    /// Touch at most this many PodGroups
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    pub max_podgroups: Option<i64>,
    /// Move at most this many cards
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    pub max_cards: Option<i64>,
    /// Stop after freeing this many nodes
    #[arg(long, value_name = "N", value_parser = value::positive, allow_negative_numbers = true)]
    pub free: Option<i64>,
    /// Stop where a further node has fewer than N cards for each card that freeing it damages; 0 never stops
    ///
    /// Nodes are freed one after the other, from the cheapest plan for one node to the plan of the most: the plan for k
    /// nodes is the one that --free k makes. The step from k to k + 1 nodes brings the allocatable cards that the larger
    /// plan frees beyond the smaller one, and damages the cards (those that move, and all of a PodGroup that falls below
    /// its minimum) that the larger one damages beyond the smaller one. The first step that brings fewer than N cards
    /// for each damaged one ends the plan, even if later ones would be worth it again. Beyond 24 nodes not every step is
    /// looked at, but powers of two and halves, as if no node were worth more than those before it. With --free the
    /// smaller number of nodes counts; with --algorithm drain the steps are Drain's own. --frontier shows all steps.
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    pub min_benefit: Option<i64>,
}

/// Fields of the run that planning hands through.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Time evicted pods have to end, instead of their own; seconds or 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = value::seconds, allow_negative_numbers = true)]
    pub grace_period: Option<i64>,
    /// Delete the run this long after it finished; seconds or 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = value::seconds, allow_negative_numbers = true)]
    pub ttl: Option<i64>,
}

/// Everything that a plan depends on beside the cluster.
#[derive(Args, Clone, Debug, Default)]
pub struct PlanArgs {
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
    #[command(flatten)]
    pub movability: MovabilityArgs,
}

/// How the plan is found.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Planner")]
pub struct PlannerArgs {
    /// Planning algorithm [default: search]
    #[arg(long, value_enum, value_name = "NAME")]
    pub algorithm: Option<AlgorithmName>,
}

/// Planning algorithms that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlgorithmName {
    /// Close to the proven optimum, with a bound that shows how close
    Search,
    /// Node by node, the least disruptive first
    Drain,
}

/// Which pods count as movable.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which pods may move")]
pub struct MovabilityArgs {
    /// Move pods of these schedulers [default: volcano]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = value::scheduler, action = ArgAction::Append)]
    pub schedulers: Vec<String>,
    /// Say whose rules a scheduler follows: kube, volcano or hami; can be repeated
    #[arg(long, value_name = "NAME=RULES", value_parser = value::scheduler_rules, action = ArgAction::Append)]
    pub scheduler_rules: Vec<(String, Rules)>,
    /// Move pods without a PodGroup too, each workload as one group
    #[arg(long)]
    pub allow_ungrouped: bool,
    /// Move pods with hostPath volumes too
    #[arg(long)]
    pub allow_host_path: bool,
    /// Move pods whose admission another system manages too, such as Kueue
    #[arg(long)]
    pub allow_managed_elsewhere: bool,
    /// Move pods of controllers of unknown kinds too, taken to recreate one pod at a time
    #[arg(long)]
    pub allow_custom_owners: bool,
    /// Move pods too whose controller may leave them out for a while
    #[arg(long)]
    pub allow_late_recovery: bool,
    /// Move pods too whose job ends if they exit with a fault
    #[arg(long)]
    pub allow_may_terminate: bool,
    /// Leave pods younger than this alone; seconds or 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = value::seconds, allow_negative_numbers = true)]
    pub min_pod_age: Option<i64>,
    /// Leave pods alone that a run moved less than this ago [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = value::seconds, allow_negative_numbers = true)]
    pub pod_cooldown: Option<i64>,
    /// Move only pods marked preemptable
    #[arg(long)]
    pub only_preemptable: bool,
    /// What a disruption budget that allows nothing right now means [default: Fail]
    #[arg(long, value_enum, value_name = "ACTION", ignore_case = true)]
    pub on_blocked_pdb: Option<BlockedPdb>,
}

/// Whose Filter rules a scheduler name follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Rules {
    /// kube-scheduler's default profile
    Kube,
    /// Volcano's predicates
    Volcano,
    /// HAMi's scheduler extender on top of kube-scheduler
    Hami,
}

/// Values of `--on-blocked-pdb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BlockedPdb {
    /// Its pods stay
    #[value(name = "Fail")]
    Fail,
    /// Its pods move once it allows them to
    #[value(name = "Wait")]
    Wait,
}

/// How the result is shown.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct ViewArgs {
    /// Output format [default: table]
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub output: Option<Format>,
    /// Print only the totals
    #[arg(long)]
    pub summary: bool,
    /// Leave the header lines of tables out
    #[arg(long)]
    pub no_headers: bool,
    /// Sort tables by this column
    #[arg(long, value_name = "COLUMN")]
    pub sort_by: Option<String>,
    /// Draw with ASCII letters only
    #[arg(long)]
    pub ascii: bool,
}

/// Output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Lines for people
    #[default]
    Table,
    /// The same with every row and column
    Wide,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
    /// Names only, one a line
    Name,
}
