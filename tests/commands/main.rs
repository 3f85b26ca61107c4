//! The real binary: transcripts of every command, and what has to hold between its outputs.

// In a test a panic is the answer, and what it prints is for whoever runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::format_push_string)]

#[path = "../support/bench.rs"]
mod bench;
mod benefit;
mod fit;
#[path = "../support/golden.rs"]
mod golden;
mod kept;
mod readme;
mod transcript;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/npu-8.yaml")
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-repack"))
        .args(arguments)
        .env("HOME", "/nonexistent")
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn planned(snapshot: &Path) -> Value {
    let done = run(&["dryrun", "--snapshot", snapshot.to_str().unwrap(), "-o", "json"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn every_command_prints_what_its_transcript_says() {
    golden::check("transcripts", |path, text| {
        if text.starts_with("# ") {
            let found = transcript::rewritten(text);
            assert!(!found.contains(|c: char| c.is_control() && c != '\n'), "{}", path.display());
            Ok(found)
        } else {
            Err(format!("{} does not start with what it shows", path.display()))
        }
    });
}

#[test]
fn the_first_command_of_the_readme_prints_a_plan() {
    let done = run(&["dryrun", "--snapshot", example().to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0));
    let stdout = text(&done.stdout);
    assert!(
        stdout.starts_with("DryRun: Repack evaluated for huawei.com/Ascend910: moving 9 cards"),
        "{stdout}"
    );
    assert!(stdout.contains("would be freed"), "{stdout}");
}

#[test]
fn a_plan_on_the_anonymised_file_is_the_same_plan() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("anonymous.json.gz");
    let done = run(&["snapshot", example().to_str().unwrap(), "--anonymize", "-o", file.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let (plain, anonymous) = (planned(&example()), planned(&file));
    for numbers in ["freedNodeCount", "movedCardCount", "fragBeforePercent", "disruption", "resolvedScope"] {
        let of = |run: &Value| run["status"]["plan"]["summary"][numbers].clone();
        assert_eq!(of(&plain), of(&anonymous), "{numbers}");
    }
    let shape = |run: &Value| -> Vec<Vec<i64>> {
        let groups = run["status"]["plan"]["moves"].as_array().unwrap();
        let cards = |group: &Value| {
            group["pods"].as_array().unwrap().iter().map(|pod| pod["cards"].as_i64().unwrap()).collect()
        };
        groups.iter().map(cards).collect()
    };
    assert_eq!(shape(&plain), shape(&anonymous));
    assert!(!anonymous.to_string().contains("team-a"));
}

#[test]
fn a_plan_on_our_own_snapshot_file_is_byte_for_byte_the_plan_on_the_original() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reduced.json");
    let done = run(&["snapshot", example().to_str().unwrap(), "-o", file.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(planned(&example()), planned(&file));
}

#[test]
fn explain_says_for_every_occupied_node_why_it_stays_or_where_its_pods_go() {
    let run_of = |node: &str| {
        let done = run(&["explain", "node", node, "--snapshot", example().to_str().unwrap(), "-o", "json"]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        serde_json::from_slice::<Value>(&done.stdout).unwrap()
    };
    for at in 1..=8 {
        let found = run_of(&format!("npu-{at:02}"));
        let freed = found["node"]["freed"].as_bool().unwrap();
        assert_ne!(freed, !found["node"]["reason"].as_str().unwrap().is_empty(), "{found}");
        assert!(!found["pods"].as_array().unwrap().is_empty());
    }
}

#[test]
fn the_command_that_saves_a_cluster_is_the_one_of_the_readme() {
    let done = run(&["report"]);
    let stderr = text(&done.stderr);
    let hint = stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(readme.lines().any(|line| line.trim() == hint), "{hint}");
}

#[test]
fn f105_every_form_of_a_dry_run_says_that_it_is_one() {
    let said = |form: &str| {
        let file = example();
        let done = run(&["dryrun", "--snapshot", file.to_str().unwrap(), "-o", form]);
        assert_eq!(done.status.code(), Some(0), "{form}: {}", text(&done.stderr));
        text(&done.stdout)
    };
    for (form, mark) in [
        ("table", "DryRun: "),
        ("wide", "DryRun: "),
        ("json", "\"mode\": \"DryRun\""),
        ("yaml", "  mode: DryRun\n"),
    ] {
        let head: String = said(form).lines().take(6).map(|line| format!("{line}\n")).collect();
        assert!(head.contains(mark), "{form}: {head}");
    }
}

#[test]
fn without_volcano_the_first_thing_said_is_the_flag_that_lifts_it() {
    let yaml = std::fs::read_to_string(example())
        .unwrap()
        .replace("schedulerName: volcano", "schedulerName: default-scheduler");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kube.yaml");
    std::fs::write(&file, yaml).unwrap();
    let done = run(&["dryrun", "--snapshot", file.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let second = text(&done.stdout).lines().nth(1).unwrap().to_owned();
    assert!(second.contains("--schedulers default-scheduler"), "{second}");
}

#[test]
fn a_fault_prints_nothing_on_standard_output() {
    for (arguments, code) in [
        (vec!["dryrun"], 1),
        (vec!["dryrun", "--snapshot", "/nowhere.json"], 1),
        (vec!["explain", "node", "npu-99", "--snapshot", "EXAMPLE"], 1),
        (vec!["dryrun", "--snapshot", "EXAMPLE", "-r", "nvidia.com/gpu"], 1),
    ] {
        let example = example();
        let arguments: Vec<&str> =
            arguments.iter().map(|&a| if a == "EXAMPLE" { example.to_str().unwrap() } else { a }).collect();
        let done = run(&arguments);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {}", text(&done.stderr));
        assert!(done.stdout.is_empty(), "{arguments:?}");
        assert!(text(&done.stderr).starts_with("error: "), "{arguments:?}: {}", text(&done.stderr));
    }
}
