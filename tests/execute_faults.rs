//! What goes wrong around an execution and only means something against a real API server: one test each, named after it,
//! with the reason that the run ends with, who was evicted (nobody twice), where the pods are, and that nothing of the run
//! is left. The others are in `src/execute/tests/faults`.
//!
//! | fault | test | reason |
//! |---|---|---|
//! | a second leader | `second_leader` | completed |
//! | a paused leader that wakes up | `paused_leader_that_wakes_up` | completed |
//! | API server restarted | `api_server_restarted` | completed |
//! | watch drops | `watch_drops` | completed |
//! | webhook down | `webhook_down` | benefit not realized |
//! | controller uninstalled mid-way | `controller_uninstalled_mid_way` | interrupted |
//! | 429 with Retry-After | `answer_429_with_retry_after` | completed |
//! | timeouts | `timeouts` | completed |
//! | a budget that blocks for a while | `budget_that_blocks_for_a_while` | completed |
//! | a victim replaced under the same name | `victim_replaced_between_the_look_and_the_eviction` | completed |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may fail where it stands

mod cluster;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cluster::audit::Call;
use cluster::controller::{ACCOUNT, Controller, LEASE, RUNS, reason};
use cluster::objects::{ASCEND, Pool};
use cluster::server::{Asked, Fault, Proxy, Relay};
use cluster::{Cluster, Options};
use serde_json::{Value, json};

/// The same rights under another name, so that the audit log tells two controllers apart.
const SECOND: &str = "second";
const SOON: Duration = Duration::from_mins(2);
const PODS: &str = "/api/v1/namespaces/a/pods";
/// Webhooks on a free port of this machine.
const WEBHOOKS: [&str; 4] = ["--webhook-port", "0", "--webhook-url", "https://127.0.0.1"];

struct Bed {
    cluster: Arc<Cluster>,
    /// Control planes start one after the other: two cores carry one well.
    _alone: MutexGuard<'static, ()>,
}

