//! Folders of texts that say what is expected: `UPDATE=1` rewrites them, `CASE=NAME` selects by name.

use std::fs;
use std::path::{Path, PathBuf};

/// The texts of a folder of `tests` whose names contain `CASE`, by name.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .filter(|path| path.file_name().unwrap().to_string_lossy().contains(&wanted))
        .collect();
    files.sort();
    files
}

/// Compares each text with what `rewritten` makes of it, or replaces it.
pub fn check(folder: &str, rewritten: impl Fn(&Path, &str) -> Result<String, String>) {
    let update = std::env::var_os("UPDATE").is_some();
    let mut faults = Vec::new();
    let files = files(folder);
    assert!(!files.is_empty(), "nothing is selected in tests/{folder}");
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
    assert!(faults.is_empty(), "{count} of {} texts differ:\n\n{}", files.len(), faults.join("\n"));
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
