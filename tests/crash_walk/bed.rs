//! Controllers, each behind a proxy of its own that counts and strikes, and the balancer before their webhooks.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use crate::cluster::controller::{ACCOUNT, Controller, LEASE, RUNS};
use crate::cluster::objects::{ASCEND, Pool};
use crate::cluster::process::is_alive;
use crate::cluster::server::{Asked, Balancer, Fault, Proxy};
use crate::cluster::{Cluster, Options, played};
use crate::fixture::{Fixture, NAMESPACE, NODES, SOON};

static CLUSTER: LazyLock<Option<Arc<Cluster>>> = LazyLock::new(|| {
    let cluster = Cluster::start(&Options { users: &[ACCOUNT], ..Options::default() })?;
    cluster.install_executor();
    cluster.namespace(NAMESPACE);
    cluster.nodes(&Pool { prefix: "w-", count: NODES.len(), ..Pool::default() });
    let cluster = Arc::new(cluster);
    played::play(&cluster);
    Some(cluster)
});

/// What goes wrong at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    DiesBefore,
    DiesAfter,
    AnswerLost,
    RequestLost,
}

pub const DEATHS: [Death; 4] = [Death::DiesBefore, Death::DiesAfter, Death::AnswerLost, Death::RequestLost];

/// The requests of one run that change something, in their order, and the one that is struck.
#[derive(Default)]
struct Walk {
    counts: bool,
    asked: Vec<String>,
    strike: Option<(usize, Death)>,
    struck: bool,
}

/// A controller and its way to the server.
struct Replica {
    name: String,
    controller: Controller,
    _proxy: Proxy,
}

/// Replicas beside the cluster.
pub struct Bed {
    replicas: Vec<Replica>,
    /// How many there should be.
    wanted: usize,
    started: usize,
    balancer: Balancer,
    walk: Arc<Mutex<Walk>>,
    pub cluster: Arc<Cluster>,
    _alone: MutexGuard<'static, ()>,
}

/// A cluster with so many replicas; none: there is no Go.
pub fn bed(wanted: usize) -> Option<Bed> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = Arc::clone(CLUSTER.as_ref()?);
    let mut bed = Bed {
        replicas: Vec::new(),
        wanted,
        started: 0,
        balancer: Balancer::start(),
        walk: Arc::default(),
        cluster,
        _alone: alone,
    };
    bed.start_missing();
    bed.are_ready();
    Some(bed)
}

/// The kind of a request that changes something; none for the election and for questions.
fn kind(asked: &Asked) -> Option<String> {
    let verb = match asked.method.as_str() {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => return None,
    };
    let parts: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
    let parts = &parts[if parts[0] == "api" { 2 } else { 3 }..];
    let parts = if parts[0] == "namespaces" { &parts[2..] } else { parts };
    let resource = parts[0];
    let of_execution = asked.body.contains("repack.volcano.sh/last-execution");
    if resource == "leases" && !(verb == "patch" && of_execution) || asked.path.contains("authorization") {
        return None;
    }
    let sub = parts.get(2).map(|sub| format!("/{sub}")).unwrap_or_default();
    Some(format!("{verb} {resource}{sub}"))
}

impl Walk {
    /// What happens to a request of the process with this id.
    fn strikes(&mut self, asked: &Asked, process: u32) -> Option<Fault> {
        let kind = kind(asked).filter(|_| self.counts)?;
        // What a leader tidies up when it begins is none of the run's.
        if self.asked.is_empty() && kind != "update repackruns/status" {
            return None;
        }
        let at = self.asked.len();
        self.asked.push(kind);
        let (_, death) = self.strike.filter(|(wanted, _)| *wanted == at)?;
        self.struck = true;
        Some(match death {
            Death::DiesBefore => Fault::Killed(process),
            Death::DiesAfter => Fault::KilledAfter(process),
            Death::AnswerLost => Fault::AnswerLost,
            Death::RequestLost => Fault::Lost,
        })
    }
}

impl Bed {
    /// Starts replicas until there are enough.
    fn start_missing(&mut self) {
        while self.replicas.len() < self.wanted {
            self.started += 1;
            let proxy = Proxy::start(&self.cluster);
            let kubeconfig = proxy.kubeconfig(&self.cluster, ACCOUNT);
            let url = format!("https://127.0.0.1:{}", self.balancer.port());
            let more = [
                ["--kubeconfig", kubeconfig.to_str().unwrap()],
                ["--webhook-url", &url],
                ["--webhook-port", "0"],
            ];
            let name = format!("replica-{}", self.started);
            let program = env!("CARGO_BIN_EXE_kubectl-repack").as_ref();
            let controller =
                Controller::executing(&self.cluster, program, ACCOUNT, &name, more.as_flattened());
            let (walk, process) = (Arc::clone(&self.walk), controller.id());
            proxy.strike(move |asked| {
                walk.lock().unwrap_or_else(PoisonError::into_inner).strikes(asked, process)
            });
            self.replicas.push(Replica { name, controller, _proxy: proxy });
        }
    }

    /// Replaces replicas that were killed.
    fn look_after(&mut self) {
        self.replicas.retain(|replica| is_alive(replica.controller.id()));
        self.start_missing();
        let ports = self.replicas.iter().filter_map(|replica| replica.controller.port("webhook_port"));
        self.balancer.passes_to(ports.collect());
    }

    /// Waits until all replicas are ready, which includes that the API server trusts their webhooks.
    fn are_ready(&mut self) {
        let cluster = Arc::clone(&self.cluster);
        cluster.wait_for("the replicas to be ready", SOON, || {
            self.look_after();
            let ready = |replica: &Replica| replica.controller.asked("health_port", "/readyz").0 == 200;
            self.replicas.iter().all(ready).then_some(())
        });
        // A pod that is created while the process dies that answers for it comes without a gate. Here others answer than
        // the one that leads and dies; what happens without them is another test's.
        let holder = cluster.get("admin", LEASE).ok()["spec"]["holderIdentity"].to_string();
        self.replicas.sort_by_key(|replica| holder.contains(&format!("{}_", replica.name)));
        self.look_after();
        self.balancer.cut();
    }

    /// Carries out one run with what goes wrong at one of its requests, and looks whether everything is right
    /// afterwards; the requests that it took, and whether that one was among them. With one replica the webhooks fail while it is
    /// dead, and pods come back without a gate.
    pub fn carry_out(&mut self, fixture: Fixture, strike: Option<(usize, Death)>) -> (Vec<String>, bool) {
        let cluster = Arc::clone(&self.cluster);
        cluster.refill(fixture);
        self.are_ready();
        let mark = cluster.audit_mark();
        let walk = Walk { counts: true, strike, ..Walk::default() };
        *self.walk.lock().unwrap_or_else(PoisonError::into_inner) = walk;
        cluster.create(&json!({
            "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": "walk"},
            "spec": {"mode": "Execute", "goals": [{"resource": ASCEND}]},
        }));
        let place = format!("{fixture:?}, {strike:?}");
        let path = format!("{RUNS}/walk");
        let run = cluster.wait_for(&format!("the run to end ({place})"), SOON, || {
            self.look_after();
            let run = cluster.get("admin", &path).body;
            let about = &run["metadata"];
            let closed = about["finalizers"].is_null() && about["labels"].is_null();
            let ended = matches!(run["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            (ended && closed).then_some(run)
        });
        let walk = std::mem::take(&mut *self.walk.lock().unwrap_or_else(PoisonError::into_inner));
        cluster.is_right(fixture, &run, mark, &place, self.wanted > 1);
        cluster.delete("admin", &path).ok();
        (walk.asked, walk.struck)
    }
}
