//! The controller: plans RepackRuns and carries those of mode Execute out, as the one leader among its replicas.
//!
//! Pure parts: `lease` (who leads), `object` and `run` (a run and its next step), `runs` (their order), `planning` (the
//! engine's answer in the API's words), `ownership`, `event`. Thin parts: `elect` (the Lease), `write` (everything else
//! that is written), `work` (watches, and one step after the other), `execution` (drives what is in [`crate::execute`]),
//! `carry` (its requests), `webhook` and `trust` (its certificates), `serve` (probes and metrics). [`run()`] joins them.
//!
//! Invariant: nothing but the Lease is written without the leader's token, and what is written carries a precondition.
//!
//! May import: api, engine, plan, snapshot, fragmentation, execute

mod carry;
mod elect;
mod event;
mod execution;
pub mod install;
pub mod lease;
pub mod metrics;
mod object;
mod ownership;
mod planning;
pub mod run;
mod runs;
mod serve;
mod state;
mod trust;
pub mod webhook;
mod work;
mod write;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use thiserror::Error;
use tokio::sync::watch;

use carry::Carrier;
use elect::Elector;
use execution::Executor;
use install::{Reach, reached};
use lease::{LeaderToken, Timing};
use metrics::Metrics;
use ownership::Ownership;
use run::Rules;
use serve::{Answers, Serves, listen, serve};
pub use state::{ClusterState, Picture};
use trust::Keeper;
use webhook::Certificate;
use work::{Parts, Seen, Worker};
use write::Writer;

/// Between two computations of the fragmentation gauges.
const GAUGES_EVERY: Duration = Duration::from_mins(1);

/// What the process was told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Differs between any two processes.
    pub identity: String,
    /// Where the Lease is.
    pub lease_namespace: String,
    /// Lengths of lease and requests.
    pub timing: Timing,
    /// For runs.
    pub rules: Rules,
    /// Where the servers listen; none: everywhere.
    pub listen: Option<IpAddr>,
    /// Port of the probes; 0 is any; none: nobody probes.
    pub health_port: Option<u16>,
    /// Port of the metrics; 0 is any; none: nobody scrapes.
    pub metrics_port: Option<u16>,
    /// The webhooks; none: replacements are not gated.
    pub webhooks: Option<Webhooks>,
}

/// How the webhooks are served.
#[derive(Clone, Debug)]
pub struct Webhooks {
    /// Their port; 0 is any.
    pub port: u16,
    /// How the API server reaches them. A URL without a port gets theirs.
    pub reach: Reach,
    /// How long a certificate of theirs is good; it is renewed at half of that.
    pub lifetime: Duration,
}

