//! The instances of the bench, read in place; they are no part of the checkout.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The instance as objects of a cluster, in a file of its own; `None`, after a line that says `skipped`, where the
/// bench or python3 is not there. `BENCH` names the bench's folder; without it, `shared/bench` next to the checkout or
/// one folder further up.
pub fn cluster(instance: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("BENCH").map(|folder| root.join(folder));
    let beside = ["../shared/bench", "../../shared/bench"].map(|folder| root.join(folder));
    let folder = named.into_iter().chain(beside).find(|folder| folder.join("instances").is_dir());
    let Some(folder) = folder else {
        println!("skipped: the bench is not there (BENCH=FOLDER)");
        return None;
    };
    let converted = Command::new("python3")
        .arg(folder.join("to_k8s.py"))
        .arg(folder.join("instances").join(instance).with_extension("json.gz"))
        .output();
    match converted {
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(instance).with_extension("json");
            std::fs::write(&file, done.stdout).unwrap();
            Some(file)
        }
        Err(fault) => {
            println!("skipped: python3 converts the bench and can not be started: {fault}");
            None
        }
    }
}
