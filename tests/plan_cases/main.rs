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
use std::path::{Path, PathBuf};

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

fn case_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan");
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    files.sort();
    files
}

/// Line by line, with the changed part marked; enough for files of one screen.
fn difference(expected: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = tail.min(old.len() - same).min(new.len() - same);
    let removed = old[same..old.len() - tail].iter().map(|line| format!("  -{line}\n"));
    let added = new[same..new.len() - tail].iter().map(|line| format!("  +{line}\n"));
    format!("  line {}:\n{}", same + 1, removed.chain(added).collect::<String>())
}

#[test]
fn every_case_prints_what_it_says() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut faults = Vec::new();
    let files = case_files();
    assert!(!files.is_empty(), "no case is selected");
    for path in &files {
        let expected = fs::read_to_string(path).unwrap();
        match rewritten(path, &expected) {
            Ok(found) if found == expected => {}
            Ok(found) if update => fs::write(path, found).unwrap(),
            Ok(found) => faults.push(format!("{}\n{}", path.display(), difference(&expected, &found))),
            Err(fault) => faults.push(fault),
        }
    }
    let count = faults.len();
    assert!(faults.is_empty(), "{count} of {} cases differ:\n\n{}", files.len(), faults.join("\n"));
}

#[test]
fn every_case_fits_one_screen_and_says_what_it_shows() {
    for path in case_files() {
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