/// A node with two pods of one card, and two nodes with room for one pod each; none: there is no Go.
fn bed() -> Option<Bed> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = Cluster::start(&Options { users: &[ACCOUNT, SECOND], ..Options::default() })?;
    cluster.install_controller();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests");
    cluster.apply(&std::fs::read_to_string(root.join("rbac/execute.yaml")).unwrap());
    for (kind, rest) in [
        ("clusterrolebinding", "all --clusterrole=kubectl-repack-controller"),
        ("clusterrolebinding", "execute --clusterrole=kubectl-repack-controller-execute"),
        ("rolebinding", "leader -n kubectl-repack --role=kubectl-repack-controller-leader"),
        ("rolebinding", "execute -n kubectl-repack --role=kubectl-repack-controller-execute"),
        ("rolebinding", "events -n default --role=kubectl-repack-controller-events"),
    ] {
        cluster.kubectl_text(&format!("create {kind} second-{rest} --user={SECOND}"));
    }
    let nodes = cluster.nodes(&Pool { prefix: "a-", count: 3, ..Pool::default() });
    cluster.namespace("a");
    for (free, name, cards, replicas) in [("a-01", "w", 1, 2), ("a-02", "x", 7, 1), ("a-03", "y", 7, 1)] {
        for node in &nodes {
            let body = json!({"spec": {"unschedulable": node != free}});
            cluster.patch("admin", &format!("/api/v1/nodes/{node}"), &body).ok();
        }
        let amounts = json!({ASCEND: cards.to_string()});
        let container =
            json!({"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}});
        // Whoever comes without a nomination goes back: a wish, which no plan has to respect.
        let home = json!([{"weight": 100, "preference": {"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [free]}]}}]);
        let affinity = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": home}});
        cluster.create(&json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"namespace": "a", "name": name},
            "spec": {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": {"app": name}},
                     "podManagementPolicy": "Parallel", "template": {"metadata": {"labels": {"app": name}},
                     "spec": {"terminationGracePeriodSeconds": 1, "affinity": affinity,
                              "containers": [container]}}},
        }));
        cluster.wait_for("the pods", SOON, || {
            let pods = cluster.get("admin", PODS).body;
            let of =
                |pod: &&Value| pod["metadata"]["labels"]["app"] == name && !pod["spec"]["nodeName"].is_null();
            (pods["items"].as_array().unwrap().iter().filter(of).count() == replicas).then_some(())
        });
    }
    for node in &nodes {
        let body = json!({"spec": {"unschedulable": false}});
        cluster.patch("admin", &format!("/api/v1/nodes/{node}"), &body).ok();
    }
    cluster.pods_run("a");
    Some(Bed { cluster: Arc::new(cluster), _alone: alone })
}

impl Bed {
    fn start(&self, user: &str, name: &str, more: &[&str]) -> Controller {
        let program = env!("CARGO_BIN_EXE_kubectl-repack").as_ref();
        Controller::executing(&self.cluster, program, user, name, more)
    }

    /// A controller whose requests go through the proxy.
    fn behind(&self, proxy: &Proxy, user: &str, name: &str) -> Controller {
        let kubeconfig = proxy.kubeconfig(&self.cluster, user);
        let controller = self.start(
            user,
            name,
            &[&WEBHOOKS[..], &["--kubeconfig", kubeconfig.to_str().unwrap()]].concat(),
        );
        controller.is_ready(&self.cluster);
        controller
    }

    fn create(&self, execution: &Value) {
        self.cluster.create(&json!({"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
            "metadata": {"name": "run"},
            "spec": {"mode": "Execute", "goals": [{"resource": ASCEND}], "execution": execution,
                     "scope": {"nodes": {"include": {"names": ["a-01"]}}}}}));
    }

    fn run(&self) -> Value {
        self.cluster.get("admin", &format!("{RUNS}/run")).body
    }

    fn ended(&self) -> Value {
        self.cluster.wait_for("the run to end", SOON, || {
            let run = self.run();
            matches!(run["status"]["phase"].as_str(), Some("Succeeded" | "Failed")).then_some(run)
        })
    }

    fn pods(&self) -> Vec<Value> {
        self.cluster.get("admin", PODS).body["items"].as_array().unwrap().clone()
    }

    /// The evictions that the server accepted, by pod and UID-blind: a name that is evicted twice stands twice.
    fn evicted(&self) -> Vec<String> {
        let calls = self.cluster.audit();
        let accepted = calls.into_iter().filter(|call| call.resource == "pods/eviction" && call.code == 201);
        let mut names: Vec<String> = accepted.map(|call| call.name).collect();
        names.sort_unstable();
        names
    }

    /// How it ended: who was evicted; where the pods stand; and nothing is left of the run.
    #[track_caller]
    fn ends(&self, evicted: &[&str], standing: &[(&str, &str)]) {
        assert_eq!(self.evicted(), evicted);
        let clean = || {
            let pods = self.pods();
            let clean = |pod: &Value| {
                pod["spec"]["schedulingGates"].is_null()
                    && pod["metadata"]["annotations"]["repack.volcano.sh/placement-gate-owner"].is_null()
                    && pod["metadata"]["deletionTimestamp"].is_null()
                    && (!pod["spec"]["nodeName"].is_null() || pod["status"]["nominatedNodeName"].is_null())
            };
            let run = self.run();
            let hooks = self.cluster.kubectl_text(
                "get mutatingwebhookconfiguration -o \
                 jsonpath={.items[*].webhooks[*].namespaceSelector.matchExpressions[*].operator}",
            );
            (pods.iter().all(clean)
                && run["metadata"]["finalizers"].is_null()
                && run["metadata"]["labels"].is_null()
                && hooks.trim() == "DoesNotExist DoesNotExist")
                .then_some(pods)
        };
        let pods = self.cluster.wait_for("nothing to be left of the run", SOON, clean);
        let stands: BTreeMap<&str, &str> = pods
            .iter()
            .filter(|pod| pod["metadata"]["labels"]["app"] == "w")
            .map(|pod| {
                (
                    pod["metadata"]["name"].as_str().unwrap(),
                    pod["spec"]["nodeName"].as_str().unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(stands, standing.iter().copied().collect(), "{:#}", self.run()["status"]);
    }

    /// Both pods are where they were planned.
    #[track_caller]
    fn completes(&self) {
        let run = self.ended();
        assert_eq!(reason(&run), "ExecutionCompleted", "{:#}", run["status"]);
        assert_eq!(run["status"]["result"]["freedNodes"], json!(["a-01"]));
        self.ends(&["w-0", "w-1"], &[("w-0", "a-02"), ("w-1", "a-03")]);
    }

    fn holder(&self) -> String {
        let spec = self.cluster.get("admin", LEASE).body["spec"].clone();
        let holder = spec["holderIdentity"].as_str().unwrap_or_default().to_owned();
        holder.rsplit_once('_').map(|(name, _)| name.to_owned()).unwrap_or(holder)
    }

    fn leads(&self, name: &str) {
        self.cluster.wait_for(&format!("{name} to lead"), SOON, || (self.holder() == name).then_some(()));
    }
}

fn evicts(asked: &Asked) -> bool {
    asked.method == "POST" && asked.path.ends_with("/eviction")
}

fn nominates(asked: &Asked) -> bool {
    asked.method == "PATCH" && asked.path.ends_with("/status") && asked.body.contains("nominatedNodeName")
}

/// What a user wrote that got through, the lease aside.
fn written(calls: &[Call], user: &str) -> Vec<Call> {
    let ours = calls.iter().filter(|call| {
        call.user == user && !["get", "list", "watch"].contains(&call.verb.as_str()) && call.code < 300
    });
    ours.filter(|call| call.resource != "leases").cloned().collect()
}

/// Does something in a thread of its own, since a proxy's handler may not wait for requests by itself.
fn aside(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work).join().unwrap();
}

/// The first leader is cut off in the middle and comes back; meanwhile another one leads.
#[test]
fn second_leader() {
    let Some(bed) = bed() else { return };
    let proxy = Proxy::start(&bed.cluster);
    let first = bed.behind(&proxy, SECOND, "first");
    bed.leads("first");
    let other = bed.start(ACCOUNT, "other", &WEBHOOKS);
    other.is_ready(&bed.cluster);
    let cut = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&cut);
    proxy.strike(move |asked| {
        // The server evicts, and nobody hears of it; from then on nothing gets through.
        let first = evicts(asked) && seen.fetch_add(1, Ordering::SeqCst) == 0;
        if first {
            return Some(Fault::AnswerLost);
        }
        (seen.load(Ordering::SeqCst) > 0).then_some(Fault::Lost)
    });
    bed.create(&json!({}));
    bed.cluster.wait_for("an eviction", SOON, || (cut.load(Ordering::SeqCst) > 0).then_some(()));
    proxy.cut();
    bed.leads("other");
    let mark = bed.cluster.audit_mark();
    // It is back, and believes nothing of what it knew.
    proxy.strike(|_| None);
    bed.completes();
    bed.cluster.wait_for("the first to notice", SOON, || first.says("no longer leads").then_some(()));
    assert_eq!(written(&bed.cluster.audit_since(mark), SECOND), [], "it leads no more and writes nothing");
    other.end();
}

/// It stands still right before it nominates a replacement, longer than its lease, and wakes up when all is done.
#[test]
fn paused_leader_that_wakes_up() {
    let Some(bed) = bed() else { return };
    let proxy = Proxy::start(&bed.cluster);
    let paused = bed.behind(&proxy, SECOND, "paused");
    bed.leads("paused");
    let other = bed.start(ACCOUNT, "other", &WEBHOOKS);
    other.is_ready(&bed.cluster);
    let (id, mut times) = (paused.id().to_string(), 0);
    proxy.strike(move |asked| {
        times += usize::from(nominates(asked));
        if nominates(asked) && times == 1 {
            let id = id.clone();
            aside(move || {
                let done = std::process::Command::new("kill").args(["-STOP", &id]).status().unwrap();
                assert!(done.success());
            });
        }
        None
    });
    bed.create(&json!({}));
    bed.leads("other");
    let mark = bed.cluster.audit_mark();
    bed.completes();
    paused.signal("-CONT");
    bed.cluster.wait_for("the paused one to notice", SOON, || paused.says("no longer leads").then_some(()));
    // Longer than a lease: it has had every occasion.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(written(&bed.cluster.audit_since(mark), SECOND), []);
    assert_eq!(bed.evicted(), ["w-0", "w-1"]);
    other.end();
}

#[test]
fn api_server_restarted() {
    let Some(bed) = bed() else { return };
    let controller = bed.start(ACCOUNT, "only", &WEBHOOKS);
    controller.is_ready(&bed.cluster);
    bed.create(&json!({}));
    bed.cluster.wait_for("an eviction", SOON, || (!bed.evicted().is_empty()).then_some(()));
    bed.cluster.restart("kube-apiserver");
    let ready = || {
        let done = bed.cluster.kubectl("admin", "get --raw /readyz");
        done.status.success().then_some(())
    };
    bed.cluster.wait_for("the API server again", SOON, ready);
    bed.completes();
    controller.end();
}

/// Every connection breaks at each eviction and each nomination, and watches begin only at the third attempt.
#[test]
fn watch_drops() {
    let Some(bed) = bed() else { return };
    let proxy = Arc::new(Proxy::start(&bed.cluster));
    let controller = bed.behind(&proxy, ACCOUNT, "only");
    let (again, mut lost) = (Arc::downgrade(&proxy), 0);
    proxy.strike(move |asked| {
        if evicts(asked) || nominates(asked) {
            lost = 2;
            let again = again.clone();
            // The request itself is answered before.
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                if let Some(proxy) = again.upgrade() {
                    proxy.cut();
                }
            });
        } else if asked.is_watch() && lost > 0 {
            lost -= 1;
            return Some(Fault::Lost);
        }
        None
    });
    bed.create(&json!({}));
    bed.completes();
    assert!(proxy.struck().len() >= 4, "watches were lost");
    controller.end();
}

/// The webhook is cut off in the middle: the replacement comes ungated and back to the node. It is recognised, what it
/// spoiled is said, and its mate stays where it is. Nobody waits for a webhook that is down.
#[test]
fn webhook_down() {
    let Some(bed) = bed() else { return };
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let relay = Relay::start(port);
    let proxy = Proxy::start(&bed.cluster);
    let kubeconfig = proxy.kubeconfig(&bed.cluster, ACCOUNT);
    let url = format!("https://127.0.0.1:{}", relay.port());
    let port = port.to_string();
    let words =
        ["--webhook-port", &port, "--webhook-url", &url, "--kubeconfig", kubeconfig.to_str().unwrap()];
    let controller = bed.start(ACCOUNT, "only", &words);
    controller.is_ready(&bed.cluster);
    let gate = relay.gate();
    proxy.strike(move |asked| {
        if evicts(asked) {
            gate.store(false, Ordering::Relaxed);
            // Connections that are kept are closed by then.
            aside(|| std::thread::sleep(Duration::from_millis(50)));
        }
        None
    });
    bed.create(&json!({}));
    let run = bed.ended();
    assert_eq!(reason(&run), "BenefitNotRealized", "{:#}", run["status"]);
    assert_eq!(run["status"]["result"]["freedNodeCount"], 0);
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.contains("a/w-0"), "{message}");
    bed.ends(&["w-0"], &[("w-0", "a-01"), ("w-1", "a-01")]);
    controller.end();
}

