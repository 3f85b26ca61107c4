//! `kubectl-repack __complete …`: hidden; kubectl asks it, through `kubectl_complete-repack`, what may follow.
//!
//! May import: (nothing of this crate)

use std::ffi::OsString;

use clap::Args;

/// Print what may stand in place of the last word
#[derive(Args, Clone, Debug)]
#[command(name = "__complete", hide = true, disable_help_flag = true)]
pub struct CompleteArgs {
    /// The words after the program's name, the unfinished one last
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}
