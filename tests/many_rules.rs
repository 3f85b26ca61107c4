//! Clusters of thousands of pods each of which has a rule of its own, planned by the real binary. What comes of them is
//! known from the same cluster without rules; work that grows with the square of their number would take minutes.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use support::generator;
use support::many_rules::{Own, objects};

/// Freed nodes and the bound on them.
fn planned(nodes: usize, own: Own, algorithm: &str) -> (i64, i64) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{own:?}-{nodes}-{algorithm}.json"));
    std::fs::write(&file, generator::list(&objects(nodes, own))).unwrap();
    let started = Instant::now();
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-repack"))
        .args(["dryrun", "-q", "-o", "json", "--algorithm", algorithm, "--snapshot"])
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let run: Value = serde_json::from_slice(&done.stdout).unwrap();
    let summary = &run["status"]["plan"]["summary"];
    let number = |field: &str| summary[field].as_i64().unwrap_or(0);
    let counts = (number("freedNodeCount"), number("freeableUpperBound"));
    println!(
        "{nodes} nodes, {own:?}, {algorithm}: {} of at most {} in {:?}",
        counts.0,
        counts.1,
        started.elapsed()
    );
    counts
}

#[test]
fn pods_that_are_pinned_one_by_one_free_nothing_and_that_is_proven() {
    assert_eq!(planned(4_000, Own::Selector, "drain").0, 0);
    assert_eq!(planned(4_000, Own::Selector, "search"), (0, 0));
}

#[test]
fn rules_that_no_move_breaks_cost_no_node() {
    let free = planned(2_000, Own::Nothing, "search");
    assert!(free.0 > 400 && free.0 == free.1, "{free:?}");
    for own in [Own::NotIn, Own::AntiAffinity, Own::Budget] {
        let (freed, bound) = planned(2_000, own, "search");
        assert_eq!(freed, bound, "{own:?}");
        assert!(free.1 - 20 <= freed && freed <= free.1, "{own:?}: {freed} of {free:?}");
    }
}

#[test]
fn thousands_of_affinities_are_planned_as_well_as_drain_does_or_better() {
    let (freed, bound) = planned(1_000, Own::Affinity, "search");
    let drained = planned(1_000, Own::Affinity, "drain").0;
    assert!(drained > 100 && freed >= drained && freed <= bound, "{drained}, {freed}, {bound}");
}
