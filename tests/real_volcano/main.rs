//! Execute on real Volcano: its scheduler, its controllers and its webhooks beside a real control plane, our controller
//! under exactly the shipped roles.
//!
//! `make e2e-volcano VOLCANO_BIN=FOLDER` runs it; see `../cluster/volcano.rs` for what the folder holds. Every case has a
//! namespace, nodes and a resource of its own, so that none is in the way of another. `CASE=WORD,…` runs only the cases
//! that have one of the words in their name.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod bed;
mod cases;
#[path = "../cluster/mod.rs"]
mod cluster;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bed::{Bed, Row};
use cluster::tools::say;

#[test]
#[ignore = "needs the programs of Volcano: make e2e-volcano VOLCANO_BIN=FOLDER"]
fn what_is_planned_happens_on_real_volcano_and_nothing_is_left() {
    let bed = Bed::start();
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut rows = Vec::new();
    for (name, what, case) in cases::ALL {
        if !wanted.split(',').any(|word| name.contains(word)) {
            continue;
        }
        let row = catch_unwind(AssertUnwindSafe(|| case(&bed.case(name))));
        let row = row.unwrap_or_else(|_| Row { faults: vec!["it panicked".to_owned()], ..Row::default() });
        let came = if row.faults.is_empty() { "as it should be" } else { "FAILED" };
        say(&format!("{name}: {came}: {}", row.message));
        rows.push((what, row));
    }
    bed.is_whole();
    for line in table(&rows) {
        say(&line);
    }
    let failed = rows.iter().filter(|(_, row)| !row.faults.is_empty()).count();
    assert!(!rows.is_empty(), "no case has {wanted:?} in its name");
    assert!(failed == 0, "{failed} of {} cases failed", rows.len());
}

/// One line per case, and one per fault below it.
fn table(rows: &[(&str, Row)]) -> Vec<String> {
    let line = |cells: [&str; 6]| {
        format!(
            "| {:<58} | {:<12} | {:<36} | {:<23} | {:<17} | {:>7} |",
            cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]
        )
    };
    let head = ["workload", "evicted", "landed (planned where it differs)", "reason", "freed", "seconds"];
    let mut lines = vec![line(head), line(["---"; 6])];
    for (what, row) in rows {
        let seconds = format!("{:.1}", row.seconds);
        lines.push(line([what, &row.evicted, &row.landed, &row.reason, &row.freed, &seconds]));
        lines.extend(row.faults.iter().map(|fault| format!("  FAULT: {fault}")));
    }
    lines
}
