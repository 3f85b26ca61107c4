//! `kubectl repack completion`
//!
//! May import: (nothing of this crate)

use clap::{Args, ValueEnum};

/// Print a script that completes commands and flags
#[derive(Args, Clone, Copy, Debug)]
#[command(after_help = "Examples:
  # For this bash session
  source <(kubectl-repack completion bash)

  # For every zsh session
  kubectl-repack completion zsh > \"${fpath[1]}/_kubectl-repack\"")]
pub struct CompletionArgs {
    /// Shell to complete in
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: ShellName,
}

/// The shells a script can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShellName {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
}
