//! `kubectl-repack controller`: connects, follows the cluster and runs until it is told to stop.
//!
//! May import: cli, api, live, controller, snapshot

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use kube::core::DynamicObject;

use super::args::cluster::ClusterArgs;
use super::args::controller::{ControllerArgs, ExecutionArgs, ProcessArgs};
use super::args::groups::{BlockedPdb, MovabilityArgs};
use super::error::CliError;
use super::options::movability;
use super::output::{Out, log};
use crate::api::OnBlockedPdb;
use crate::api::names::{CONTROLLER_LEASE, VOLCANO_ENGINE};
use crate::controller::install::Reach;
use crate::controller::lease::Timing;
use crate::controller::run::Rules;
use crate::controller::{self, ClusterState, Picture, Settings, Webhooks};
use crate::live::cache::Cache;
use crate::live::{self, Connected};
use crate::snapshot::Snapshot;
use crate::snapshot::read::LeftOut;

/// Runs the controller.
pub fn run(args: &ControllerArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<(), CliError> {
    log::start(out.verbosity(), std::env::var("RUST_LOG").ok().as_deref());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|fault| CliError::failure("cannot start an event loop").because(fault))?;
    let connection = cluster.connection();
    let result = runtime.block_on(async {
        let stop = stop().map_err(|fault| CliError::failure("cannot listen for signals").because(fault))?;
        let failed = |fault: live::LiveError| CliError::failure(fault.to_string());
        let connected = live::connect::connect(&connection).await.map_err(failed)?;
        serve(settings(args), connected, stop).await
    });
    // A plan that nobody waits for any more does not hold up the end.
    runtime.shutdown_background();
    result
}

/// Follows the cluster and runs the controller until `stop` comes.
///
/// # Errors
/// Those of [`controller::run`].
pub(super) async fn serve(
    settings: Settings,
    connected: Connected,
    stop: impl Future<Output = ()>,
) -> Result<(), CliError> {
    let cache = Cache::default();
    let client = connected.once.clone();
    let following = tokio::spawn({
        let cache = cache.clone();
        async move { cache.follow(&connected).await }
    });
    let ran = controller::run(settings, client, Arc::new(Followed(cache)), stop).await;
    following.abort();
    ran.map_err(|fault| CliError::failure(fault.to_string()))
}

/// The cache as the controller asks for it.
struct Followed(Cache);

impl ClusterState for Followed {
    fn synced(&self) -> bool {
        self.0.synced()
    }

    fn other_engine(&self) -> Option<String> {
        self.0.running_pod_of(VOLCANO_ENGINE)
    }

    fn snapshot(&self) -> Result<(Snapshot, Vec<LeftOut>), String> {
        self.0.snapshot().map_err(|fault| fault.to_string())
    }

    fn snapshot_with(&self, pods: &[DynamicObject]) -> Result<Snapshot, String> {
        self.0.snapshot_with(pods).map_err(|fault| fault.to_string())
    }

    fn picture(&self) -> Result<Picture, String> {
        let (snapshot, left_out, pods) = self.0.picture().map_err(|fault| fault.to_string())?;
        let pod = Box::new(move |namespace: &str, name: &str| {
            let text = pods.get(&(namespace.to_owned(), name.to_owned()))?.as_ref().ok()?;
            serde_json::from_str(text).ok()
        });
        Ok(Picture { snapshot, left_out, pod })
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }
}

fn settings(args: &ControllerArgs) -> Settings {
    let mut settings = led_by(&args.process, &args.execution, &args.movability);
    settings.rules.check_creator = args.check_creator;
    settings.rules.default_resource.clone_from(&args.default_resource);
    if args.dry_run_only {
        settings.rules.execute_cooldown = None;
        settings.webhooks = None;
    }
    settings.health_port = Some(args.ports.health_port);
    settings.metrics_port = Some(args.ports.metrics_port);
    settings
}

/// What a process that may lead is told by the flags that all of them have.
pub(super) fn led_by(process: &ProcessArgs, execution: &ExecutionArgs, movable: &MovabilityArgs) -> Settings {
    let mut movability = movability(movable);
    if let Some(blocked) = movable.on_blocked_pdb {
        movability.on_blocked_pdb = match blocked {
            BlockedPdb::Fail => OnBlockedPdb::Fail,
            BlockedPdb::Wait => OnBlockedPdb::Wait,
        };
    }
    let reach = match &execution.webhook_url {
        Some(url) => Reach::Url(url.trim_end_matches('/').to_owned()),
        None => Reach::Service(process.lease_namespace.clone(), CONTROLLER_LEASE.to_owned()),
    };
    let execute_cooldown = Some(execution.execute_cooldown);
    let lifetime = Duration::from_secs(execution.webhook_certificate_lifetime.unsigned_abs().max(8));
    Settings {
        identity: identity(),
        lease_namespace: process.lease_namespace.clone(),
        timing: Timing::of_lease(Duration::from_secs(process.lease_duration.unsigned_abs())),
        rules: Rules { movability, execute_cooldown, ..Rules::default() },
        listen: process.listen,
        health_port: None,
        metrics_port: None,
        webhooks: (!execution.no_webhooks).then_some(Webhooks {
            port: execution.webhook_port,
            reach,
            lifetime,
        }),
    }
}

/// The host's or pod's name, and a number that differs in every process: a container that starts again in the same pod
/// is another candidate.
fn identity() -> String {
    let named = ["POD_NAME", "HOSTNAME"].iter().find_map(|name| std::env::var(name).ok());
    let host = named.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = host.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    // The keys of std's hashers are random.
    let mut random = std::hash::RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    format!("{}_{:016x}", host.as_deref().unwrap_or("controller"), random.finish())
}

/// What ends the process in good order: SIGTERM and SIGINT.
fn stop() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_of_one_host_are_two_candidates() {
        let (one, other) = (identity(), identity());
        assert_ne!(one, other);
        assert_eq!(one.rsplit_once('_').map(|(host, _)| host), other.rsplit_once('_').map(|(host, _)| host));
    }
}
