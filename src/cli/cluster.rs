//! Reads the cluster that the connection flags name, into the model or into a snapshot file.
//!
//! May import: cli, live, snapshot

use std::time::{Duration, Instant};

use super::args::cluster::ClusterArgs;
use super::error::CliError;
use super::output::Out;
use super::source::HOW_TO_SAVE;
use crate::live::read::{Gathered, PageSink, read_cluster};
use crate::live::{Connected, LiveError, block_on, connect::connect};
use crate::snapshot::Builder;
use crate::snapshot::read::{InputError, ReadStats, read_all};
use crate::snapshot::write::SnapshotWriter;

/// Reads everything into the builder; what could not be read is said and stands in the counts.
///
/// # Errors
/// No connection, nodes or pods can not be listed, or an object can not be used.
pub fn into_builder(
    cluster: &ClusterArgs,
    builder: &mut Builder,
    out: &mut Out,
) -> Result<ReadStats, CliError> {
    let mut stats = ReadStats::default();
    let take = |name: &str, text: &str| {
        let read = read_all(text.as_bytes(), name, builder)?;
        let objects = read.objects;
        stats.merge(read);
        Ok(objects)
    };
    let gathered = gather(cluster, take, out)?;
    stats.left_out.extend(gathered.left_out);
    Ok(stats)
}

/// The same into a snapshot file.
///
/// # Errors
/// Like [`into_builder`].
pub fn into_writer(
    cluster: &ClusterArgs,
    writer: &mut SnapshotWriter,
    out: &mut Out,
) -> Result<(), CliError> {
    let take = |name: &str, text: &str| {
        let before = writer.stats().objects;
        writer.read(text.as_bytes(), name)?;
        Ok(writer.stats().objects - before)
    };
    let gathered = gather(cluster, take, out)?;
    for missing in gathered.left_out {
        writer.left_out(missing);
    }
    Ok(())
}

fn gather(
    cluster: &ClusterArgs,
    take: impl FnMut(&str, &str) -> Result<u64, InputError>,
    out: &mut Out,
) -> Result<Gathered, CliError> {
    let mut pages = Pages { take, out, started: Instant::now(), said: 0 };
    let read = block_on(async {
        let connected = connect(&cluster.connection()).await?;
        let gathered = read_cluster(&connected, &mut pages).await?;
        Ok((connected, gathered))
    });
    let (connected, gathered) = read.map_err(failed)?;
    tell(&connected, out);
    Ok(gathered)
}

fn tell(connected: &Connected, out: &mut Out) {
    let context = connected.context.as_deref().map_or_else(String::new, |name| format!(" (context {name})"));
    out.detail(format!("Cluster at {}{context}.", connected.server));
}

/// What a command ends with; without a cluster a file is the way.
pub(super) fn failed(fault: LiveError) -> CliError {
    let lost = matches!(fault, LiveError::Config(_) | LiveError::Connection { .. });
    let error = CliError::failure("cannot read the cluster").because(fault);
    if lost {
        error.hint(HOW_TO_SAVE).hint("plan on such a file with --snapshot cluster.json")
    } else {
        error
    }
}

/// Takes pages, and says how far it is once a second, from the second second on.
struct Pages<'o, F> {
    take: F,
    out: &'o mut Out,
    started: Instant,
    said: u64,
}

impl<F: FnMut(&str, &str) -> Result<u64, InputError>> PageSink for Pages<'_, F> {
    fn page(&mut self, name: &str, text: &str) -> Result<u64, InputError> {
        (self.take)(name, text)
    }

    fn progress(&mut self, objects: u64, remaining: u64) {
        let seconds = self.started.elapsed().as_secs();
        if self.started.elapsed() < Duration::from_secs(1) || seconds <= self.said {
            return;
        }
        self.said = seconds;
        self.out
            .status(format!("Reading the cluster: {objects} objects so far, {remaining} known to follow."));
    }
}
