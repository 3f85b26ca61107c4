//! `kubectl repack version`
//!
//! May import: (nothing of this crate)

use clap::{Args, ValueEnum};

/// Print the version of this program and of the API it speaks
#[derive(Args, Clone, Copy, Debug)]
pub struct VersionArgs {
    /// Output format instead of a line of text
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub output: Option<VersionFormat>,
}

/// Formats of the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VersionFormat {
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
}
