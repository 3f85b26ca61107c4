//! `kubectl repack snapshot`
//!
//! May import: cli

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// Write everything planning needs into one portable file
///
/// Secrets, environments, commands and annotations outside an allow-list are left out; what was left out is said at
/// the end and in the file.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # The cluster of the current context
  kubectl repack snapshot -o cluster.json.gz

  # From what kubectl printed, with only what planning reads
  kubectl repack snapshot cluster.json -o cluster.json.gz

  # Without any name that says whose cluster it is
  kubectl repack snapshot cluster.json --anonymize -o bug-report.json.gz")]
pub struct SnapshotArgs {
    /// Files or folders to read instead of the cluster; `-` is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The same as FILE; can be repeated
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    pub snapshot: Vec<PathBuf>,
    /// File to write, compressed when it ends in .gz; `-` is standard output
    #[arg(long, short, value_name = "FILE", required = true)]
    pub output: PathBuf,
    /// Replace names and label values by pseudonyms that sort alike; a plan on the file stays the same plan
    #[arg(long)]
    pub anonymize: bool,
}

impl SnapshotArgs {
    /// All input, in the order typed: positional files first.
    pub fn input(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.snapshot).cloned().collect()
    }
}
