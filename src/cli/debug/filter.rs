//! `kubectl repack debug filter FILE…`: compares recorded verdicts of the real schedulers with ours.
//!
//! May import: cli, filter

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::cli::error::CliError;
use crate::cli::output::{Out, printable};
use crate::filter::oracle::{Depth, Disagreement, compare};

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Compares all files; fails when any verdict differs.
pub fn run(files: &[PathBuf], all: bool, out: &mut Out) -> Result<(), CliError> {
    let depth = if all { Depth::All } else { Depth::First };
    let (mut verdicts, mut disagree) = (0, 0);
    for path in files {
        let name = path.display().to_string();
        let bytes =
            unpacked(path).map_err(|e| CliError::failure(format!("cannot read {name}")).because(e))?;
        let comparison = compare(&bytes, &name, depth)
            .map_err(|e| CliError::failure("cannot compare the verdicts").because(e))?;
        verdicts += comparison.verdicts;
        disagree += comparison.disagreements.len();
        for difference in &comparison.disagreements {
            out.data(&line(difference));
        }
    }
    out.data(&format!("verdicts {verdicts}, disagree {disagree}\n"));
    // The list is the result, whether it is empty or not.
    out.finish()?;
    if disagree == 0 {
        return Ok(());
    }
    Err(CliError::failure(format!("{disagree} of {verdicts} verdicts disagree")))
}

fn unpacked(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(&*bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

fn line(d: &Disagreement) -> String {
    let Disagreement { case, query, kind, pod, node, ours, theirs } = d;
    let text = format!("{case} query {query} ({kind}) pod {pod} node {node}: ours {ours}, theirs {theirs}");
    format!("{}\n", printable(&text))
}
