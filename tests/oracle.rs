//! The recorded verdicts of the real schedulers against ours: no verdict may differ.

// A case file that can not be read is a failed test.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use kubectl_repack::filter::oracle::{Comparison, Depth, compare};

/// Compares all case files whose name starts with `kind`.
fn compare_all(kind: &str, depth: Depth) -> Comparison {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/oracle");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(kind)).collect();
    files.sort();
    assert!(!files.is_empty(), "no case files of {kind}");
    let mut sum = Comparison::default();
    for path in files {
        let mut plain = Vec::new();
        GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut plain).unwrap();
        let one = compare(&plain, &path.display().to_string(), depth).unwrap();
        sum.verdicts += one.verdicts;
        sum.disagreements.extend(one.disagreements);
    }
    sum
}

#[test]
fn every_plugin_of_kube_scheduler_rejects_what_it_rejected_with_the_same_code() {
    let Comparison { verdicts, disagreements } = compare_all("dev-", Depth::All);
    assert_eq!(verdicts, 21_175);
    assert!(
        disagreements.is_empty(),
        "{}: {:#?}",
        disagreements.len(),
        &disagreements[..disagreements.len().min(5)]
    );
}

/// Small clusters, one rule each, named after it: what the others once left open.
#[test]
fn rules_that_were_got_wrong_once_stay_right() {
    let Comparison { verdicts, disagreements } = compare_all("rule-", Depth::All);
    assert_eq!((verdicts, disagreements), (10, Vec::new()));
}

#[test]
fn volcano_binds_and_waits_where_it_did() {
    let Comparison { verdicts, disagreements } = compare_all("volcano-", Depth::First);
    assert_eq!(verdicts, 19_894);
    assert!(
        disagreements.is_empty(),
        "{}: {:#?}",
        disagreements.len(),
        &disagreements[..disagreements.len().min(5)]
    );
}
