//! The real krew installs the archive by its manifest without a network, and kubectl runs and completes the plugin.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used)]

mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cluster::tools::Tools;

fn success(what: &str, done: &Output) -> String {
    let [stdout, stderr] =
        [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(done.status.success(), "{what}: {}\n{stdout}{stderr}", done.status);
    stdout
}

#[test]
fn krew_installs_the_archive_and_kubectl_runs_and_completes_the_plugin() {
    let Some(tools) = Tools::ready_or_skipped() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let krew = tools.another("krew", "sigs.k8s.io/krew/cmd/krew", &root.join("tests/krew"));

    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("krew");
    let _ = fs::remove_dir_all(&folder);
    let [home, packages, store, helpers] =
        ["home", "packages", "store", "helpers"].map(|name| folder.join(name));
    for made in [&home, &packages, &helpers] {
        fs::create_dir_all(made).unwrap();
    }
    let packed = Command::new(root.join("krew/package"))
        .arg(env!("CARGO_BIN_EXE_kubectl-repack"))
        .arg(&packages)
        .output()
        .unwrap();
    let packed = success("krew/package", &packed);
    let archive = packed.trim().split_once("  ").unwrap().1.to_owned();

    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        [helpers.clone(), store.join("bin"), tools.folder().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&path)),
    )
    .unwrap();
    let run = |program: &Path, arguments: &[&str]| {
        let done = Command::new(program)
            .args(arguments)
            .envs([("HOME", home.as_os_str()), ("KREW_ROOT", store.as_os_str()), ("PATH", path.as_os_str())])
            .env_remove("KUBECONFIG")
            .output()
            .unwrap();
        success(&arguments.join(" "), &done)
    };
    let manifest = packages.join("repack.yaml");
    run(&krew, &["install", &format!("--manifest={}", manifest.display()), &format!("--archive={archive}")]);

    let kubectl = tools.path("kubectl");
    let version = format!("kubectl-repack {}\nAPI repack.volcano.sh/v1alpha1\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&kubectl, &["repack", "version"]), version);
    assert!(run(&kubectl, &["repack", "dryrun", "--help"]).contains("Usage: kubectl repack dryrun"));

    // krew links the program only; the helper is linked as the caveats say.
    let caveats = fs::read_to_string(&manifest).unwrap();
    let line = caveats.lines().find(|line| line.trim_start().starts_with("ln -s ")).unwrap();
    let linked = line.replace("~/bin/", &format!("{}/", helpers.display()));
    run(Path::new("sh"), &["-c", &linked]);
    let offered = run(&kubectl, &["__complete", "repack", "dry"]);
    assert!(
        offered.starts_with("dryrun\tShow which pods would move") && offered.ends_with("\n:4\n"),
        "{offered}"
    );
}