/// Why the controller did not start.
#[derive(Debug, Error)]
pub enum ControllerError {
    /// A port can not be listened on.
    #[error("cannot listen on port {port} for {what}: {fault}")]
    Listen {
        /// Probes or metrics.
        what: &'static str,
        /// The port.
        port: u16,
        /// What the system says.
        fault: io::Error,
    },
    /// There is no certificate for the webhooks.
    #[error("{0}")]
    Certificate(String),
    /// A part of it ended by itself; the process is of no more use.
    #[error("{0} ended over a fault of its own")]
    Ended(&'static str),
}

/// Runs until `stop` comes; then finishes the write in flight, gives the lease back and returns.
///
/// # Errors
/// A port can not be listened on, or a part of the controller ended by itself.
pub async fn run(
    settings: Settings,
    client: Client,
    state: Arc<dyn ClusterState>,
    stop: impl Future<Output = ()>,
) -> Result<(), ControllerError> {
    let bind = async |what, port| {
        let listener = listen(settings.listen, port).await;
        listener.map_err(|fault| ControllerError::Listen { what, port, fault })
    };
    let port = |listener: &tokio::net::TcpListener| listener.local_addr().map_or(0, |address| address.port());
    let mut served = Vec::new();
    for (what, wanted, paths) in [
        ("probes", settings.health_port, Serves::Probes),
        ("metrics", settings.metrics_port, Serves::Metrics),
    ] {
        if let Some(wanted) = wanted {
            served.push((paths, bind(what, wanted).await?));
        }
    }
    let port_of = |wanted| served.iter().find(|(paths, _)| *paths == wanted).map(|(_, bound)| port(bound));
    tracing::info!(
        identity = settings.identity,
        lease_namespace = settings.lease_namespace,
        lease_seconds = settings.timing.lease.as_secs(),
        health_port = port_of(Serves::Probes),
        metrics_port = port_of(Serves::Metrics),
        executes = settings.rules.execute_cooldown.is_some(),
        "the controller begins"
    );

    let metrics = Arc::new(Metrics::new());
    let (stop_work, stopping) = watch::channel(false);
    let (stop_leading, leaving) = watch::channel(false);
    let (elector, tokens) = Elector::new(
        client.clone(),
        &settings.lease_namespace,
        &settings.identity,
        settings.timing,
        leaving,
        Arc::clone(&metrics),
    );
    let limit = settings.timing.request;
    let identity = settings.identity.clone();
    let writer = Writer::new(&client, tokens.clone(), limit, Arc::clone(&metrics), identity);
    let (found, owner) = watch::channel(Ownership::Unknown);
    let (expected, awaited) = watch::channel(None);
    let mut beside = tokio::task::JoinSet::new();
    let (mut reach, mut keeper) = (None, None);
    let (pem, known_pem) = watch::channel(String::new());
    let (trust, trusted) = watch::channel(settings.webhooks.is_none());
    if let Some(webhooks) = &settings.webhooks {
        let listener = bind("webhooks", webhooks.port).await?;
        let (known, names) = reached(&webhooks.reach, port(&listener));
        let lifetime = webhooks.lifetime;
        let certificate = Certificate::new(names.clone(), lifetime).map_err(ControllerError::Certificate)?;
        tracing::info!(webhook_port = port(&listener), "the webhooks are served");
        pem.send_replace(certificate.pem.clone());
        reach = Some(known);
        let (served, serves) = watch::channel(certificate.config);
        beside.spawn(webhook::serve(listener, serves, awaited, Arc::clone(&metrics)));
        let asking = trust::until_trusted(client.clone(), certificate.pem);
        beside.spawn(async move {
            asking.await;
            trust.send_replace(true);
        });
        let (client, identity) = (client.clone(), settings.identity.clone());
        let lease = carry::lease_path(&settings.lease_namespace);
        keeper = Some(Keeper { client, lease, identity, names, lifetime, served, pem });
    }
    let carrier = Carrier::new(carry::Parts {
        client: client.clone(),
        tokens: tokens.clone(),
        limit,
        metrics: Arc::clone(&metrics),
        identity: settings.identity.clone(),
        lease_namespace: settings.lease_namespace.clone(),
        reach,
        pem: known_pem,
    });
    if let Some(keeper) = keeper {
        beside.spawn(keeper.keep());
    }
    // Twice per lease: a replica that came or went is known soon.
    let trust_every = settings.timing.lease / 2;
    let executor = Executor::new(execution::Parts {
        carrier,
        state: Arc::clone(&state),
        rules: settings.rules.clone(),
        metrics: Arc::clone(&metrics),
        trust_every,
    });
    beside.spawn(ownership::follow(client.clone(), Arc::clone(&metrics), found));
    let (worker, seen) = Worker::new(Parts {
        client,
        state: Arc::clone(&state),
        rules: settings.rules,
        writer,
        tokens: tokens.clone(),
        owner,
        stop: stopping,
        metrics: Arc::clone(&metrics),
        executor,
        expected,
    });
    let health = Health { state: Arc::clone(&state), seen, trusted, metrics: Arc::clone(&metrics) };
    let health: Arc<dyn Answers> = Arc::new(health);

    for (paths, listener) in served {
        beside.spawn(serve(listener, paths, Arc::clone(&health)));
    }
    beside.spawn(gauges(state, tokens, metrics));
    let mut electing = tokio::spawn(elector.run());
    let mut working = tokio::spawn(worker.work());

    let ended = tokio::select! {
        () = stop => None,
        _ = &mut working => Some("the worker"),
        _ = &mut electing => Some("the election"),
    };
    tracing::info!("stopping");
    // The lease goes last: until then nobody else writes.
    stop_work.send_replace(true);
    if ended != Some("the worker") {
        let _ = working.await;
    }
    stop_leading.send_replace(true);
    if ended != Some("the election") {
        let _ = electing.await;
    }
    tracing::info!("stopped");
    ended.map_or(Ok(()), |part| Err(ControllerError::Ended(part)))
}

/// What the probes and Prometheus are told.
struct Health {
    state: Arc<dyn ClusterState>,
    seen: watch::Receiver<Seen>,
    trusted: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
}

impl Answers for Health {
    /// Leaders and followers are ready alike: a follower has everything to take over.
    fn unready(&self) -> Vec<String> {
        let seen = self.seen.borrow().clone();
        let mut missing = Vec::new();
        if seen.ownership != Ownership::Ours {
            missing.push(seen.ownership.to_string());
        } else if !seen.runs {
            missing.push("the list of RepackRuns has not arrived yet".to_owned());
        }
        if !self.state.synced() {
            missing.push("the lists of the cluster have not all arrived yet".to_owned());
        }
        if !*self.trusted.borrow() {
            missing.push("the webhook configuration does not name this replica's certificate yet".to_owned());
        }
        if let Some(pod) = self.state.other_engine() {
            missing.push(other_engine(&pod));
        }
        missing
    }

    fn metrics(&self) -> String {
        self.metrics.text()
    }
}

/// Why nothing is done beside another engine; a sentence without a full stop.
fn other_engine(pod: &str) -> String {
    format!(
        "another repack engine runs in this cluster, pod {pod}, and would answer the same runs; \
         stop one of the two"
    )
}

/// Keeps the fragmentation gauges, as leader; a follower tells of none.
async fn gauges(
    state: Arc<dyn ClusterState>,
    mut tokens: watch::Receiver<Option<LeaderToken>>,
    metrics: Arc<Metrics>,
) {
    loop {
        if tokens.wait_for(Option::is_some).await.is_err() {
            return;
        }
        if state.synced() {
            let of_state = Arc::clone(&state);
            let work = move || of_state.snapshot().map(|(snapshot, _)| planning::rates(&snapshot));
            match tokio::task::spawn_blocking(work).await {
                Ok(Ok(rates)) => metrics.fragmentation(&rates),
                Ok(Err(why)) => tracing::warn!("the fragmentation is unknown: {why}"),
                Err(fault) => tracing::error!("computing the fragmentation ended over a fault: {fault}"),
            }
            tokio::select! {
                () = tokio::time::sleep(GAUGES_EVERY) => {}
                _ = tokens.wait_for(Option::is_none) => metrics.fragmentation(&[]),
            }
        } else {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
