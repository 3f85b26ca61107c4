//! Runs without a controller, on a real control plane: `run --once` as a Job's pod runs it, and `execute --local`.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::controller::ACCOUNT;
use cluster::objects::{ASCEND, Pool};
use cluster::process::Processes;
use cluster::{Cluster, Options};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-repack");
/// The accounts of the manifests: everything runs under exactly the shipped roles.
const ONCE: &str = "system:serviceaccount:kubectl-repack:kubectl-repack-once";
const SOON: Duration = Duration::from_mins(2);
/// How a process on this machine is told to lead, and which pods of the test cluster may move.
const LEADS: &str = "--lease-duration 2s --execute-cooldown 0s --webhook-port 0 --webhook-url https://127.0.0.1 \
                     --schedulers volcano,default-scheduler --allow-ungrouped";

struct Bed {
    cluster: Cluster,
    /// Control planes start one after the other: two cores carry one well.
    _alone: MutexGuard<'static, ()>,
}

/// Two workloads on the first of three nodes, which fit onto the other two; none: there is no Go.
fn bed() -> Option<Bed> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = Cluster::start(&Options { users: &[ACCOUNT, ONCE], ..Options::default() })?;
    cluster.install(&[
        "namespace.yaml",
        "rbac/controller.yaml",
        "rbac/execute.yaml",
        "rbac/users.yaml",
        "admission.yaml",
        "cronjob.yaml",
    ]);
    let nodes = cluster.nodes(&Pool { prefix: "a-", count: 3, ..Pool::default() });
    cluster.namespace("a");
    for (node, name, cards) in [("a-01", "web", 1), ("a-01", "db", 1), ("a-02", "x", 6), ("a-03", "y", 6)] {
        cluster.deployment_on(node, &nodes, "a", name, cards);
    }
    Some(Bed { cluster, _alone: alone })
}

/// A process that is killed when the test is over.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn signal(&self, name: &str) {
        let id = self.0.id();
        let done = Command::new("sh").args(["-c", &format!("kill -{name} {id}")]).status().unwrap();
        assert!(done.success());
    }

    fn code(mut self, cluster: &Cluster) -> Option<i32> {
        cluster.wait_for("the process has ended", SOON, || {
            self.0.try_wait().unwrap().map(|status| status.code())
        })
    }
}

impl Bed {
    /// The run of the `ConfigMap`, as the pod of the `CronJob` mounts it.
    fn file(&self) -> PathBuf {
        let map = self.cluster.kubectl_text("get configmap kubectl-repack-once -n kubectl-repack -o json");
        let map: Value = serde_json::from_str(&map).unwrap();
        let path = self.cluster.folder().join("run.yaml");
        fs::write(&path, map["data"]["run.yaml"].as_str().unwrap()).unwrap();
        path
    }

    fn command(&self, user: &str, words: &str) -> Command {
        let mut command = self.cluster.command(user, BINARY);
        command.args(words.split_whitespace()).args(LEADS.split_whitespace()).stdin(Stdio::null());
        command
    }

    fn once(&self, words: &str) -> Output {
        self.command(ONCE, &format!("run --once {words}")).output().unwrap()
    }

