//! The controller as a process beside a cluster: started as a user, asked, signalled, and killed when the test is over.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::Cluster;
use super::process::Processes;

/// The account of the manifests.
pub const ACCOUNT: &str = "system:serviceaccount:kubectl-repack:kubectl-repack-controller";
/// Path of all runs.
pub const RUNS: &str = "/apis/repack.volcano.sh/v1alpha1/repackruns";
/// Path of the leader's Lease.
pub const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/kubectl-repack/leases/kubectl-repack-controller";
/// For what a controller does in well under a second on an idle machine, leases aside.
const SOON: Duration = Duration::from_secs(30);

impl Cluster {
    /// Namespace, definition and rights of the controller, as the manifests have them.
    pub fn install_controller(&self) {
        self.install(&["namespace.yaml", "crds/repackruns.repack.volcano.sh.yaml", "rbac/controller.yaml"]);
    }

    /// The same, with the rights to carry runs out.
    pub fn install_executor(&self) {
        self.install_controller();
        self.install(&["rbac/execute.yaml", "admission.yaml"]);
    }

    /// Applies files of `manifests/`.
    pub fn install(&self, files: &[&str]) {
        for file in files {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests").join(file);
            self.apply(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Starts a controller that carries runs out, as the account of the manifests and with exactly the rights that they give
/// it. `more` are arguments, separated by blanks.
pub fn start_executor(cluster: &Cluster, program: &str, more: &str) -> Processes {
    cluster.install(&[
        "namespace.yaml",
        "rbac/controller.yaml",
        "rbac/execute.yaml",
        "rbac/users.yaml",
        "admission.yaml",
    ]);
    let mut running = Processes::new(&cluster.folder().join("controller")).unwrap();
    let words = "controller --lease-namespace kubectl-repack --lease-duration 2s --listen 127.0.0.1 --health-port 0 \
                 --metrics-port 0 --webhook-port 0 --webhook-url https://127.0.0.1 --execute-cooldown 0s";
    let mut command = cluster.command(ACCOUNT, program);
    command.args(words.split_whitespace()).args(more.split_whitespace());
    running.start("controller", &mut command).unwrap();
    running
}

/// A controller process; it is killed when the test is over.
pub struct Controller {
    child: Child,
    log: PathBuf,
}

impl Controller {
    /// Starts one as a user, that only plans; it is a candidate of this name.
    pub fn start(cluster: &Cluster, program: &Path, user: &str, name: &str, more: &[&str]) -> Self {
        let more = [&["--dry-run-only"], more].concat();
        Self::with(cluster, program, user, name, &more)
    }

    /// Starts one that executes pods of kube's scheduler too, and serves the webhooks on loopback.
    pub fn executing(cluster: &Cluster, program: &Path, user: &str, name: &str, more: &[&str]) -> Self {
        let words = "--execute-cooldown 0s --schedulers volcano,default-scheduler --allow-ungrouped";
        let words: Vec<&str> = words.split_whitespace().collect();
        Self::with(cluster, program, user, name, &[&words, more].concat())
    }

    fn with(cluster: &Cluster, program: &Path, user: &str, name: &str, more: &[&str]) -> Self {
        let log = cluster.folder().join(format!("{name}.{}.log", std::process::id()));
        let words = "controller --listen 127.0.0.1 --health-port 0 --metrics-port 0";
        let lease = if more.contains(&"--lease-duration") { &[][..] } else { &["--lease-duration", "2s"] };
        let child = cluster
            .command(user, program)
            .args(words.split_whitespace().chain(lease.iter().copied()))
            .args(more)
            .env("POD_NAME", name)
            .env("POD_NAMESPACE", "kubectl-repack")
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// Waits until it is ready.
    pub fn is_ready(&self, cluster: &Cluster) {
        cluster.wait_for("the controller to be ready", SOON, || {
            (self.asked("health_port", "/readyz").0 == 200).then_some(())
        });
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The lines of its log.
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
            .collect()
    }

    /// Whether its log has a message with this part.
    pub fn says(&self, part: &str) -> bool {
        self.log().iter().any(|line| line["message"].as_str().is_some_and(|text| text.contains(part)))
    }

    /// The port of this name in its log; none while it does not listen.
    pub fn port(&self, name: &str) -> Option<u16> {
        let found = self.log().iter().find_map(|line| line[name].as_u64());
        found.and_then(|port| u16::try_from(port).ok())
    }

    /// Code and body of a path at the port that its log names; 0 while it does not listen.
    pub fn asked(&self, port: &str, path: &str) -> (u16, String) {
        let Some(port) = self.port(port) else { return (0, String::new()) };
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let code = text.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (code, text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    /// Sends it a signal, such as `-STOP`.
    pub fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// Ends it in good order.
    pub fn end(mut self) {
        self.signal("-TERM");
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {:?}", self.log());
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // Over already, where the test ended it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The run once it has ended.
pub fn ended(cluster: &Cluster, name: &str) -> Value {
    cluster.wait_for(&format!("run {name} to end"), SOON, || {
        let run = cluster.get("admin", &format!("{RUNS}/{name}")).body;
        matches!(run["status"]["phase"].as_str(), Some("Succeeded" | "Failed")).then_some(run)
    })
}

/// Why a run ended: the reason of the condition that holds.
pub fn reason(run: &Value) -> &str {
    let conditions = run["status"]["conditions"].as_array().unwrap();
    let held: Vec<&Value> = conditions.iter().filter(|condition| condition["status"] == "True").collect();
    assert_eq!(held.len(), 1, "{run}");
    held[0]["reason"].as_str().unwrap()
}
