//! A real control plane for tests: etcd, kube-apiserver with RBAC and an audit log, kube-controller-manager,
//! kube-scheduler and kwok on free loopback ports, with our CRDs and small ones of Volcano's and Kthena's types.
//!
//! A test binary includes it by `mod cluster;` and mostly shares one cluster among its tests:
//!
//! ```ignore
//! static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(|| Cluster::start(&Options::default()));
//! ```
//!
//! Without Go there is no cluster: the test says that it is skipped and passes, except where `CI=true` is set. Everything
//! lies in one folder under `target/tmp`; it stays until the next start when the test fails, with the programs' logs in it.

// Every test binary includes this folder and uses a part of it; a test may fail where it stands.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod audit;
pub mod client;
mod config;
pub mod controller;
pub mod guide;
mod kubectl;
pub mod measure;
pub mod objects;
pub mod played;
pub mod process;
pub mod server;
mod start;
pub mod tools;
pub mod volcano;
mod wait;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use client::Http;
use config::User;
use process::Processes;
use tools::{Tools, say};

/// What kind of cluster.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Users beside `admin`, without rights of their own.
    pub users: &'a [&'a str],
    /// kwok plays the nodes: they stay Ready, bound pods run, deleted pods go.
    pub kwok: bool,
    /// The scheduler of Kubernetes runs.
    pub scheduler: bool,
    /// The scheduler names whose pods it binds.
    pub schedulers: &'a [&'a str],
    /// The garbage collector runs. It deletes objects whose owner does not exist some 20 s after they were made: leave it
    /// out in clusters filled from snapshots.
    pub garbage_collector: bool,
    /// The CRDs of Volcano and Kthena and the queue `default`.
    pub volcano: bool,
    /// Our own CRDs, from `manifests/crds`.
    pub repack: bool,
    /// More flags of the API server, such as `--feature-gates=…`.
    pub apiserver: &'a [&'a str],
    /// Folder for everything, instead of one under `target/tmp`.
    pub folder: Option<&'a Path>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            users: &[],
            kwok: true,
            scheduler: true,
            schedulers: &config::PROFILES,
            garbage_collector: true,
            volcano: true,
            repack: true,
            apiserver: &[],
            folder: None,
        }
    }
}

/// A running cluster. Dropping it ends its programs and removes its folder.
pub struct Cluster {
    /// `None` once it is left running.
    processes: Mutex<Option<Processes>>,
    folder: PathBuf,
    tools: Tools,
    server: String,
    users: Vec<User>,
    http: Http,
    ready_after: Duration,
}

impl Cluster {
    /// Starts a cluster, which takes about five seconds, or says that it is skipped for want of Go.
    ///
    /// # Panics
    /// When it does not become ready, with the last words of its programs; and without Go where `CI=true`.
    pub fn start(options: &Options) -> Option<Self> {
        let tools = Tools::ready_or_skipped()?;
        match start::start(options, &tools) {
            Ok(cluster) => Some(cluster),
            Err(fault) => panic!("the cluster does not start: {fault}"),
        }
    }

    /// Time from the start of the first program until everything was ready.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Folder with data, logs and kubeconfigs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// URL of the API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// File with the API server's certificate authority.
    pub fn authority(&self) -> PathBuf {
        authority_path(&self.folder)
    }

    /// The kubeconfig of a user.
    ///
    /// # Panics
    /// When the cluster has no such user.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        kubeconfig_path(&self.folder, &self.user(user).name)
    }

    /// Name and process id of every program.
    pub fn ids(&self) -> Vec<(&'static str, u32)> {
        self.processes.lock().unwrap().as_ref().map(Processes::ids).unwrap_or_default()
    }

    /// Kills one of its programs and starts it again.
    ///
    /// # Panics
    /// When there is no such program, or it does not start.
    pub fn restart(&self, program: &'static str) {
        self.processes.lock().unwrap().as_mut().unwrap().restart(program).unwrap();
    }

    /// Leaves the cluster running after this process, with its folder; the ids, in the order in which they have to be
    /// ended, are the caller's to keep.
    pub fn leave(self) -> Vec<(&'static str, u32)> {
        let processes = self.processes.lock().unwrap().take();
        processes.map(Processes::leave).unwrap_or_default()
    }

    fn user(&self, name: &str) -> &User {
        self.users
            .iter()
            .find(|user| user.name == name)
            .unwrap_or_else(|| panic!("no user {name:?} was asked for"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A test that failed elsewhere may have poisoned the lock; the programs have to end all the same.
        let processes = self.processes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let Some(processes) = processes else { return };
        drop(processes);
        if std::thread::panicking() {
            say(&format!("logs of the cluster: {}", self.folder.display()));
        } else {
            // What stays is removed by the next start.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn authority_path(folder: &Path) -> PathBuf {
    folder.join("authority.crt")
}

fn kubeconfig_path(folder: &Path, user: &str) -> PathBuf {
    folder.join("users").join(format!("{}.kubeconfig", user.replace(':', "-")))
}

/// Asks until something is there, or until the deadline is over.
pub fn poll<T>(deadline: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    const STEP: Duration = Duration::from_millis(50);
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if since.elapsed() > deadline {
            return None;
        }
        std::thread::sleep(STEP);
    }
}
