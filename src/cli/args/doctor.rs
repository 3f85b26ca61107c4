//! `kubectl repack doctor`
//!
//! May import: cli

use clap::Args;

use super::groups::ViewArgs;

/// Check whether this cluster and your rights are ready for planning and for runs
///
/// Everything that is missing is listed at once, each with its remedy. Nothing is changed.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  # Before the first plan
  kubectl repack doctor

  # As another user
  kubectl repack doctor --as jane

  # For scripts: the exit code is 3 when something that planning needs is missing
  kubectl repack doctor -o json")]
pub struct DoctorArgs {
    /// Namespace in which the controller runs
    #[arg(long, value_name = "NAMESPACE", default_value = "kubectl-repack")]
    pub controller_namespace: String,
    #[command(flatten)]
    pub view: ViewArgs,
}
