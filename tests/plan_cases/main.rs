//! Planner cases as text: a drawn cluster, commands, and the whole reaction of the planner.
//!
//! A file is a list of blocks. A block is commands, a line `----`, and what they print up to the next empty line.
//! A command starts at the left edge; indented lines below it belong to it (a drawing, or YAML that is merged over
//! the objects it makes). `#` at the left edge, or with a blank on both sides, starts a comment. Words that a command
//! does not know are errors. One file per command says what the command takes.
//!
//! The drawing has a line per node and a glyph per card: a lower-case letter is a pod of that group, `.` a free
//! card, `#` a card of a `DaemonSet`'s pod, which can not move. A number before a glyph repeats it (`12a52.`).
//! `pods=(a:2x4)` says that group `a` has two pods of four cards.
//!
//! `UPDATE=1 cargo test --test plan_cases` rewrites what is expected: commit only what you can explain.
//! `CASE=f14 …` runs the files whose names contain `f14`.

// In a test a panic is the answer, and what it prints is for whoever runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::format_push_string)]

mod cluster;
mod drawing;
mod explain;
#[path = "../support/golden.rs"]
mod golden;
mod group;
mod node;
mod object;
mod owner;
mod pdb;
mod pending;
mod plan;
mod pods;
mod report;
mod text;
mod world;

use std::fs;
use std::path::Path;

use text::{Block, Command};
use world::World;

/// A command that can not be understood, or a cluster that can not be built: the test is at fault.
type Outcome = Result<String, String>;

fn run(command: &Command, world: &mut World) -> Outcome {
    match command.name.as_str() {
        "cluster" => cluster::run(command, world),
        "node" => node::run(command, world),
        "group" => group::run(command, world),
        "pods" => pods::run(command, world),
        "owner" => owner::run(command, world),
        "pdb" => pdb::run(command, world),
        "pending" => pending::run(command, world),
        "object" => object::run(command, world),
        "plan" => plan::run(command, world),
        "report" => report::run(command, world),
        "explain" => explain::run(command, world),
        other => Err(format!("unknown command {other:?}")),
    }
}

/// The file with everything it prints now.
fn rewritten(path: &Path, text: &str) -> Result<String, String> {
    let mut world = World::default();
    let mut result = String::new();
    for block in Block::all(text) {
        result.push_str(&block.head);
        if block.commands.is_empty() {
            continue;
        }
        let mut printed = String::new();
        for command in &block.commands {
            let at = |fault| format!("{}:{}: {}: {fault}", path.display(), command.line, command.name);
            printed.push_str(&run(command, &mut world).map_err(at)?);
        }
        result.push_str("----\n");
        result.push_str(&printed);
    }
    Ok(result)
}

#[test]
fn every_case_prints_what_it_says() {
    golden::check("plan", rewritten);
}

#[test]
fn every_case_fits_one_screen_and_says_what_it_shows() {
    for path in golden::files("plan") {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display();
        assert!(text.lines().count() <= 60, "{name} is longer than 60 lines");
        assert!(text.starts_with("# "), "{name} does not start with what it shows");
        assert!(text.contains("\n----\n"), "{name} expects nothing");
    }
}

#[test]
fn words_that_no_command_knows_are_errors() {
    for (text, fault) in [
        ("explode\n----\n", "unknown command \"explode\""),
        ("cluster pods=(a:1x1) color=red\n  n1  a\n----\n", "unknown argument \"color\""),
        ("cluster pods=(a:1x2)\n  n1  a.\n----\n", "1 card of a on n1 is no multiple of 2"),
        ("cluster pods=(a:2x1)\n  n1  a.\n----\n", "1 pod of a is drawn, 2 are said"),
        ("cluster\n  n1  b\n----\n", "group b is not in pods=(…)"),
        ("node n9 cordoned\n----\n", "there is no node \"n9\""),
        ("plan budget=3\n----\n", "unknown argument \"budget\""),
    ] {
        let found = rewritten(Path::new("case"), text).unwrap_err();
        assert!(found.ends_with(fault), "{found}");
    }
}
