//! `kubectl repack version`
//!
//! May import: cli, api

use serde::Serialize;

use super::args::version::{VersionArgs, VersionFormat};
use super::error::CliError;
use super::output::{Out, json, yaml};
use crate::api::API_VERSION;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: &'static str,
    api_version: &'static str,
}

/// Prints the version.
pub fn run(args: VersionArgs, out: &mut Out) -> Result<(), CliError> {
    let version = Version { version: env!("CARGO_PKG_VERSION"), api_version: API_VERSION };
    let text = match args.output {
        None => Ok(format!("kubectl-repack {}\nAPI {}\n", version.version, version.api_version)),
        Some(VersionFormat::Json) => json(&version),
        Some(VersionFormat::Yaml) => yaml(&version),
    };
    out.data(&text.map_err(|fault| CliError::failure("cannot write the version").because(fault))?);
    Ok(())
}
