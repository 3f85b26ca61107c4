//! Reads the cluster's state that a command works on: files, folders of them, standard input, or the cluster itself
//! where no file is named.
//!
//! May import: cli, snapshot

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::args::cluster::ClusterArgs;
use super::args::groups::SourceArgs;
use super::cluster;
use super::error::CliError;
use super::output::Out;
use crate::snapshot::lacking::lacking;
use crate::snapshot::read::{InputError, ReadStats, folder_entries, read_all};
use crate::snapshot::{BuildOptions, Builder, Snapshot};

/// How a file of a cluster is made that reading it can follow. The same line stands in the README; a transcript test compares them.
pub(super) const HOW_TO_SAVE: &str = "kubectl get nodes,namespaces,pods,podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh,\
                           jobs.batch.volcano.sh,jobs.batch,replicasets,statefulsets,pdb,pvc,pv,storageclasses,csinodes \
                           -A -o json > cluster.json";

/// Reads everything the command line names, or the cluster, into one snapshot, and says on standard error how old it
/// is and what it lacks.
///
/// # Errors
/// What can not be read, as one sentence that names the file, object and field.
pub fn load(args: &SourceArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Snapshot, CliError> {
    load_with(args, cluster, out, |_, _| Ok(()))
}

/// Like [`load`], with objects that `add` puts beside those of the files.
///
/// # Errors
/// Like [`load`], and whatever `add` fails with.
pub fn load_with(
    args: &SourceArgs,
    cluster: &ClusterArgs,
    out: &mut Out,
    add: impl FnOnce(&mut Builder, &mut Out) -> Result<(), CliError>,
) -> Result<Snapshot, CliError> {
    let live = args.snapshot.is_empty();
    let mut builder = Builder::new(BuildOptions::default());
    let mut stats = ReadStats::default();
    if live {
        stats = cluster::into_builder(cluster, &mut builder, out)?;
        builder.of_cluster();
    } else {
        for file in &files(&args.snapshot)? {
            stats.merge(read(file, &mut builder)?);
        }
    }
    if stats.taken_at.is_some() {
        builder.of_cluster();
    }
    add(&mut builder, out)?;
    let snapshot = builder
        .finish()
        .map_err(|fault| CliError::failure("cannot use this cluster state").because(fault))?;
    tell(&stats, live, out);
    for sentence in lacking(&snapshot) {
        out.warning(format!("{sentence}."));
    }
    Ok(snapshot)
}

/// When a plan is made: as typed, else now for a cluster and never for a file.
pub(super) fn now(typed: Option<jiff::Timestamp>, args: &SourceArgs) -> Option<jiff::Timestamp> {
    typed.or_else(|| args.snapshot.is_empty().then(jiff::Timestamp::now))
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The files in the order of the command line, folders unfolded by name.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(CliError::usage("standard input can be read only once"));
    }
    let mut files = Vec::new();
    for path in paths {
        if is_stdin(path) || !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failed =
            |fault| CliError::failure(format!("cannot read folder {}", path.display())).because(fault);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        let entries = folder_entries(names);
        if entries.is_empty() {
            let sentence = format!("folder {} holds no .json or .yaml file", path.display());
            return Err(CliError::failure(sentence));
        }
        files.extend(entries.iter().map(|name| path.join(name)));
    }
    Ok(files)
}

fn read(path: &Path, builder: &mut Builder) -> Result<ReadStats, CliError> {
    open(path, "cannot read the cluster state", |reader, name| read_all(reader, name, builder))
}

/// Opens a file or standard input and reads it with `read`, which gets the reader and the name for messages. A fault
/// of the content says itself where it is; `attempt` is what failed then.
pub(super) fn open<T>(
    path: &Path,
    attempt: &str,
    read: impl FnOnce(&mut dyn Read, &str) -> Result<T, InputError>,
) -> Result<T, CliError> {
    if is_stdin(path) {
        return read(&mut std::io::stdin().lock(), "-")
            .map_err(|fault| CliError::failure("cannot read standard input").because(fault));
    }
    let name = path.display().to_string();
    let mut file =
        File::open(path).map_err(|fault| CliError::failure(format!("cannot read {name}")).because(fault))?;
    read(&mut file, &name).map_err(|fault| CliError::failure(attempt).because(fault))
}

/// Nothing is hidden silently: age, what the writer could not read, and what no rule reads.
fn tell(stats: &ReadStats, live: bool, out: &mut Out) {
    if let Some(taken_at) = &stats.taken_at {
        out.status(format!("Cluster state of {taken_at}."));
    }
    for missing in &stats.left_out {
        if live {
            out.warning(format!("{} objects are unknown: {}.", missing.kind, missing.reason));
            continue;
        }
        let count = missing.count.map_or_else(|| "all".to_owned(), |count| count.to_string());
        out.warning(format!("not in this file: {count} {} ({}).", missing.kind, missing.reason));
    }
    out.detail(format!("Read {} objects, {} bytes.", stats.objects, stats.bytes));
    if !stats.skipped.is_empty() {
        let kinds: Vec<String> =
            stats.skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        out.detail(format!("Skipped what no rule reads: {}.", kinds.join(", ")));
    }
}
