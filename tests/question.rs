//! `execute` asks a person, on a terminal: the question names the cluster and takes the number of pods, and it comes again
//! with the difference when the plan has changed in the meantime.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::controller::{ACCOUNT, start_executor};
use cluster::objects::Pool;
use cluster::{Cluster, Options};

const SOON: Duration = Duration::from_mins(2);
/// A terminal around a program: what is typed comes by the pipe, what is shown goes to it.
const TERMINAL: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// A program on a terminal.
struct OnTerminal {
    child: Child,
    shown: Arc<Mutex<String>>,
}

impl OnTerminal {
    fn start(cluster: &Cluster, words: &[&str]) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_kubectl-repack")]).args(words);
        command.env("KUBECONFIG", cluster.kubeconfig("admin")).env("TERM", "xterm").env("NO_COLOR", "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let mut screen = child.stdout.take().unwrap();
        std::thread::spawn({
            let shown = Arc::clone(&shown);
            move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = screen.read(&mut bytes) {
                    shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
                }
            }
        });
        Self { child, shown }
    }

    fn shows(&self, cluster: &Cluster, what: &str, times: usize) {
        cluster.wait_for(&format!("{what:?} on the terminal"), SOON, || {
            (self.shown.lock().unwrap().matches(what).count() >= times).then_some(())
        });
    }

    fn types(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn ends(&mut self, cluster: &Cluster) -> (Option<i32>, String) {
        let status = cluster.wait_for("the program has ended", SOON, || self.child.try_wait().unwrap());
        (status.code(), self.shown.lock().unwrap().clone())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_plan_that_changes_while_somebody_thinks_is_shown_again_with_what_differs() {
    let Some(cluster) = Cluster::start(&Options { users: &[ACCOUNT], ..Options::default() }) else { return };
    let nodes = cluster.nodes(&Pool { prefix: "a-", count: 2, ..Pool::default() });
    cluster.namespace("a");
    for (node, name, cards) in [("a-01", "web", 1), ("a-02", "x", 6)] {
        cluster.deployment_on(node, &nodes, "a", name, cards);
    }
    let _controller = start_executor(
        &cluster,
        env!("CARGO_BIN_EXE_kubectl-repack"),
        "--schedulers volcano,default-scheduler --allow-ungrouped",
    );
    cluster.wait_for("a leader", SOON, || {
        let lease =
            "get lease kubectl-repack-controller -n kubectl-repack -o jsonpath={.spec.holderIdentity}";
        let holder = cluster.kubectl("admin", lease).stdout;
        (!holder.is_empty()).then_some(())
    });
    let victim = || {
        let found =
            cluster.kubectl_text("get pod -n a -l app=web -o name --field-selector spec.nodeName=a-01");
        found.trim().strip_prefix("pod/").map(str::to_owned)
    };

    // The wrong number is a no.
    let mut declined = OnTerminal::start(&cluster, &["execute"]);
    declined.shows(&cluster, "Type 1 to go on:", 1);
    declined.types("2\n");
    let (code, shown) = declined.ends(&cluster);
    assert_eq!(code, Some(5), "{shown}");
    assert!(shown.contains("Nothing was moved.") && shown.contains(cluster.server()), "{shown}");

    let before = victim().unwrap();
    let mut asked = OnTerminal::start(&cluster, &["execute"]);
    asked.shows(&cluster, "Type 1 to go on:", 1);
    // The pod is made again while somebody thinks.
    cluster.kubectl_text("cordon a-02");
    cluster.kubectl_text(&format!("delete pod -n a {before}"));
    let after =
        cluster.wait_for("another pod in its place", SOON, || victim().filter(|name| *name != before));
    cluster.pods_run("a");
    cluster.kubectl_text("uncordon a-02");
    asked.types("1\n");
    asked.shows(&cluster, "Type 1 to go on:", 2);
    let shown = asked.shown.lock().unwrap().clone();
    assert!(shown.contains("The plan has changed since it was shown; nothing was moved."), "{shown}");
    assert!(shown.contains(&format!("- move a/{before} from a-01")), "{shown}");
    assert!(shown.contains(&format!("+ move a/{after} from a-01")), "{shown}");
    let moved = |call: &cluster::audit::Call| call.resource == "pods/eviction";
    assert!(!cluster.audit().iter().any(moved));
    asked.types("1\n");
    let (code, shown) = asked.ends(&cluster);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("ExecutionCompleted") && victim().is_none(), "{shown}");

    // Who follows a run that has ended sees it whole.
    let name = cluster.kubectl_text("get repackrun -o jsonpath={.items[-1:].metadata.name}");
    let mut followed = OnTerminal::start(&cluster, &["status", name.trim(), "-w"]);
    let (code, _) = followed.ends(&cluster);
    assert!(matches!(code, Some(0 | 3)));
}
