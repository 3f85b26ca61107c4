//! What may be typed: one file per command and one per group of shared flags. A doc comment is the help text.
//!
//! Structs here hold what was typed and nothing else; `cli::options` says what it means.
//!
//! May import: cli, api, live

// Doc comments are help texts here, and a flattened group has its own.
#![allow(missing_docs)]

pub mod cluster;
pub mod complete;
pub mod completion;
pub mod controller;
pub mod debug;
pub mod doctor;
pub mod dryrun;
pub mod execute;
pub mod explain;
pub mod fit;
pub mod generate;
pub mod groups;
pub mod once;
pub mod report;
pub mod snapshot;
pub mod status;
pub mod value;
pub mod version;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::exit::Exit;

/// Free whole accelerator nodes by moving running pods onto nodes that stay busy
///
/// Plans which pods to move so that complete GPU or NPU nodes become free, inside a scope and a budget, and
/// says why every other node stays.
#[derive(Debug, Parser)]
#[command(name = "kubectl-repack", version, after_help = after_help(), disable_help_subcommand = true)]
#[command(arg_required_else_help = true, infer_subcommands = false, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub cluster: cluster::ClusterArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, in the order in which they are used.
#[derive(Debug, Subcommand)]
pub enum Command {
    Report(report::ReportArgs),
    Dryrun(dryrun::DryRunArgs),
    Execute(execute::ExecuteArgs),
    Explain(explain::ExplainArgs),
    Fit(fit::FitArgs),
    Status(status::StatusArgs),
    Cancel(execute::CancelArgs),
    Generate(generate::GenerateArgs),
    Snapshot(snapshot::SnapshotArgs),
    Doctor(doctor::DoctorArgs),
    Controller(controller::ControllerArgs),
    Run(once::OnceArgs),
    Completion(completion::CompletionArgs),
    #[command(name = "__complete")]
    Complete(complete::CompleteArgs),
    Debug(debug::DebugArgs),
    Version(version::VersionArgs),
}

/// Flags that every command knows.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Global options")]
pub struct CommonArgs {
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    pub color: ColorWhen,
    /// Say only warnings and errors beside the result
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say also what was read
    #[arg(long, short, global = true, action = ArgAction::SetTrue)]
    pub verbose: bool,
}

/// Values of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

fn after_help() -> String {
    format!(
        "Exit codes:\n{}\n\nEnvironment:\n  NO_COLOR, CLICOLOR_FORCE   switch colour off or on\n  \
         LC_ALL, LC_CTYPE, LANG     drawings use ASCII when these do not name UTF-8",
        Exit::table()
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn first_help_lines_are_imperative_sentences_without_a_full_stop() {
        fn check(command: &clap::Command) {
            for part in command.get_arguments() {
                let help = part.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty(), "--{} has no help", part.get_id());
                assert!(!help.ends_with('.'), "--{}: {help}", part.get_id());
            }
            for sub in command.get_subcommands() {
                let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
                assert!(!about.is_empty() && !about.ends_with('.'), "{}: {about}", sub.get_name());
                check(sub);
            }
        }
        check(&Cli::command());
        check(&super::dryrun::DryRunArgs::augment_args(clap::Command::new("dryrun")));
        check(&super::execute::ExecuteArgs::augment_args(clap::Command::new("execute")));
        check(&super::report::ReportArgs::augment_args(clap::Command::new("report")));
        check(&super::explain::ExplainArgs::augment_args(clap::Command::new("explain")));
        check(&super::debug::DebugArgs::augment_args(clap::Command::new("debug")));
    }
}
