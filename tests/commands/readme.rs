//! What the README shows of a command is what it prints.
//!
//! A shown command is an indented line `$ kubectl repack …`, what follows is its standard output, up to the next command
//! or the end of the block. `| head -N` cuts it as in a transcript. `UPDATE=1` rewrites what is shown.

use std::path::Path;

use super::transcript;

const INDENT: &str = "    ";

/// The README with everything that its commands print now, and how many there are.
fn rewritten(text: &str) -> (String, usize) {
    let (mut result, mut shown, mut inside) = (String::new(), 0, false);
    let mut blanks = String::new();
    for line in text.lines() {
        let block = line.strip_prefix(INDENT);
        if let Some(command) = block.filter(|line| line.starts_with(transcript::PROMPT)) {
            blanks.clear();
            result.push_str(&format!("{line}\n"));
            for line in transcript::stdout(command).lines() {
                let line = if line.is_empty() { String::new() } else { format!("{INDENT}{line}") };
                result.push_str(&format!("{line}\n"));
            }
            (inside, shown) = (true, shown + 1);
        } else if inside && line.is_empty() {
            blanks.push('\n');
        } else if !inside || block.is_none() {
            result.push_str(&format!("{blanks}{line}\n"));
            blanks.clear();
            inside = false;
        } else {
            blanks.clear();
        }
    }
    (result, shown)
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (found, shown) = rewritten(&text);
    assert!(shown >= 3, "the README shows the three answers of fit");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    } else {
        let first = text.lines().zip(found.lines()).find(|(old, new)| old != new);
        assert!(text == found, "the README shows what no command prints: {first:?}");
    }
}
