//! Waiting for what a cluster will be, and everything a reader needs when it does not become so.

use std::time::Duration;

use super::process::Processes;
use super::{Cluster, poll, tools};

/// What is shown of a cluster, one `kubectl get` each: a type that the cluster does not know hides no other.
const SHOWN: [&str; 10] = [
    "nodes",
    "pods -A -o wide",
    "deployments,statefulsets,jobs -A",
    "poddisruptionbudgets -A",
    "podgroups.scheduling.volcano.sh -A",
    "jobs.batch.volcano.sh -A",
    "modelservings -A",
    "repackruns -o yaml",
    "leases -A",
    "events -A --sort-by=.metadata.creationTimestamp",
];
/// Lines of each: lists of thousands of pods help nobody.
const MOST_LINES: usize = 60;

impl Cluster {
    /// Asks every 50 ms until there is an answer.
    ///
    /// # Panics
    /// After the deadline, with objects, events and the last words of every program; and as soon as one has ended.
    pub fn wait_for<T>(&self, what: &str, deadline: Duration, mut look: impl FnMut() -> Option<T>) -> T {
        let answer = poll(deadline, || match self.ended() {
            Some(fault) => Some(Err(fault)),
            None => look().map(Ok),
        });
        match answer {
            Some(Ok(found)) => found,
            Some(Err(fault)) => panic!("waiting for {what}: {fault}"),
            None => {
                tools::say(&self.dump());
                panic!("not within {} s: {what}", deadline.as_secs())
            }
        }
    }

    /// Objects, events and the last words of every program.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        for shown in SHOWN {
            let done = self.kubectl("admin", &format!("get --ignore-not-found {shown}"));
            let told =
                [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
            // The newest events come last; every list keeps its heading.
            let lines: Vec<&str> = told.lines().collect();
            let (heading, rest) = lines.split_at(lines.len().min(1));
            let rest = &rest[rest.len().saturating_sub(MOST_LINES)..];
            text.extend(["== ", shown, "\n", &heading.concat(), "\n", &rest.join("\n"), "\n"]);
        }
        text + &self.last_words()
    }

    fn ended(&self) -> Option<String> {
        self.processes.lock().ok()?.as_mut()?.ended()
    }

    /// The last lines of every program's log.
    pub fn last_words(&self) -> String {
        self.processes
            .lock()
            .map(|all| all.as_ref().map(Processes::last_words))
            .ok()
            .flatten()
            .unwrap_or_default()
    }
}
