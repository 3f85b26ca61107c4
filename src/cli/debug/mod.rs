//! `kubectl repack debug …`: one file per subcommand.
//!
//! May import: cli

mod bench;
mod filter;
pub mod generate;

use super::args::debug::{DebugArgs, DebugCommand};
use super::error::CliError;
use super::output::Out;

/// Runs a subcommand.
pub fn run(args: &DebugArgs, out: &mut Out) -> Result<(), CliError> {
    match &args.command {
        DebugCommand::Filter { files, all } => filter::run(files, *all, out),
        DebugCommand::Bench { files, search } => bench::run(files, *search, out),
        DebugCommand::Generate { nodes, seed } => generate::run(*nodes, *seed, out),
    }
}
