//! A run that this process sees through itself: it takes part in the election, carries the run out if it leads, follows
//! it where another process does, and ends with it.
//!
//! May import: cli, api, live, controller

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use serde_json::Value;

use super::args::cluster::ClusterArgs;
use super::controller::serve;
use super::error::CliError;
use super::exit::Exit;
use super::output::Out;
use super::status::{failed, to_its_end};
use crate::api::RepackRun;
use crate::controller::Settings;
use crate::controller::run::Begins;
use crate::live::checks::holder;
use crate::live::{Connected, LiveError, connect::connect, runs};

/// Longest wait for gates, leases and the finalizer of a run that has ended to be gone.
const TIDY: Duration = Duration::from_mins(1);

/// How the run ended; or why its end was not waited for.
pub type Ended = Result<Option<RepackRun>, Exit>;

/// Creates the run, or takes the one of this name up that asks for the same, and sees it through. Where this process
/// leads, a run that is not waited for any longer is cancelled and cleaned up after, since nobody else would.
///
/// # Errors
/// The cluster refuses the run or goes away; a port can not be listened on; there is another run of this name.
pub fn see_through(
    run: &RepackRun,
    mut settings: Settings,
    limit: Option<Duration>,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Ended, CliError> {
    let name = run.metadata.name.clone().unwrap_or_default();
    settings.rules.begins = Begins::Only(name.clone());
    let (identity, namespace) = (settings.identity.clone(), settings.lease_namespace.clone());
    leading(settings, cluster, async |connected| {
        follow(connected, run, &name, (&identity, &namespace), limit, out).await
    })
}

/// Stops a run that nobody carries on, and cleans up after it.
///
/// # Errors
/// As for [`see_through`].
pub fn clean_up(
    name: &str,
    mut settings: Settings,
    limit: Option<Duration>,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Ended, CliError> {
    settings.rules.begins = Begins::Only(name.to_owned());
    leading(settings, cluster, async |connected| {
        let ended =
            to_its_end(connected, name, limit, out).await.map_err(|fault| failed(fault, "the run"))?.0;
        let _ = tokio::time::timeout(TIDY, runs::until_tidy(connected, name)).await;
        Ok(ended)
    })
}

/// Stands for election while the work goes on.
fn leading<T>(
    settings: Settings,
    cluster: &ClusterArgs,
    work: impl AsyncFnOnce(&Connected) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|fault| CliError::failure("cannot start an event loop").because(fault))?;
    let ended = runtime.block_on(async {
        let connected = connect(&cluster.connection()).await.map_err(|fault| failed(fault, "the run"))?;
        let (done, finished) = tokio::sync::oneshot::channel::<()>();
        let stop = async {
            // An error says that the work is over, too.
            let _ = finished.await;
        };
        let controller = serve(settings, connected.clone(), stop);
        tokio::pin!(controller);
        let ended = tokio::select! {
            biased;
            ended = &mut controller => {
                return Err(ended.err().unwrap_or_else(|| CliError::failure("the controller ended early")));
            }
            ended = work(&connected) => ended,
        };
        drop(done);
        controller.await?;
        ended
    });
    runtime.shutdown_background();
    ended
}

/// Creates the run and follows it.
async fn follow(
    connected: &Connected,
    run: &RepackRun,
    name: &str,
    (identity, namespace): (&str, &str),
    limit: Option<Duration>,
    out: &mut Out,
) -> Result<Ended, CliError> {
    let of_run = |fault: LiveError| failed(fault, "the run");
    if create(connected, run, name).await? {
        out.status(format!("repackrun.repack.volcano.sh/{name} created"));
    } else {
        out.status(format!("repackrun.repack.volcano.sh/{name} is taken up"));
    }
    let exit = match to_its_end(connected, name, limit, out).await.map_err(of_run)?.0 {
        Ok(ended) => {
            // Whoever leads cleans up; nothing is lost by not having waited for it.
            let _ = tokio::time::timeout(TIDY, runs::until_tidy(connected, name)).await;
            return Ok(Ok(ended));
        }
        Err(exit) => exit,
    };
    let leads = holder(connected, namespace).await.is_ok_and(|holder| {
        let holder = holder.map(|holder| holder.identity);
        holder.as_deref() == Some(identity)
    });
    if !leads {
        out.status(format!("The run goes on; kubectl repack status {name} -w follows it."));
        return Ok(Err(exit));
    }
    runs::cancel(connected, name).await.map_err(of_run)?;
    out.status(format!("Run {name} is stopped: nobody would carry it on."));
    let _ = to_its_end(connected, name, Some(TIDY), out).await.map_err(of_run)?;
    let _ = tokio::time::timeout(TIDY, runs::until_tidy(connected, name)).await;
    Ok(Err(exit))
}

/// Whether the run is new.
async fn create(connected: &Connected, run: &RepackRun, name: &str) -> Result<bool, CliError> {
    let Err(fault) = runs::create(connected, run).await else { return Ok(true) };
    if fault.code() != Some(409) {
        return Err(failed(fault, "the run"));
    }
    let found = runs::find(connected, name).await.map_err(|fault| failed(fault, "the run"))?;
    let value = |run: &RepackRun| serde_json::to_value(&run.spec).unwrap_or_default();
    if found.is_some_and(|found| says(&value(&found), &value(run))) {
        return Ok(false);
    }
    Err(CliError::failure(format!("there is a run {name} already, and it asks for something else"))
        .hint("another --name makes another run"))
}

/// Whether a stored object says all that another does; the server fills in defaults.
fn says(stored: &Value, wanted: &Value) -> bool {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| stored.get(key).is_some_and(|found| says(found, value)))
        }
        (stored, wanted) => stored == wanted,
    }
}

/// A name that no other run has.
pub fn new_name(prefix: &str) -> String {
    // The keys of std's hashers are random.
    let mut random = std::hash::RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    format!("{prefix}-{:08x}", random.finish() >> 32)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_run_may_say_more_than_was_asked_for_and_nothing_else() {
        let asked = json!({"mode": "Execute", "goals": [{"resource": "x.io/npu"}]});
        let mut stored = asked.clone();
        stored["planner"] = json!({"effort": 1});
        assert!(says(&stored, &asked) && !says(&asked, &stored));
        stored["mode"] = json!("DryRun");
        assert!(!says(&stored, &asked));
        assert_ne!(new_name("once"), new_name("once"));
    }
}
