//! `kubectl repack debug …`: hidden; for people who work on the program.
//!
//! May import: cli

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Look inside the program
#[derive(Args, Clone, Debug)]
#[command(hide = true)]
pub struct DebugArgs {
    #[command(subcommand)]
    pub command: DebugCommand,
}

/// What can be looked at.
#[derive(Clone, Debug, Subcommand)]
pub enum DebugCommand {
    /// Compare the Filter verdicts of case files with ours
    Filter {
        /// Case files, gzip or plain
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Compare every plugin that refuses on its own, with its code, and not only the first one
        #[arg(long)]
        all: bool,
    },
    /// Measure load, report and planning per instance
    Bench {
        /// Plan with the search
        #[arg(long)]
        search: bool,
        /// Cluster files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Print a made-up fragmented cluster as a JSON List
    Generate {
        /// Number of nodes
        #[arg(long, value_name = "N")]
        nodes: usize,
        /// Equal seeds give equal clusters
        #[arg(long, value_name = "S", default_value_t = 1)]
        seed: u64,
    },
}
