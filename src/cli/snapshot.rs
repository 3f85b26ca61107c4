//! `kubectl repack snapshot`: everything planning needs in one portable file.
//!
//! May import: cli, snapshot

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::args::cluster::ClusterArgs;
use super::args::snapshot::SnapshotArgs;
use super::cluster;
use super::error::CliError;
use super::output::Out;
use super::source;
use crate::snapshot::write::SnapshotWriter;

/// Reads, reduces, writes; says at the end what was left out.
pub fn run(args: &SnapshotArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<(), CliError> {
    let mut writer = SnapshotWriter::default();
    let input = args.input();
    let now = input.is_empty().then(|| jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    if input.is_empty() {
        cluster::into_writer(cluster, &mut writer, out)?;
    }
    for file in source::files(&input)? {
        source::open(&file, "cannot read the cluster state", |reader, name| writer.read(reader, name))?;
    }
    if args.anonymize {
        writer.anonymize();
    }
    let stats = writer.stats().clone();
    let mut text = Vec::new();
    let shown = args.output.display().to_string();
    let failed = |fault| CliError::failure(format!("cannot write {shown}")).because(fault);
    writer.write(&mut text, now.as_deref()).map_err(failed)?;
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

/// Writes beside the file and renames, so that a file is there whole or not at all. What is no file (a device, a pipe)
/// is written to, never replaced, and of a link the target is.
fn store(path: &Path, text: &[u8]) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let compressed = path.extension().is_some_and(|ending| ending == "gz");
    if target.exists() && !target.is_file() {
        return fill(&mut std::fs::File::options().write(true).open(&target)?, text, compressed);
    }
    let mut beside = target.as_os_str().to_owned();
    beside.push(".part");
    let mut file = std::fs::File::create(&beside)?;
    let written = fill(&mut file, text, compressed)
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&beside, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn fill(file: &mut std::fs::File, text: &[u8], compressed: bool) -> io::Result<()> {
    if !compressed {
        return file.write_all(text);
    }
    let mut gzip = GzEncoder::new(file, Compression::default());
    gzip.write_all(text)?;
    gzip.finish().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_keeps_pointing_and_nothing_is_left_beside() {
        let folder = std::env::temp_dir().join(format!("repack-store-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("real.json"), folder.join("link.json"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        store(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["link.json", "real.json"]);
        assert!(store(&folder, b"new").is_err(), "a folder is no file to write");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_device_is_written_to_and_stays_one() {
        for device in ["/dev/null", "/dev/full"].map(Path::new).into_iter().filter(|path| path.exists()) {
            let written = store(device, b"text");
            assert_eq!(written.is_ok(), device.ends_with("null"));
            assert!(!std::fs::metadata(device).unwrap().is_file());
        }
    }
}