/// Somebody deletes the definition while a replacement waits at the gate: the run goes with it, but not before it has
/// tidied up.
#[test]
fn controller_uninstalled_mid_way() {
    let Some(bed) = bed() else { return };
    let proxy = Proxy::start(&bed.cluster);
    let controller = bed.behind(&proxy, ACCOUNT, "only");
    let (cluster, mut times) = (Arc::clone(&bed.cluster), 0);
    let last = Arc::new(Mutex::new(Value::Null));
    let noted = Arc::clone(&last);
    proxy.strike(move |asked| {
        times += usize::from(nominates(asked));
        if nominates(asked) && times == 1 {
            let cluster = Arc::clone(&cluster);
            aside(move || {
                cluster.kubectl_text("delete crd repackruns.repack.volcano.sh --wait=false");
            });
        }
        if asked.method == "PUT" && asked.path.ends_with("/repackruns/run/status") {
            *noted.lock().unwrap() = serde_json::from_str(&asked.body).unwrap();
        }
        None
    });
    bed.create(&json!({}));
    bed.cluster.wait_for("the definition to be gone", SOON, || {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/repackruns.repack.volcano.sh";
        (bed.cluster.get("admin", path).code == 404).then_some(())
    });
    let run = last.lock().unwrap().clone();
    assert_eq!(reason(&run), "ExecutionInterrupted", "{:#}", run["status"]);
    assert_eq!(run["status"]["result"]["movedCardCount"], 1);
    let stands = bed.cluster.wait_for("the pods", SOON, || {
        let pods = bed.pods();
        let bound = |pod: &Value| !pod["spec"]["nodeName"].is_null();
        pods.iter().all(bound).then_some(pods)
    });
    let mate = stands.iter().find(|pod| pod["metadata"]["name"] == "w-1").unwrap();
    assert_eq!(mate["spec"]["nodeName"], "a-01", "it was not evicted any more");
    let first = stands.iter().find(|pod| pod["metadata"]["name"] == "w-0").unwrap();
    let node = first["spec"]["nodeName"].as_str().unwrap().to_owned();
    bed.ends(&["w-0"], &[("w-0", &node), ("w-1", "a-01")]);
    drop(controller);
}

