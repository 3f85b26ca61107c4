//! `make demo` and `make demo-down`: a cluster with a fragmented pool that is left running, and its end.
//!
//! The second argument is the folder of the cluster. `ids` in it says which processes are to be ended.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

#[path = "mod.rs"]
mod cluster;

use cluster::objects::{PlayedJob, Pool};
use cluster::{Cluster, Options, process, tools};

const NODES: usize = 20;
const CARDS: u32 = 8;

/// Far beyond what a killed program needs to give its memory back.
const GONE_AFTER: Duration = Duration::from_secs(30);

/// Namespace, Job, cards of a pod, `minAvailable`, numbers of the nodes that its pods run on. 87 cards on 17 nodes; 11 could
/// hold them.
const JOBS: [(&str, &str, u32, usize, &[usize]); 14] = [
    ("team-a", "llm-pretrain", 8, 3, &[1, 2, 3]),
    ("team-a", "vision-train", 4, 3, &[4, 5, 6]),
    ("team-a", "speech-train", 2, 2, &[4, 7, 8, 9]),
    ("team-a", "embed-eval", 1, 1, &[5, 10, 11]),
    ("team-a", "rerank-tune", 2, 2, &[10, 12]),
    ("team-a", "asr-eval", 1, 1, &[12, 13]),
    ("team-a", "ocr-tune", 4, 2, &[13, 14]),
    ("team-b", "tts-train", 2, 3, &[14, 15, 16]),
    ("team-b", "notebook-a", 1, 1, &[15]),
    ("team-b", "notebook-b", 1, 1, &[16]),
    ("team-b", "rag-index", 3, 1, &[7, 17]),
    ("team-b", "safety-eval", 1, 1, &[8, 17]),
    ("team-b", "chat-distill", 6, 1, &[9]),
    ("team-b", "sql-tune", 2, 2, &[6, 11]),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["up", folder] => absolute(folder).and_then(|folder| up(&folder)),
        ["down", folder] => absolute(folder).and_then(|folder| down(&folder)),
        _ => Err("use `make demo` or `make demo-down`".to_owned()),
    };
    match done {
        Ok(text) => {
            // Nobody is there to be told that standard output is closed.
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(fault) => {
            tools::say(&format!("error: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn absolute(folder: &str) -> Result<PathBuf, String> {
    std::path::absolute(folder).map_err(|error| format!("{folder}: {error}"))
}

fn up(folder: &Path) -> Result<String, String> {
    if recorded(folder).iter().any(|(name, pid)| is_running(name, *pid)) {
        return Err(format!("a demo runs already in {}; `make demo-down` ends it", folder.display()));
    }
    // What a demo left behind whose machine was restarted.
    let _ = fs::remove_dir_all(folder);
    let options = Options { folder: Some(folder), ..Options::default() };
    let cluster =
        Cluster::start(&options).ok_or("the demo needs Go, which builds the programs of the cluster")?;
    fill(&cluster);
    let kubeconfig = cluster.kubeconfig("admin");
    let programs = tools::target().join("testbed/bin");
    let program = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.parent()?.to_owned()));
    let program = program.ok_or("this program has no folder")?;
    let ids = cluster.leave();
    let lines: String = ids.iter().map(|(name, pid)| format!("{name} {pid}\n")).collect();
    fs::write(folder.join("ids"), lines).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(format!(
        "A cluster of {NODES} nodes with {CARDS} {resource} each is running until `make demo-down`.

    export KUBECONFIG={kubeconfig}
    export PATH={programs}:{program}:$PATH

Try
    kubectl repack report
    kubectl repack dryrun --local
    kubectl repack explain node npu-05
",
        resource = cluster::objects::ASCEND,
        kubeconfig = kubeconfig.display(),
        programs = programs.display(),
        program = program.display(),
    ))
}

fn fill(cluster: &Cluster) {
    let labels = json!({"accelerator-pool": "ascend-npu"});
    let names =
        cluster.nodes(&Pool { prefix: "npu-", count: NODES, cards: CARDS, labels, ..Pool::default() });
    for namespace in ["team-a", "team-b"] {
        cluster.namespace(namespace);
    }
    for (namespace, name, cards, min_available, nodes) in JOBS {
        let nodes: Vec<&str> = nodes.iter().map(|number| names[number - 1].as_str()).collect();
        cluster.play_job(&PlayedJob {
            namespace,
            name,
            labels: json!({"repack.volcano.sh/eligible": "true"}),
            cards,
            nodes: &nodes,
            min_available,
            node_selector: json!({"accelerator-pool": "ascend-npu"}),
        });
    }
    for namespace in ["team-a", "team-b"] {
        cluster.pods_run(namespace);
    }
}

fn down(folder: &Path) -> Result<String, String> {
    let ids = recorded(folder);
    if ids.is_empty() {
        return Err(format!("no demo is recorded in {}", folder.display()));
    }
    for (name, pid) in &ids {
        if !is_running(name, *pid) {
            continue;
        }
        process::end(*pid);
        // Killed is not gone: a program that still runs could write into the folder while that is removed.
        cluster::poll(GONE_AFTER, || (!process::is_alive(*pid)).then_some(()))
            .ok_or_else(|| format!("{name} can not be ended; its process id is {pid}"))?;
    }
    fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok("The demo has ended.\n".to_owned())
}

/// Names and ids in the order of the end.
fn recorded(folder: &Path) -> Vec<(String, u32)> {
    let text = fs::read_to_string(folder.join("ids")).unwrap_or_default();
    let line =
        |line: &str| line.split_once(' ').and_then(|(name, pid)| Some((name.to_owned(), pid.parse().ok()?)));
    text.lines().filter_map(line).collect()
}

/// True when the process is there and is that program: ids are used again after a restart of the machine.
fn is_running(name: &str, pid: u32) -> bool {
    let is_it = fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |line| {
        String::from_utf8_lossy(&line).split('\0').next().is_some_and(|path| path.ends_with(name))
    });
    is_it && process::is_alive(pid)
}
