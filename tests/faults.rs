//! The controller while the API server fails: whatever it refuses, forgets or loses now and then, every run ends as it
//! would have, once, and nothing else is written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::audit::Call;
use cluster::controller::{ACCOUNT, Controller, LEASE, RUNS, ended, reason};
use cluster::objects::ASCEND;
use cluster::server::{Asked, Fault, Proxy};
use cluster::{Cluster, Options};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(1);

static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(|| {
    let cluster = Cluster::start(&Options { users: &[ACCOUNT], ..Options::default() })?;
    cluster.install_controller();
    cluster.guide();
    Some(cluster)
});

/// The cluster for one test, without runs; none: there is no Go.
fn cluster() -> Option<(&'static Cluster, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = CLUSTER.as_ref()?;
    cluster.kubectl_text("delete repackruns --all");
    Some((cluster, alone))
}

/// A controller that reaches the cluster through the proxy.
fn behind(proxy: &Proxy, cluster: &Cluster, name: &str) -> Controller {
    let kubeconfig = proxy.kubeconfig(cluster, ACCOUNT);
    let more = ["--kubeconfig", kubeconfig.to_str().unwrap()];
    Controller::start(cluster, env!("CARGO_BIN_EXE_kubectl-repack").as_ref(), ACCOUNT, name, &more)
}

fn run(name: &str) -> Value {
    json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": name},
        "spec": {"mode": "DryRun", "goals": [{"resource": ASCEND}]},
    })
}

/// Every write of the controller that got through, but for the lease.
fn written(cluster: &Cluster, mark: cluster::audit::Mark) -> Vec<Call> {
    let reading = ["get", "list", "watch"];
    let calls = cluster.audit_since(mark).into_iter();
    let ours = calls.filter(|call| call.user == ACCOUNT && !reading.contains(&call.verb.as_str()));
    ours.filter(|call| call.resource != "leases" && call.code < 300).collect()
}

/// Lets the first `times` requests of each of these kinds fail, and names them.
fn first(
    times: usize,
    kinds: &'static [(&'static str, Fault)],
) -> impl FnMut(&Asked) -> Option<Fault> + Send {
    let mut left: BTreeMap<(&str, String), usize> = BTreeMap::new();
    move |asked| {
        let (name, fault) = kinds.iter().find(|(name, _)| *name == kind(asked))?;
        // Each kind of object has lists and watches of its own.
        let left = left.entry((name, asked.path.clone())).or_insert(times);
        *left = left.checked_sub(1)?;
        Some(*fault)
    }
}

/// `watch`, `list`, `lease`, `event`, `status` or another word.
fn kind(asked: &Asked) -> &'static str {
    match asked.method.as_str() {
        _ if asked.path.contains("/leases") => "lease",
        "GET" if asked.is_watch() => "watch",
        "GET" if asked.path.matches('/').count() < 3 => "discovery",
        "GET" => "list",
        "POST" if asked.path.ends_with("/events") => "event",
        "PUT" if asked.path.ends_with("/status") => "status",
        _ => "other",
    }
}

