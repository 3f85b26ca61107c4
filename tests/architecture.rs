//! The rules of the source tree, checked on the source itself.
//!
//! * Every module says in its header what it may import of this crate (`May import: a, b`), and holds to it. The
//!   header of a module's `mod.rs` speaks for its whole folder; a file below it with a header of its own lists what it uses
//!   from outside its own folder.
//! * The verifier of plans shares the request and the plan's types with the planner, and nothing else.
//! * `snapshot`, `fragmentation`, `filter`, `plan`, `verify` and `api` are pure: no clock, no environment, no files, no network,
//!   no printing, no async. Time, readers and seeds are arguments.
//! * Only `cli/output` prints.
//!
//! Tests (files `tests.rs`, `*_tests.rs`, and what follows the first `#[cfg(test)]` that opens a module) are free.

#![allow(clippy::unwrap_used)] // a test may fail where it stands

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PURE: [&str; 7] = ["api", "snapshot", "fragmentation", "filter", "plan", "verify", "engine"];

/// What a pure module may not mention, with what to do instead.
const IMPURE: [(&str, &str); 14] = [
    ("tokio", "keep async at the edges"),
    ("k8s_openapi", "convert at the edge"),
    ("SystemTime", "take the time as an argument"),
    ("Instant", "measure in the caller"),
    ("Timestamp::now", "take the time as an argument"),
    ("std::env", "take the value as an argument"),
    ("std::fs", "take a reader"),
    ("std::net", "take a reader"),
    ("std::process", "return a value"),
    ("File::open", "take a reader"),
    ("thread_rng", "take a seed"),
    ("RandomState", "use the crate's fixed hasher, or sort"),
    ("tracing::", "return what there is to say"),
    ("std::thread", "the caller decides on threads"),
];

const PRINTING: [&str; 6] = ["println!", "print!", "eprintln!", "eprint!", "io::stdout", "io::stderr"];

struct Source {
    /// Path under `src/`, with `/`.
    path: String,
    /// The module path: `["plan", "drain"]`.
    module: Vec<String>,
    /// `May import` entries of its own header, if it has the line.
    may_import: Option<Vec<String>>,
    /// Code without comments, literals and tests.
    code: String,
}

impl Source {
    /// The folder it stands in, as a module path; the module itself for a `mod.rs`.
    fn folder(&self) -> &[String] {
        if self.path.ends_with("mod.rs") {
            &self.module
        } else {
            &self.module[..self.module.len().saturating_sub(1)]
        }
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    files.iter().map(|file| read(&root, file)).filter(|source| !is_test_file(&source.path)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_tests.rs") || path.contains("/tests/")
}

fn read(root: &Path, file: &Path) -> Source {
    let text = fs::read_to_string(file).unwrap();
    let path = file.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
    let mut module: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    Source { path, module, may_import: header_entries(&text), code: code_of(&text) }
}

/// Entries of the header's `May import:` line, which may go on over further comment lines until one ends a sentence
/// or is empty. Backticks and brackets around an entry are layout.
fn header_entries(text: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("//! May import:"));
    let mut list = lines.next()?.trim_start_matches("//! May import:").trim().to_owned();
    while list.ends_with(',') {
        list.push_str(lines.next()?.trim_start_matches("//!"));
    }
    if list.starts_with("(nothing") {
        return Some(Vec::new());
    }
    // A note in round brackets belongs to the entry before it.
    let list: String =
        list.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
    let clean = |entry: &str| entry.trim().trim_end_matches('.').trim_matches(['`', '[', ']']).to_owned();
    Some(list.split(',').map(clean).filter(|entry| !entry.is_empty()).collect())
}

/// The code without comments, text literals and test modules.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            let item = lines.clone().map(str::trim_start).find(|line| !line.starts_with("#["));
            if item.is_some_and(|item| item.contains("mod ") && item.ends_with('{')) {
                break;
            }
        }
        code.push_str(without_comment_and_text(line).as_str());
        code.push('\n');
    }
    code
}

fn without_comment_and_text(line: &str) -> String {
    let mut kept = String::new();
    let mut letters = line.chars().peekable();
    let mut inside = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if inside => {
                letters.next();
            }
            '"' => inside = !inside,
            '/' if !inside && letters.peek() == Some(&'/') => break,
            _ if !inside => kept.push(letter),
            _ => {}
        }
    }
    kept
}

