//! The start of a cluster: ports, files, programs in order, and what "ready" means.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::client::Http;
use super::config::{self, User};
use super::objects::queue;
use super::process::{self, Processes};
use super::tools::{Tools, target};
use super::{Cluster, Options, authority_path, kubeconfig_path, poll};

/// Far beyond what a busy machine needs for any step of the start.
const DEADLINE: Duration = Duration::from_mins(2);
/// Between the choice of a free port and its use another program may take it; then everything is tried again.
const ATTEMPTS: usize = 3;
const PORT_TAKEN: &str = "address already in use";

/// A ready cluster, or a sentence that says what failed, with the last words of what ended.
pub fn start(options: &Options, tools: &Tools) -> Result<Cluster, String> {
    sweep();
    let mut fault = String::new();
    for _ in 0..ATTEMPTS {
        match attempt(options, tools) {
            Err(told) if told.contains(PORT_TAKEN) => fault = told,
            other => return other,
        }
    }
    Err(fault)
}

fn attempt(options: &Options, tools: &Tools) -> Result<Cluster, String> {
    let folder = options.folder.map_or_else(fresh_folder, Path::to_owned);
    for part in ["users", "etcd", "certificates"] {
        fs::create_dir_all(folder.join(part)).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let [client, peer, secure] = free_ports()?;
    let server = format!("https://127.0.0.1:{secure}");
    let users = config::users(options.users);
    let plan = Start { options, tools, folder: &folder, users: &users, server: &server };

    let since = Instant::now();
    let mut processes = Processes::new(&folder.join("logs"))?;
    plan.write_files()?;
    processes.start("etcd", &mut plan.etcd(client, peer))?;
    processes.start("kube-apiserver", &mut plan.apiserver(client, secure))?;
    // The key is written after the certificate, which is whole then.
    let key = folder.join("certificates/apiserver.key");
    wait(&mut processes, "the API server's certificate", || key.exists())?;
    let authority = plan.write_authority()?;
    let http = Http::new(&server, &authority)?;
    let admin = &users[0];
    wait(&mut processes, "the API server", || http.is_ok(admin, "/readyz"))?;
    processes.start("kube-controller-manager", &mut plan.controller_manager())?;
    if options.scheduler {
        processes.start("kube-scheduler", &mut plan.scheduler())?;
    }
    if options.kwok {
        processes.start("kwok", &mut plan.kwok())?;
    }
    let mut cluster = Cluster {
        processes: Mutex::new(Some(processes)),
        folder: folder.clone(),
        tools: tools.clone(),
        server: server.clone(),
        users: users.clone(),
        http,
        ready_after: Duration::ZERO,
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if options.volcano {
        cluster.install_types(&root.join("tests/cluster/crds"));
        // Volcano makes this one by itself.
        cluster.create(&queue("default", 1));
    }
    if options.repack {
        cluster.install_types(&root.join("manifests/crds"));
    }
    // The first pod of a namespace needs its account, which a controller makes.
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    cluster.wait_for("the controllers run", DEADLINE, || cluster.http.is_ok(admin, account).then_some(()));
    cluster.ready_after = since.elapsed();
    Ok(cluster)
}

struct Start<'a> {
    options: &'a Options<'a>,
    tools: &'a Tools,
    folder: &'a Path,
    users: &'a [User],
    server: &'a str,
}

impl Start<'_> {
    fn write_files(&self) -> Result<(), String> {
        for user in self.users {
            let text = config::kubeconfig(self.server, &authority_path(self.folder), user).to_string();
            config::write(&kubeconfig_path(self.folder, &user.name), &text)?;
        }
        let scheduler = kubeconfig_path(self.folder, "system:kube-scheduler");
        let profiles = config::scheduler(&scheduler, self.options.schedulers);
        config::write(&self.folder.join("tokens.csv"), &config::token_file(self.users))?;
        config::write(&self.folder.join("audit-policy.json"), &config::audit_policy().to_string())?;
        config::write(&self.folder.join("scheduler.json"), &profiles.to_string())?;
        let [private, public] = config::service_account_keys()?;
        config::write(&self.folder.join("service-accounts.key"), &private)?;
        config::write(&self.folder.join("service-accounts.pub"), &public)
    }

    fn write_authority(&self) -> Result<PathBuf, String> {
        let path = self.folder.join("certificates/apiserver.crt");
        let all = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let path = authority_path(self.folder);
        config::write(&path, &config::authority(&all)?)?;
        Ok(path)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.tools.path(program));
        // Nothing of the developer's own clusters or caches takes part.
        command.current_dir(self.folder).env("HOME", self.folder).env_remove("KUBECONFIG");
        command
    }

    fn etcd(&self, client: u16, peer: u16) -> Command {
        let [client, peer] = [client, peer].map(|port| format!("http://127.0.0.1:{port}"));
        let mut command = self.command("etcd");
        command
            .args(["--name=bed", "--data-dir=etcd", "--unsafe-no-fsync", "--log-level=error"])
            .arg(format!("--listen-client-urls={client}"))
            .arg(format!("--advertise-client-urls={client}"))
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={peer}"))
            .arg(format!("--initial-cluster=bed={peer}"));
        command
    }

    fn apiserver(&self, etcd: u16, secure: u16) -> Command {
        let mut command = self.command("kube-apiserver");
        command
            .arg(format!("--etcd-servers=http://127.0.0.1:{etcd}"))
            .arg(format!("--secure-port={secure}"))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--cert-dir=certificates"])
            .args(["--endpoint-reconciler-type=none", "--allow-privileged=true", "--profiling=false"])
            .args(["--token-auth-file=tokens.csv", "--authorization-mode=RBAC"])
            .args(["--service-account-issuer=https://kubernetes.default.svc"])
            .args(["--service-account-key-file=service-accounts.pub"])
            .args(["--service-account-signing-key-file=service-accounts.key"])
            .arg("--service-cluster-ip-range=10.96.0.0/24")
            // An answer is sent after its line is written, so that a test reads what it caused.
            .args(["--audit-policy-file=audit-policy.json", "--audit-log-path=audit.log"])
            .args(["--audit-log-mode=blocking", "--audit-log-maxsize=10000"])
            .args(self.options.apiserver);
        command
    }

    fn controller_manager(&self) -> Command {
        let collector = if self.options.garbage_collector { "" } else { ",-garbage-collector-controller" };
        let mut command = self.command("kube-controller-manager");
        command
            .arg("--kubeconfig")
            .arg(kubeconfig_path(self.folder, "kube-controller-manager"))
            .args(["--leader-elect=false", "--secure-port=0", "--authentication-skip-lookup=true"])
            .arg(format!("--controllers=*,-node-ipam-controller{collector}"))
            .args(["--use-service-account-credentials=false", "--node-monitor-grace-period=10m0s"])
            .args(["--service-account-private-key-file=service-accounts.key"])
            .args(["--root-ca-file=authority.crt"])
            .args(["--kube-api-qps=2000", "--kube-api-burst=4000"]);
        command
    }

    fn scheduler(&self) -> Command {
        let mut command = self.command("kube-scheduler");
        command.args(["--config=scheduler.json", "--secure-port=0"]);
        command
    }

    fn kwok(&self) -> Command {
        let stages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/stages.yaml");
        let mut command = self.command("kwok");
        command
            .arg("--kubeconfig")
            .arg(kubeconfig_path(self.folder, "kwok"))
            .arg("--config")
            .arg(stages)
            .args(["--manage-all-nodes=true", "--node-lease-duration-seconds=40"]);
        command
    }
}

/// Waits for one step of the start, but no longer than every program runs.
fn wait(processes: &mut Processes, what: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
    let answer = poll(DEADLINE, || match processes.ended() {
        Some(fault) => Some(Err(fault)),
        None => is_so().then_some(Ok(())),
    });
    answer.unwrap_or_else(|| {
        let seconds = DEADLINE.as_secs();
        Err(format!("{what} is not there after {seconds} s\n{}", processes.last_words()))
    })
}

/// Ports that are free now. All are held until the last is found, so that they differ.
pub fn free_ports<const N: usize>() -> Result<[u16; N], String> {
    let mut held = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).map_err(|error| format!("a free port: {error}"))?;
        *port = listener.local_addr().map_err(|error| format!("a free port: {error}"))?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// `target/tmp/cluster-PID-NUMBER`.
fn fresh_folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    target().join(format!("tmp/cluster-{}-{number}", std::process::id()))
}

/// Removes the folders of processes that have ended without doing so.
fn sweep() {
    let Ok(entries) = fs::read_dir(target().join("tmp")) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("cluster-").and_then(|rest| rest.split('-').next()?.parse().ok());
        if pid.is_some_and(|pid| !process::is_alive(pid)) {
            // Another start may be at it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
