//! `kubectl repack snapshot`: everything planning needs in one portable file.
//!
//! May import: cli, snapshot

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::args::snapshot::SnapshotArgs;
use super::error::CliError;
use super::output::Out;
use super::source;
use crate::snapshot::write::SnapshotWriter;

/// Reads, reduces, writes; says at the end what was left out.
pub fn run(args: &SnapshotArgs, out: &mut Out) -> Result<(), CliError> {
    let mut writer = SnapshotWriter::default();
    for file in source::files(&args.input())? {
        source::open(&file, |reader, name| writer.read(reader, name))?;
    }
    if args.anonymize {
        writer.anonymize();
    }
    let stats = writer.stats().clone();
    let mut text = Vec::new();
    let shown = args.output.display().to_string();
    let failed = |fault| CliError::failure(format!("cannot write {shown}")).because(fault);
    writer.write(&mut text, None).map_err(failed)?;
    if source::is_stdin(&args.output) {
        out.data(&String::from_utf8_lossy(&text));
    } else {
        store(&args.output, &text).map_err(failed)?;
        out.status(format!("Wrote {} objects to {shown}.", stats.objects));
    }
    for (kind, count) in &stats.skipped {
        out.status(format!("Left out: {count} {kind} (no rule reads this kind)."));
    }
    for missing in &stats.left_out {
        out.status(format!("Left out: {} ({}).", missing.kind, missing.reason));
    }
    Ok(())
}

/// Writes beside the file and renames, so that a file is there whole or not at all.
fn store(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let mut file = std::fs::File::create(&beside)?;
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut gzip = GzEncoder::new(&mut file, Compression::default());
        gzip.write_all(text)?;
        gzip.finish()?;
    } else {
        file.write_all(text)?;
    }
    file.sync_all()?;
    std::fs::rename(&beside, path)
}
