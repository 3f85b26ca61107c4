//! The list of bugs that `tests/bugs/prove` puts back holds to the source: whatever it replaces stands there exactly once,
//! and the tests that it names are there. That they fail over the bug takes a build each: `make bugs`.

#![allow(clippy::unwrap_used)] // a test may fail where it stands

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Subjects that the list has to cover.
const AREAS: [&str; 11] = [
    "claim", "cleanup", "evict", "fencing", "gate", "lease", "nominate", "queue", "rights", "verify",
    "webhook",
];

#[derive(Default)]
struct Bug {
    name: String,
    words: BTreeMap<String, String>,
    old: Vec<String>,
    new: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn bugs() -> Vec<Bug> {
    let mut bugs: Vec<Bug> = Vec::new();
    for line in fs::read_to_string(root().join("tests/bugs/list.txt")).unwrap().lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "bug" {
            bugs.push(Bug { name: rest.to_owned(), ..Bug::default() });
            continue;
        }
        let Some(bug) = bugs.last_mut() else { continue };
        if let Some(old) = line.strip_prefix('-') {
            bug.old.push(old.to_owned());
        } else if let Some(new) = line.strip_prefix('+') {
            bug.new.push(new.to_owned());
        } else if !word.is_empty() {
            bug.words.insert(word.to_owned(), rest.to_owned());
        }
    }
    bugs
}

#[test]
fn every_bug_of_the_list_can_be_put_back() {
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    for bug in bugs() {
        let (name, word) = (&bug.name, |word: &str| bug.words.get(word).cloned().unwrap_or_default());
        if !names.insert(name.clone()) {
            faults.push(format!("{name}: stands twice"));
        }
        if word("why").is_empty() || !word("file").starts_with("src/") || !AREAS.contains(&&*word("area")) {
            faults.push(format!("{name}: lacks why, a file of the source or a known area"));
        }
        let source = fs::read_to_string(root().join(word("file"))).unwrap_or_default();
        let old = bug.old.join("\n");
        let times = if old.is_empty() { 0 } else { source.matches(&old).count() };
        if times != 1 || bug.old == bug.new {
            faults.push(format!("{name}: its lines stand {times} times in {}", word("file")));
        }
        if !names_a_test(&word("test")) {
            faults.push(format!("{name}: there is no test {}", word("test")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_list_covers_every_part_of_an_execution() {
    let bugs = bugs();
    assert!(bugs.len() >= 12, "{}", bugs.len());
    let covered: BTreeSet<&str> =
        bugs.iter().filter_map(|bug| bug.words.get("area").map(String::as_str)).collect();
    assert_eq!(covered.into_iter().collect::<Vec<_>>(), AREAS);
}

/// Whether the last word of a filter is the beginning of a test's name or a module's, in the file or under `src`.
fn names_a_test(arguments: &str) -> bool {
    let words: Vec<&str> = arguments.split(' ').collect();
    let (text, filter) = match words.as_slice() {
        ["--test", target, filter] => {
            (fs::read_to_string(root().join(format!("tests/{target}.rs"))).unwrap_or_default(), *filter)
        }
        ["--lib", filter] => {
            let mut text = String::new();
            collect(&root().join("src"), &mut text);
            (text, *filter)
        }
        _ => return false,
    };
    let last = filter.rsplit("::").next().unwrap_or_default();
    !last.is_empty() && ["fn ", "mod "].iter().any(|word| text.contains(&format!("{word}{last}")))
}

fn collect(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, text);
        } else {
            text.push_str(&fs::read_to_string(path).unwrap_or_default());
        }
    }
}