/// Paths of this crate that the code names, as module paths: `crate::plan::request` and `super::x` resolved; the
/// items of `use crate::{…}` each.
fn references(source: &Source) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for (at, _) in source.code.match_indices("crate::") {
        let before = source.code[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            continue;
        }
        let rest = &source.code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                for name in top_level_names(list) {
                    found.insert(vec![name]);
                }
            }
            None => {
                found.insert(path_at(rest));
            }
        }
    }
    for (at, _) in source.code.match_indices("super::") {
        if source.code[..at].ends_with("super::") {
            continue;
        }
        let rest = source.code[at..].trim_start_matches("super::");
        let ups = (source.code[at..].len() - rest.len()) / "super::".len();
        let mut path = source.module[..source.module.len().saturating_sub(ups)].to_vec();
        path.extend(path_at(rest));
        found.insert(path);
    }
    found.retain(|path| !path.is_empty());
    found
}

/// First words of the comma-separated items of a brace list, nested lists left out.
fn top_level_names(list: &str) -> Vec<String> {
    let (mut names, mut depth, mut start) = (Vec::new(), 0, true);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            _ if letter.is_whitespace() => {}
            _ if start && depth == 0 => {
                names.extend(path_at(&list[at..]).into_iter().next());
                start = false;
            }
            _ => {}
        }
    }
    names
}

/// The leading `a::b::c` of a text; a name that starts with a capital letter is an item and ends the path.
fn path_at(text: &str) -> Vec<String> {
    let mut path = Vec::new();
    for part in text.split("::") {
        let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() || name.starts_with(char::is_uppercase) {
            break;
        }
        let whole = name.len() == part.len();
        path.push(name);
        if !whole {
            break;
        }
    }
    path
}

/// Whether `path` is what `entry` (`plan` or `plan::request`) allows.
fn allows(entry: &str, path: &[String]) -> bool {
    let entry: Vec<&str> = entry.split("::").collect();
    path.len() >= entry.len() && entry.iter().zip(path).all(|(a, b)| a == b)
}

