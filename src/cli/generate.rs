//! `kubectl repack generate`: prints what `manifests` makes, or writes the files of the source tree.
//!
//! May import: cli, manifests

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::args::generate::{GenerateArgs, GenerateCommand};
use super::error::CliError;
use super::output::{Out, yaml};
use crate::manifests::krew::{self, Platform};
use crate::manifests::{self, crd, rbac};

/// First line of every generated file.
const HEADER: &str = "# Made by `make generate`; a test compares. Change the source instead.\n";

/// Runs a subcommand.
pub fn run(args: &GenerateArgs, out: &mut Out) -> Result<(), CliError> {
    let documents = match &args.command {
        GenerateCommand::Crds => vec![crd::repack_run()],
        GenerateCommand::Rbac => [rbac::controller(), rbac::executor(), rbac::users()].concat(),
        GenerateCommand::Manifests { cronjob: false } => manifests::installed(),
        GenerateCommand::Manifests { cronjob: true } => manifests::scheduled(),
        GenerateCommand::Krew { archives, .. } if archives.is_empty() => vec![krew::template()],
        GenerateCommand::Krew { archives, base } => vec![krew::plugin(base, &hashed(archives)?)],
        GenerateCommand::Tree { into } => return tree(into, out),
    };
    out.data(&text(&documents)?);
    Ok(())
}

fn hashed(archives: &[PathBuf]) -> Result<Vec<(Platform, String)>, CliError> {
    let hash = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let platform = Platform::of_archive(&name).ok_or_else(|| {
            CliError::usage(format!("--archive {}: its name tells no platform", path.display()))
                .hint(format!("names look like {}", Platform::ALL[0].archive()))
        })?;
        let bytes = fs::read(path)
            .map_err(|fault| CliError::failure(format!("cannot read {}", path.display())).because(fault))?;
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((platform, sha256))
    };
    archives.iter().map(hash).collect()
}

/// Writes every file of the table.
fn tree(folder: &Path, out: &mut Out) -> Result<(), CliError> {
    for file in manifests::files() {
        let path = folder.join(file.path);
        let attempt = || CliError::failure(format!("cannot write {}", path.display()));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|fault| attempt().because(fault))?;
        }
        fs::write(&path, format!("{HEADER}{}", text(&file.documents)?))
            .map_err(|fault| attempt().because(fault))?;
        out.status(format!("{} written", path.display()));
    }
    Ok(())
}

fn text(documents: &[Value]) -> Result<String, CliError> {
    let parts: Result<Vec<String>, _> = documents.iter().map(yaml).collect();
    let parts = parts.map_err(|fault| CliError::failure("cannot write a manifest").because(fault))?;
    Ok(parts.join("---\n"))
}