/// The server says when to come again, twice: nothing is sent before.
#[test]
fn answer_429_with_retry_after() {
    const WAIT: u64 = 4;
    let Some(bed) = bed() else { return };
    let proxy = Proxy::start(&bed.cluster);
    let controller = bed.behind(&proxy, ACCOUNT, "only");
    let tried: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&tried);
    proxy.strike(move |asked| {
        let mut noted = noted.lock().unwrap();
        if evicts(asked) && asked.path.contains("/w-0/") {
            noted.push(Instant::now());
            return (noted.len() <= 2).then_some(Fault::RetryAfter(WAIT));
        }
        None
    });
    bed.create(&json!({}));
    bed.completes();
    let tried = tried.lock().unwrap();
    assert_eq!(tried.len(), 3);
    assert!(tried.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(WAIT)), "{tried:?}");
    controller.end();
}

/// The server acts, and its answer comes when nobody waits for it any more: to the first of each kind of request.
#[test]
fn timeouts() {
    let Some(bed) = bed() else { return };
    let proxy = Proxy::start(&bed.cluster);
    let controller = bed.behind(&proxy, ACCOUNT, "only");
    let mut done: Vec<String> = Vec::new();
    proxy.strike(move |asked| {
        let kind = match asked.method.as_str() {
            "POST" if evicts(asked) => "eviction",
            "PUT" if asked.path.ends_with("/run/status") => "status",
            "PATCH" if nominates(asked) => "nomination",
            "PATCH" if asked.path.starts_with(PODS) => "gate",
            "PATCH" if asked.path.ends_with("/repackruns/run") => "label",
            _ => return None,
        };
        let of = format!("{kind} {}", asked.path);
        if done.contains(&of) {
            return None;
        }
        done.push(of);
        Some(Fault::AnswerLate(2))
    });
    bed.create(&json!({}));
    bed.completes();
    assert!(proxy.struck().len() >= 8, "{:?}", proxy.struck());
    controller.end();
}

