//! Transcripts: files with a command line, what it prints on either side, and how it ends.
//!
//! A file starts with comments that say what it shows. Then, as often as needed: `$ kubectl repack …`, standard output,
//! `---- stderr`, standard error, `---- exit CODE` and an empty line. Paths are relative to the checkout. `$TMP/` is a
//! folder that every run may write to, `VERSION` stands for the program's version, and `| head -N` cuts a long output
//! after N lines and counts the rest.
//!
//! `UPDATE=1 cargo test --test commands` rewrites what is expected, `CASE=explain …` selects files by name.

use std::process::{Command, Stdio};

/// What a command line starts with.
pub const PROMPT: &str = "$ kubectl repack";
const END: &str = "---- exit ";

/// The text with everything that its commands print now. A new command needs nothing but its first line.
pub fn rewritten(text: &str) -> String {
    let mut result = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with(PROMPT) {
            result.push_str(if inside { "\n" } else { "" });
            let (stdout, rest) = run(line);
            result.push_str(&format!("{line}\n{stdout}{rest}"));
            inside = true;
        } else if !inside {
            result.push_str(&format!("{line}\n"));
        } else if line.starts_with(END) {
            inside = false;
        }
    }
    result
}

/// What the command of a line prints on standard output.
pub fn stdout(line: &str) -> String {
    run(line).0
}

/// Standard output, then standard error and the exit code.
fn run(line: &str) -> (String, String) {
    let (command, most) = match line.split_once(" | head -") {
        Some((command, count)) => (command, count.parse().unwrap()),
        None => (line, usize::MAX),
    };
    let words = command.strip_prefix(PROMPT).unwrap().split_whitespace();
    let folder = env!("CARGO_TARGET_TMPDIR");
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-repack"))
        .args(words.map(|word| word.replace("$TMP", folder)))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        // No cluster of the developer's is ever asked.
        .env("HOME", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .unwrap()
            .replace(folder, "$TMP")
            .replace(env!("CARGO_PKG_VERSION"), "VERSION")
    };
    let stdout = head(&text(done.stdout), most);
    (stdout, format!("---- stderr\n{}{END}{}\n", text(done.stderr), done.status.code().unwrap()))
}

fn head(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.len() <= most {
        return text.to_owned();
    }
    format!("{}… and {} more lines\n", lines[..most].concat(), lines.len() - most)
}