    fn begin(&self, words: &str) -> Running {
        let log = fs::File::create(self.cluster.folder().join("once.log")).unwrap();
        let mut command = self.command(ONCE, &format!("run --once {words}"));
        Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// Begins run `night`, which does not end by itself: it waits for a budget that allows nothing.
    fn begin_without_end(&self) -> Running {
        self.cluster.create(&json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"namespace": "a", "name": "db"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "db"}}}}));
        let running = self.begin(&format!("-f {} --name night --on-blocked-pdb Wait", self.file().display()));
        self.evicts("night");
        running
    }

    fn run(&self, name: &str) -> Value {
        serde_json::from_str(&self.cluster.kubectl_text(&format!("get repackrun {name} -o json"))).unwrap()
    }

    fn reason(&self, name: &str) -> Value {
        let run = self.run(name);
        run["status"]["conditions"]
            .as_array()
            .and_then(|all| Some(all.last()?["reason"].clone()))
            .unwrap_or_default()
    }

    fn on(&self, node: &str) -> usize {
        let listed =
            self.cluster.kubectl_text(&format!("get pod -A --field-selector spec.nodeName={node} -o name"));
        listed.lines().count()
    }

    /// The first eviction of the run is out.
    fn evicts(&self, name: &str) {
        self.cluster.wait_for("an eviction", SOON, || {
            let done = self.cluster.kubectl("admin", &format!("get repackrun {name} -o json"));
            let run: Value = serde_json::from_slice(&done.stdout).ok()?;
            let all = run["status"]["relocations"].as_array()?.clone();
            all.iter().any(|each| each["eviction"]["phase"] != "Pending").then_some(())
        });
    }

    fn nothing_is_left(&self, name: &str) {
        let run = self.run(name);
        assert!(run["metadata"]["finalizers"].is_null() && run["metadata"]["labels"].is_null(), "{run:#}");
        let left = self.cluster.kubectl_text("get mutatingwebhookconfiguration kubectl-repack -o jsonpath={.webhooks[*].namespaceSelector.matchExpressions[*].operator}");
        assert_eq!(left.trim(), "DoesNotExist DoesNotExist");
        let gates = self.cluster.kubectl_text("get pod -A -o jsonpath={.items[*].spec.schedulingGates}");
        assert_eq!(gates.trim(), "");
        let holder =
            "get lease kubectl-repack-controller -n kubectl-repack -o jsonpath={.spec.holderIdentity}";
        assert_eq!(self.cluster.kubectl_text(holder).trim(), "", "the lease is given back");
    }

    /// No pod was evicted twice.
    fn evictions(&self) -> usize {
        let calls = self.cluster.audit();
        let accepted = |call: &&cluster::audit::Call| call.resource == "pods/eviction" && call.code == 201;
        let mut names: Vec<String> = calls.iter().filter(accepted).map(|call| call.name.clone()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "evicted twice");
        all
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_job_without_a_controller_frees_the_node_and_gives_the_lease_back() {
    let Some(bed) = bed() else { return };
    // A plan that is not the expected one would not be it the next time either: the code that a Job does not repeat.
    let stale = bed.cluster.folder().join("stale.json");
    let spec = json!({"mode": "Execute", "execution": {"expectedPlanID": "0123456789abcdef"}});
    let run = json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "spec": spec});
    fs::write(&stale, run.to_string()).unwrap();
    let stale = bed.once(&format!("-f {} --name night-0", stale.display()));
    assert_eq!(stale.status.code(), Some(3), "{}", text(&stale.stderr));
    assert_eq!((bed.reason("night-0"), bed.evictions()), (json!("PlanChanged"), 0));

    let done = bed.once(&format!("-f {} --name night-1", bed.file().display()));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("ExecutionCompleted"), "{}", text(&done.stdout));
    assert_eq!((bed.on("a-01"), bed.evictions()), (0, 2));
    bed.nothing_is_left("night-1");
    // A Job that tries again after its run has ended says how it ended, and moves nothing.
    let again = bed.once(&format!("-f {} --name night-1", bed.file().display()));
    assert_eq!((again.status.code(), bed.evictions()), (Some(0), 2));
    // The next night there is nothing to do, which is no failure.
    let next = bed.once(&format!("-f {} --name night-2", bed.file().display()));
    assert_eq!((next.status.code(), bed.evictions()), (Some(0), 2), "{}", text(&next.stderr));
    assert_eq!(bed.reason("night-2"), "NoFragmentation");
    // A run of that name that asks for something else is not taken for this one.
    let other = bed.once(&format!("--mode dryrun -r {ASCEND} --name night-1"));
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("asks for something else"), "{}", text(&other.stderr));
}

