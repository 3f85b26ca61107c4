//! Generated files are what the source makes, and the archive for krew is what its manifest names.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An empty folder of the test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-repack")).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Paths of the YAML files under a folder, relative to `base`.
fn yaml_files(base: &Path, part: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![base.join(part)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                found.insert(path.strip_prefix(base).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found
}

#[test]
fn every_generated_file_of_the_tree_is_what_the_source_makes() {
    let fresh = folder("generated");
    run(&["generate", "tree", "--into", fresh.to_str().unwrap()]);
    for part in ["manifests", "krew"] {
        assert_eq!(yaml_files(root(), part), yaml_files(&fresh, part), "{part}: run `make generate`");
        for path in yaml_files(&fresh, part) {
            let [kept, made] = [root(), &fresh].map(|base| fs::read_to_string(base.join(&path)).unwrap());
            assert!(kept == made, "{path} is stale: run `make generate`");
        }
    }
}

#[test]
fn what_is_printed_is_what_stands_in_the_files() {
    let documents = |text: &str| text.split("---\n").map(str::to_owned).collect::<Vec<_>>();
    let printed = documents(&run(&["generate", "manifests"]));
    let file = |path: &str| {
        let text = fs::read_to_string(root().join(path)).unwrap();
        documents(text.split_once('\n').unwrap().1)
    };
    let kustomization: serde_json::Value =
        serde_saphyr::from_str(&fs::read_to_string(root().join("manifests/kustomization.yaml")).unwrap())
            .unwrap();
    let resources = kustomization["resources"].as_array().unwrap();
    let kept: Vec<String> =
        resources.iter().flat_map(|path| file(&format!("manifests/{}", path.as_str().unwrap()))).collect();
    assert_eq!(printed, kept);
    assert!(kept.contains(&run(&["generate", "crds"])));
    assert!(documents(&run(&["generate", "rbac"])).iter().all(|document| kept.contains(document)));
}

/// Packs the program under test as `make package` packs a release.
fn package(folder: &Path) -> Output {
    Command::new(root().join("krew/package"))
        .arg(env!("CARGO_BIN_EXE_kubectl-repack"))
        .arg(folder)
        .output()
        .unwrap()
}

#[test]
fn the_archive_holds_program_licence_and_completion_helper_and_its_manifest_names_its_hash() {
    let folder = folder("package");
    let done = package(&folder);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    let (hash, archive) = said.trim().split_once("  ").unwrap();
    let list = Command::new("tar").args(["-tzf", archive]).output().unwrap();
    assert_eq!(text(&list.stdout), "LICENSE\nkubectl-repack\nkubectl_complete-repack\n");

    let manifest = fs::read_to_string(folder.join("repack.yaml")).unwrap();
    let manifest: serde_json::Value = serde_saphyr::from_str(&manifest).unwrap();
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 1);
    assert_eq!(platforms[0]["sha256"], hash);
    let sums = Command::new("sha256sum").arg(archive).output().unwrap();
    assert!(text(&sums.stdout).starts_with(hash), "{}", text(&sums.stdout));

    // Unpacked side by side on the PATH, the helper asks the program as kubectl asks the helper.
    let unpacked = folder.join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&unpacked).status().unwrap();
    assert!(tar.success());
    let path = format!("{}:{}", unpacked.display(), std::env::var("PATH").unwrap());
    let offered = Command::new(unpacked.join("kubectl_complete-repack"))
        .args(["explain", "--snap"])
        .env("PATH", path)
        .output()
        .unwrap();
    let offered = text(&offered.stdout);
    assert!(offered.starts_with("--snapshot\t") && offered.ends_with("\n:4\n"), "{offered}");
}

#[test]
fn an_archive_of_no_known_platform_is_refused() {
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-repack"))
        .args(["generate", "krew", "--archive", "kubectl-repack-plan9-amd64.tar.gz"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("its name tells no platform"), "{}", text(&done.stderr));
}