#[test]
fn a_run_ends_as_planned_and_once_whatever_fails_the_first_two_times() {
    let Some((cluster, _alone)) = cluster() else { return };
    let ways: [(&str, &'static [(&str, Fault)]); 8] = [
        ("watches-refused", &[("watch", Fault::Refused(500))]),
        ("watches-gone", &[("watch", Fault::Refused(410))]),
        ("watches-expired", &[("watch", Fault::Expired)]),
        ("watches-lost", &[("watch", Fault::Lost), ("discovery", Fault::Lost)]),
        (
            "too-many",
            &[("watch", Fault::Refused(429)), ("list", Fault::Refused(429)), ("status", Fault::Refused(429))],
        ),
        (
            "writes-refused",
            &[
                ("status", Fault::Refused(503)),
                ("lease", Fault::Refused(500)),
                ("discovery", Fault::Refused(503)),
            ],
        ),
        ("writes-lost", &[("status", Fault::Lost), ("lease", Fault::Lost)]),
        ("answers-lost", &[("status", Fault::AnswerLost), ("lease", Fault::AnswerLost)]),
    ];
    let mut plans = Vec::new();
    for (name, kinds) in ways {
        let proxy = Proxy::start(cluster);
        proxy.strike(first(2, kinds));
        let mark = cluster.audit_mark();
        let controller = behind(&proxy, cluster, name);
        cluster.create(&run(name));
        let run = ended(cluster, name);
        assert_eq!(reason(&run), "RepackRecommended", "{name}: {}", run["status"]["message"]);
        plans.push(run["status"]["plan"].clone());
        let struck = proxy.struck();
        for (kind_of, fault) in kinds {
            let hits =
                struck.iter().filter(|(asked, struck)| kind(asked) == *kind_of && struck == fault).count();
            assert!(hits >= 1 || *kind_of == "list", "{name}: no {kind_of} failed");
        }
        // Longer than the wait after a failed write.
        std::thread::sleep(Duration::from_secs(2));
        let statuses = written(cluster, mark).into_iter().filter(|call| call.resource == "repackruns/status");
        assert_eq!(statuses.count(), 2, "{name}: it begins once and ends once");
        let after = cluster.get("admin", &format!("{RUNS}/{name}")).body;
        assert_eq!(after["metadata"]["resourceVersion"], run["metadata"]["resourceVersion"], "{name}");
        controller.end();
        cluster.kubectl_text("delete repackruns --all");
    }
    assert!(plans.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn what_happens_while_every_connection_breaks_is_seen_afterwards() {
    let Some((cluster, _alone)) = cluster() else { return };
    let proxy = Proxy::start(cluster);
    let controller = behind(&proxy, cluster, "cut");
    controller.is_ready(cluster);
    cluster.create(&run("before"));
    ended(cluster, "before");
    // Nothing gets through for longer than a lease: the controller stops leading, and another node and run appear.
    proxy.strike(|_| Some(Fault::Lost));
    proxy.cut();
    cluster.wait_for("it to notice", SOON, || controller.says("no longer leads").then_some(()));
    let pool = json!({"accelerator-pool": "ascend-npu"});
    cluster.nodes(&cluster::objects::Pool { prefix: "late-", count: 1, labels: pool, ..Default::default() });
    cluster.create(&run("meanwhile"));
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(cluster.get("admin", &format!("{RUNS}/meanwhile")).body["status"], Value::Null);
    proxy.strike(|_| None);
    let run = ended(cluster, "meanwhile");
    assert_eq!(run["status"]["plan"]["summary"]["resolvedScope"]["nodeCount"], 4, "{run}");
    let (_, metrics) = controller.asked("metrics_port", "/metrics");
    assert!(metrics.contains("kubectl_repack_api_errors_total"), "{metrics}");
    controller.end();
    cluster.kubectl_text("delete node late-01");
}

#[test]
fn a_kind_that_is_uninstalled_has_no_objects_and_is_not_waited_for() {
    let Some((cluster, _alone)) = cluster() else { return };
    cluster.apply(
        "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
          metadata: {name: leaderworkersets.leaderworkerset.x-k8s.io},
          spec: {group: leaderworkerset.x-k8s.io, scope: Namespaced,
            names: {kind: LeaderWorkerSet, listKind: LeaderWorkerSetList, plural: leaderworkersets, singular: leaderworkerset},
            versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {
              type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}",
    );
    let lists = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets?limit=1";
    let is_served = || cluster.get("admin", lists).code == 200;
    cluster.wait_for("the kind to be served", SOON, || is_served().then_some(()));
    let proxy = Proxy::start(cluster);
    let mark = cluster.audit_mark();
    let controller = behind(&proxy, cluster, "uninstalled");
    controller.is_ready(cluster);
    let watched =
        |call: &Call| call.resource == "leaderworkersets" && call.user == ACCOUNT && call.code == 200;
    assert!(cluster.audit_since(mark).iter().any(watched));
    cluster.kubectl_text("delete crd leaderworkersets.leaderworkerset.x-k8s.io");
    cluster.wait_for("the kind to be gone", SOON, || (!is_served()).then_some(()));
    proxy.cut();
    cluster.wait_for("the controller to be ready again", SOON, || {
        (controller.asked("health_port", "/readyz").0 == 200).then_some(())
    });
    cluster.create(&run("uninstalled"));
    let run = ended(cluster, "uninstalled");
    assert_eq!(reason(&run), "RepackRecommended");
    let message = run["status"]["message"].as_str().unwrap();
    assert!(!message.contains("Unknown"), "{message}");
    controller.end();
}

#[test]
fn a_status_that_the_server_will_never_take_ends_its_run_and_holds_up_no_other() {
    let Some((cluster, _alone)) = cluster() else { return };
    let proxy = Proxy::start(cluster);
    // As a server whose definition knows less than this controller writes.
    proxy.strike(|asked| {
        let refused = asked.path.ends_with("/odd/status") && asked.body.contains("freedNodes")
            || asked.path.ends_with("/hopeless/status");
        refused.then_some(Fault::Refused(422))
    });
    let controller = behind(&proxy, cluster, "refused");
    controller.is_ready(cluster);
    cluster.create(&run("hopeless"));
    cluster.create(&run("odd"));
    std::thread::sleep(Duration::from_millis(1_100));
    cluster.create(&run("plain"));
    assert_eq!(reason(&ended(cluster, "plain")), "RepackRecommended");
    let odd = ended(cluster, "odd");
    assert_eq!(reason(&odd), "ReconcileFailed");
    let message = odd["status"]["message"].as_str().unwrap();
    assert!(message.contains("a test has it fail"), "{message}");
    // Not even the end can be written: it is left, and tried again when it changes.
    assert_eq!(cluster.get("admin", &format!("{RUNS}/hopeless")).body["status"], Value::Null);
    let tried = || proxy.struck().iter().filter(|(asked, _)| asked.path.contains("/hopeless/")).count();
    let before = tried();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(tried(), before, "it is not tried again and again");
    proxy.strike(|_| None);
    cluster.kubectl_text("label repackrun hopeless look=again");
    assert_eq!(reason(&ended(cluster, "hopeless")), "RepackRecommended");
    controller.end();
}

#[test]
fn the_end_of_a_run_is_told_although_the_answer_to_its_write_got_lost() {
    let Some((cluster, _alone)) = cluster() else { return };
    let proxy = Proxy::start(cluster);
    let controller = behind(&proxy, cluster, "told");
    controller.is_ready(cluster);
    let mut left = 1_usize;
    proxy.strike(move |asked| {
        let last = asked.path.ends_with("/status") && asked.body.contains("completionTime");
        left = if last { left.checked_sub(1)? } else { return None };
        Some(Fault::AnswerLost)
    });
    let created = cluster.create(&run("told"));
    ended(cluster, "told");
    let uid = &created["metadata"]["uid"];
    cluster.wait_for("the events", SOON, || {
        let all = cluster.get("admin", "/api/v1/namespaces/default/events").ok();
        let of_run =
            all["items"].as_array().unwrap().iter().filter(|event| event["involvedObject"]["uid"] == *uid);
        let mut reasons: Vec<&str> = of_run.map(|event| event["reason"].as_str().unwrap()).collect();
        reasons.sort_unstable();
        (reasons == ["PlanComputed", "RepackRecommended"]).then_some(())
    });
    assert_eq!(proxy.struck().len(), 1);
    let (_, metrics) = controller.asked("metrics_port", "/metrics");
    assert!(
        metrics.contains(r#"kubectl_repack_runs_total{mode="DryRun",reason="RepackRecommended"} 1"#),
        "{metrics}"
    );
    controller.end();
}

#[test]
fn a_leader_that_takes_over_begins_no_run_before_the_old_ones_lease_has_passed_once_more() {
    let Some((cluster, _alone)) = cluster() else { return };
    let hold = |seconds: u32| {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string();
        let spec =
            json!({"spec": {"holderIdentity": "old_1", "leaseDurationSeconds": seconds, "renewTime": now}});
        cluster.patch("admin", LEASE, &spec).ok();
    };
    // Somebody held it and died.
    if cluster.get("admin", LEASE).code == 404 {
        cluster.create(&json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": "kubectl-repack", "name": "kubectl-repack-controller"}, "spec": {},
        }));
    }
    hold(4);
    cluster.create(&run("after-a-death"));
    let proxy = Proxy::start(cluster);
    let controller = behind(&proxy, cluster, "heir");
    let leads = || {
        let spec = cluster.get("admin", LEASE).body["spec"].clone();
        spec["holderIdentity"].as_str().is_some_and(|holder| holder.starts_with("heir_")).then_some(())
    };
    cluster.wait_for("it to lead", SOON, leads);
    let since = std::time::Instant::now();
    let begun =
        || cluster.get("admin", &format!("{RUNS}/after-a-death")).body["status"]["startTime"].is_string();
    cluster.wait_for("the run to begin", SOON, || begun().then_some(()));
    let waited = since.elapsed();
    assert!(waited >= Duration::from_millis(3_500), "it began {waited:?} after the take-over");
    ended(cluster, "after-a-death");
    controller.end();

    let lease = cluster.get("admin", LEASE).body;
    assert_eq!(lease["spec"]["holderIdentity"], "", "it is given back");
    assert_eq!(lease["metadata"]["annotations"]["repack.volcano.sh/version"], env!("CARGO_PKG_VERSION"));
}
