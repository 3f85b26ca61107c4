//! What the README shows of a command is what it prints.
//!
//! A shown command is an indented line `$ kubectl repack …`, what follows is its standard output, up to the next command
//! or the end of the block. A last line `…` says that only the beginning is shown. `UPDATE=1` rewrites what is shown.

use std::path::Path;

use super::transcript;

const INDENT: &str = "    ";
const CUT: &str = "…";

/// The README with everything that its commands print now, and how many there are.
fn rewritten(text: &str) -> (String, usize) {
    let (mut result, mut shown) = (Vec::new(), 0);
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        result.push(lines[at].to_owned());
        let command = lines[at].strip_prefix(INDENT).filter(|line| line.starts_with(transcript::PROMPT));
        at += 1;
        let Some(command) = command else { continue };
        let before = output(&lines[at..]);
        at += before.len();
        shown += 1;
        let now = transcript::stdout(command);
        let now =
            now.lines().map(|line| if line.is_empty() { String::new() } else { format!("{INDENT}{line}") });
        if before.last().is_some_and(|line| line.trim() == CUT) {
            result.extend(now.take(before.len() - 1));
            result.push(format!("{INDENT}{CUT}"));
        } else {
            result.extend(now);
        }
    }
    (result.join("\n") + "\n", shown)
}

/// The lines that are shown as output: indented or empty, none empty at the end, up to the next command.
fn output<'t>(lines: &'t [&'t str]) -> &'t [&'t str] {
    let is_output = |line: &&&str| {
        let block = line.strip_prefix(INDENT);
        line.is_empty() || block.is_some_and(|line| !line.starts_with(transcript::PROMPT))
    };
    let count = lines.iter().take_while(is_output).count();
    let blank = lines[..count].iter().rev().take_while(|line| line.is_empty()).count();
    &lines[..count - blank]
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
