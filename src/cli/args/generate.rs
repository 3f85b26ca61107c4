//! `kubectl repack generate …`: hidden; for people who work on the program or keep manifests of their own.
//!
//! May import: (nothing of this crate)

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Print what is made from the source: the CRD, the roles, the manifests
#[derive(Args, Clone, Debug)]
#[command(hide = true)]
pub struct GenerateArgs {
    #[command(subcommand)]
    pub command: GenerateCommand,
}

/// What can be made.
#[derive(Clone, Debug, Subcommand)]
pub enum GenerateCommand {
    /// Print the definitions of our kinds
    Crds,
    /// Print the controller's account with its roles, and the roles for people
    Rbac,
    /// Print everything that is installed into a cluster
    Manifests {
        /// With a CronJob in place of the controller
        #[arg(long)]
        cronjob: bool,
    },
    /// Print krew's manifest, for every platform or for archives that exist
    Krew {
        /// Archive of one platform, named as `make package` names it; can be given several times
        #[arg(long = "archive", value_name = "FILE")]
        archives: Vec<PathBuf>,
        /// Address that the archives lie under, up to and with its last slash
        #[arg(long, value_name = "ADDRESS", default_value = "")]
        base: String,
    },
    /// Write every generated file of the source tree
    Tree {
        /// Folder that has, or gets, `manifests` and `krew`
        #[arg(long, value_name = "DIR", default_value = ".")]
        into: PathBuf,
    },
}