#[test]
fn every_module_imports_only_what_its_header_allows() {
    let sources = sources();
    let top: BTreeSet<&str> = sources.iter().filter_map(|s| s.module.first().map(String::as_str)).collect();
    let mut faults = Vec::new();
    for name in &top {
        let folder = sources.iter().find(|source| source.module == [*name]);
        let Some(may_import) = folder.and_then(|folder| folder.may_import.as_ref()) else {
            faults.push(format!("src/{name}: its header has no line `//! May import: …`"));
            continue;
        };
        for entry in may_import {
            if !top.contains(entry.split("::").next().unwrap_or_default()) {
                faults.push(format!("src/{name}: its header allows {entry:?}, which is no module"));
            }
        }
        for source in sources.iter().filter(|source| source.module.first().is_some_and(|first| first == name))
        {
            for path in references(source) {
                let target = path[0].as_str();
                if target != *name
                    && top.contains(target)
                    && !may_import.iter().any(|entry| allows(entry, &path))
                {
                    faults.push(format!(
                        "src/{}: uses crate::{}, which src/{name} may not import",
                        source.path,
                        path.join("::")
                    ));
                }
                let own = source.may_import.as_ref().filter(|_| source.module.len() > 1);
                let listed = |own: &Vec<String>| own.iter().any(|entry| allows(entry, &path));
                let elsewhere = top.contains(target) && !path.starts_with(source.folder());
                if own.is_some_and(|own| elsewhere && !listed(own)) {
                    faults.push(format!(
                        "src/{}: uses crate::{}, which its header does not list",
                        source.path,
                        path.join("::")
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_verifier_of_plans_shares_nothing_with_the_planner_that_could_hide_a_fault() {
    let shared = ["plan::request", "plan::types"];
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| source.path.starts_with("verify/")) {
        for path in references(source).iter().filter(|path| path[0] == "plan" && path.len() > 1) {
            if !shared.iter().any(|entry| allows(entry, path)) {
                faults.push(format!("src/{}: uses crate::{}", source.path, path.join("::")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn imports_between_modules_form_no_circle() {
    let sources = sources();
    let edges: Vec<(String, Vec<String>)> = sources
        .iter()
        .filter(|source| source.module.len() == 1 && source.path.ends_with("mod.rs"))
        .map(|source| {
            let entries = source.may_import.clone().unwrap_or_default();
            let names = entries.iter().map(|entry| entry.split("::").next().unwrap_or_default().to_owned());
            (source.module[0].clone(), names.filter(|name| *name != source.module[0]).collect())
        })
        .collect();
    let mut left = edges.clone();
    // What nobody left imports from is taken away until nothing is left; a circle stays.
    while let Some(at) = left
        .iter()
        .position(|(_, imports)| imports.iter().all(|name| left.iter().all(|(other, _)| other != name)))
    {
        left.remove(at);
    }
    assert!(left.is_empty(), "these modules import each other in a circle: {left:?}");
}

#[test]
fn pure_modules_have_no_clock_no_files_and_no_printing() {
    let mut faults = Vec::new();
    for source in
        sources().iter().filter(|source| PURE.contains(&source.module.first().map_or("", String::as_str)))
    {
        for (word, instead) in IMPURE {
            if mentions(&source.code, word) {
                faults.push(format!("src/{}: mentions {word}; {instead}", source.path));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_the_output_door_prints() {
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| !source.path.starts_with("cli/output/")) {
        for word in PRINTING {
            if mentions(&source.code, word) {
                faults.push(format!("src/{}: mentions {word}; print through cli::output::Out", source.path));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_source_file_says_what_lives_in_it_and_fits_two_screens_of_a_reader() {
    /// The rule is "about 400"; this is where about ends.
    const MOST_LINES: usize = 500;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults = Vec::new();
    for source in sources() {
        let text = fs::read_to_string(root.join(&source.path)).unwrap();
        if !text.starts_with("//!") {
            faults.push(format!("src/{}: does not start with a header (//!)", source.path));
        }
        let lines = text.lines().count();
        if lines > MOST_LINES {
            faults.push(format!("src/{}: has {lines} lines; split it by idea", source.path));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether the word stands in the code and is not the end of a longer word.
fn mentions(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

// The test is only worth something if it sees what it looks for.

fn source(path: &str, text: &str) -> Source {
    let module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    Source { path: path.to_owned(), module, may_import: header_entries(text), code: code_of(text) }
}

#[test]
fn it_reads_headers() {
    let entries = |text: &str| header_entries(text);
    assert_eq!(
        entries("//! x\n//!\n//! May import: a, `b::c`.\n"),
        Some(vec!["a".to_owned(), "b::c".to_owned()])
    );
    assert_eq!(entries("//! May import: a,\n//! b\n"), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(entries("//! May import: (nothing of this crate)\n"), Some(Vec::new()));
    assert_eq!(entries("//! May import: a (types only), b\n"), entries("//! May import: a, b\n"));
    assert_eq!(entries("//! x\n"), None);
}

#[test]
fn it_sees_references_in_use_lines_in_code_and_in_lists_but_not_in_comments_text_or_tests() {
    let text = "use crate::plan::request::Request;\nuse crate::{filter::{a, b}, api};\n\
                fn f() { crate::snapshot::Snapshot::new(); // crate::hami\n let s = \"crate::execute\"; }\n\
                #[cfg(test)]\nmod tests {\n use crate::cli;\n}\n";
    let found: Vec<String> = references(&source("x/y.rs", text)).iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["api", "filter", "plan::request", "snapshot"]);
    let text = "use super::sibling::Item;\nuse super::super::other::F;\nuse super::Item;\n";
    let found: Vec<String> = references(&source("x/y.rs", text)).iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["other", "x", "x::sibling"]);
}

#[test]
fn it_sees_forbidden_words_only_as_words() {
    let code = code_of("let t = std::time::Instant::now(); println!(\"x\");\n// SystemTime\n");
    assert!(mentions(&code, "Instant") && mentions(&code, "println!"));
    assert!(!mentions(&code, "SystemTime") && !mentions("eprintln!()", "println!"));
}