/// Somebody makes a budget between plan and eviction: the server's own words stand in the log, it is not asked without end,
/// and the run goes on when the budget is gone.
#[test]
fn budget_that_blocks_for_a_while() {
    let Some(bed) = bed() else { return };
    let budget = "/apis/policy/v1/namespaces/a/poddisruptionbudgets/w";
    let proxy = Proxy::start(&bed.cluster);
    let controller = bed.behind(&proxy, ACCOUNT, "only");
    let (cluster, mut times) = (Arc::clone(&bed.cluster), 0);
    proxy.strike(move |asked| {
        times += usize::from(evicts(asked));
        if evicts(asked) && times == 1 {
            let cluster = Arc::clone(&cluster);
            aside(move || {
                cluster.create(&json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                    "metadata": {"namespace": "a", "name": "w"},
                    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "w"}}}}));
                cluster.wait_for("the budget to count", SOON, || {
                    (cluster.get("admin", budget).body["status"]["currentHealthy"] == 2).then_some(())
                });
            });
        }
        None
    });
    bed.create(&json!({}));
    let refused = || {
        let calls = bed.cluster.audit();
        calls.iter().filter(|call| call.resource == "pods/eviction" && call.code == 429).count()
    };
    bed.cluster.wait_for("a refusal", SOON, || (refused() > 0).then_some(()));
    std::thread::sleep(Duration::from_secs(5));
    // Two pods, each after two and after four seconds.
    assert!(refused() <= 6, "{} attempts in five seconds", refused());
    let words = "Cannot evict pod as it would violate the pod's disruption budget";
    assert!(controller.says(words), "{:?}", controller.log().last());
    bed.cluster.delete("admin", budget).ok();
    bed.completes();
    controller.end();
}