#[test]
fn a_job_that_is_killed_is_followed_by_one_that_goes_on_with_the_same_run() {
    let Some(bed) = bed() else { return };
    let words = format!("-f {} --name night", bed.file().display());
    let first = bed.begin(&words);
    bed.evicts("night");
    drop(first);
    let done = bed.once(&words);
    // While no process answers the webhooks, a replacement comes without the gate, and may come back to its node: that is
    // told, and nothing else is.
    let ended = (done.status.code(), bed.reason("night"), bed.on("a-01"));
    let freed = ended.0 == Some(0) && ended.2 == 0 && bed.evictions() == 2;
    let told = ended.0 == Some(3) && ended.1 == "BenefitNotRealized" && ended.2 > 0;
    assert!(freed || told, "{ended:?} {}", text(&done.stderr));
    bed.evictions();
    bed.nothing_is_left("night");
}

#[test]
fn a_job_that_is_asked_to_end_stops_its_run_and_leaves_nothing_behind() {
    let Some(bed) = bed() else { return };
    let running = bed.begin_without_end();
    running.signal("TERM");
    assert_eq!(running.code(&bed.cluster), Some(130));
    assert_eq!(bed.reason("night"), "ExecutionCancelled");
    bed.nothing_is_left("night");
}

#[test]
fn beside_a_controller_a_job_only_follows() {
    let Some(bed) = bed() else { return };
    let mut controller = Processes::new(&bed.cluster.folder().join("controller")).unwrap();
    let words =
        "controller --lease-namespace kubectl-repack --health-port 0 --metrics-port 0 --listen 127.0.0.1";
    controller.start("controller", &mut bed.command(ACCOUNT, words)).unwrap();
    let holder = || {
        let lease =
            "get lease kubectl-repack-controller -n kubectl-repack -o jsonpath={.spec.holderIdentity}";
        text(&bed.cluster.kubectl("admin", lease).stdout)
    };
    bed.cluster.wait_for("a leader", SOON, || (!holder().is_empty()).then_some(()));
    let leads = holder();
    let done = bed.once(&format!("-f {} --name night", bed.file().display()));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!((holder(), bed.on("a-01")), (leads, 0));
    let log = text(&done.stderr);
    assert!(!log.contains("this process leads"), "{log}");
    // Where a controller lives, nobody needs --local.
    let local = bed.command("admin", "execute --local --yes").output().unwrap();
    assert_eq!(local.status.code(), Some(1));
    assert!(text(&local.stderr).contains("a controller lives"), "{}", text(&local.stderr));
}

#[test]
fn without_a_controller_execute_says_so_and_does_it_all_itself_when_asked_to() {
    let Some(bed) = bed() else { return };
    let plain = bed.cluster.command("admin", BINARY).args(["execute", "--yes"]).output().unwrap();
    let told = text(&plain.stderr);
    assert_eq!(plain.status.code(), Some(1), "{told}");
    assert!(told.contains("no controller lives") && told.contains("--local"), "{told}");
    // A run of somebody else that waits for a controller is not begun.
    bed.cluster.create(&json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
        "metadata": {"name": "waits"}, "spec": {"mode": "Execute", "goals": [{"resource": ASCEND}]}}));
    let local = bed.command("admin", "execute --local --yes").output().unwrap();
    assert_eq!(local.status.code(), Some(0), "{}", text(&local.stderr));
    let shown = text(&local.stdout);
    assert!(shown.contains("ExecutionCompleted") && shown.contains("a-01"), "{shown}");
    assert_eq!((bed.on("a-01"), bed.evictions()), (0, 2));
    assert!(bed.run("waits")["status"].is_null());
    let name = bed.cluster.kubectl_text("get repackrun -o name");
    let name =
        name.lines().find(|name| !name.ends_with("waits")).unwrap().rsplit('/').next().unwrap().to_owned();
    bed.nothing_is_left(&name);
}

#[test]
fn a_run_that_nobody_carries_on_is_cleaned_up_by_force() {
    let Some(bed) = bed() else { return };
    let running = bed.begin_without_end();
    drop(running);
    let mut cancel = bed.cluster.command("admin", BINARY);
    let done = cancel.args("cancel night --force --lease-duration 2s".split_whitespace()).output().unwrap();
    let told = text(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{told}");
    assert!(told.contains("Run night has ended"), "{told}");
    assert_eq!(bed.reason("night"), "ExecutionCancelled");
    bed.nothing_is_left("night");
}