/// The pod is deleted and made anew under its name after it was looked at and before the eviction arrives: the new one
/// has another UID and stays.
#[test]
fn victim_replaced_between_the_look_and_the_eviction() {
    let Some(bed) = bed() else { return };
    let proxy = Proxy::start(&bed.cluster);
    let controller = bed.behind(&proxy, ACCOUNT, "only");
    let (cluster, mut times) = (Arc::clone(&bed.cluster), 0);
    proxy.strike(move |asked| {
        times += usize::from(evicts(asked));
        if evicts(asked) && times == 1 {
            let cluster = Arc::clone(&cluster);
            aside(move || {
                let path = format!("{PODS}/w-0");
                let uid = |pod: &Value| pod["metadata"]["uid"].clone();
                let old = uid(&cluster.get("admin", &path).body);
                cluster.delete("admin", &format!("{path}?gracePeriodSeconds=0"));
                cluster.wait_for("another w-0", SOON, || {
                    let new = cluster.get("admin", &path);
                    (new.code == 200 && uid(&new.body) != old).then_some(())
                });
            });
        }
        None
    });
    bed.create(&json!({}));
    let run = bed.ended();
    assert_eq!(bed.evicted(), ["w-1"], "the new pod of that name was evicted");
    assert_eq!(reason(&run), "ExecutionCompleted", "{:#}", run["status"]);
    // Either may stand on either: both ask for the same.
    let node = |name: &str| {
        let pods = bed.pods();
        let pod = pods.iter().find(|pod| pod["metadata"]["name"] == name).unwrap();
        pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned()
    };
    let nodes = bed.cluster.wait_for("both pods to stand", SOON, || {
        let nodes = [node("w-0"), node("w-1")];
        nodes.iter().all(|node| !node.is_empty()).then_some(nodes)
    });
    assert!(!nodes.contains(&"a-01".to_owned()), "{nodes:?}");
    bed.ends(&["w-1"], &[("w-0", &nodes[0]), ("w-1", &nodes[1])]);
    controller.end();
}
