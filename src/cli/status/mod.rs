//! `kubectl repack status`: the runs of a cluster, or one of them.
//!
//! `list` lays the table of runs out, `text` one run, `tree` how far an execution is. All read what the API server stores
//! and nothing else.
//!
//! May import: cli, api, live

mod list;
pub(super) mod text;
mod tree;

use std::time::{Duration, Instant};

use super::args::cluster::ClusterArgs;
use super::args::groups::Format;
use super::args::status::StatusArgs;
use super::error::CliError;
use super::exit::Exit;
use super::options::View;
use super::output::{Out, json, printable, yaml};
use super::skew;
use crate::api::{Phase, RepackRun, nearest};
use crate::live::{Connected, LiveError, block_on, connect::connect, runs};
use tree::Told;

/// Prints the runs or the run. With `--watch` the exit code is that of the run.
pub fn run(args: &StatusArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let now = jiff::Timestamp::now();
    match (&args.name, args.watch) {
        (None, true) => {
            Err(CliError::usage("a watch follows one run").hint("kubectl repack status NAME --watch"))
        }
        (None, false) => {
            let runs = block_on(async {
                let connected = connected(cluster).await?;
                Ok((runs::all(&connected).await?, skew::leader(&connected).await))
            });
            let (runs, leader) = runs.map_err(|fault| failed(fault, "the runs"))?;
            skew::warn(leader.as_ref(), out);
            out.data(&list::list(&runs, &view, now)?);
            if runs.is_empty() && matches!(view.format, Format::Table | Format::Wide) {
                out.status("No runs found.");
            }
            Ok(Exit::Done)
        }
        (Some(name), false) => {
            let found = block_on(async {
                let connected = connected(cluster).await?;
                let found = runs::find(&connected, name).await?;
                let others = if found.is_none() { runs::all(&connected).await? } else { Vec::new() };
                Ok((found, others, skew::leader(&connected).await))
            });
            let (found, others, leader) = found.map_err(|fault| failed(fault, name))?;
            skew::warn(leader.as_ref(), out);
            let found = found.ok_or_else(|| unknown(name, &others))?;
            out.data(&one(&found, &view, now)?);
            Ok(Exit::Done)
        }
        (Some(name), true) => watch(args, name, cluster, &view, out),
    }
}

/// Follows the run to its end. For people: on a terminal how far it is, drawn anew; elsewhere a line per change. At the end
/// the whole run. As an object: the whole object whenever it changes.
fn watch(
    args: &StatusArgs,
    name: &str,
    cluster: &ClusterArgs,
    view: &View,
    out: &mut Out,
) -> Result<Exit, CliError> {
    let mut shown = Shown { printed: String::new(), told: Told::default(), drawn: None };
    let ended = block_on(async {
        let connected = connected(cluster).await?;
        skew::warn(skew::leader(&connected).await.as_ref(), out);
        let see = |run: Option<&RepackRun>| {
            let Some(run) = run else {
                return Some(Err(CliError::failure(format!("run {name} does not exist"))));
            };
            if let Err(fault) = shown.show(run, view, out) {
                return Some(Err(fault));
            }
            end_of(run).map(Ok)
        };
        let limit = args.timeout.and_then(|seconds| u64::try_from(seconds).ok());
        until(limit.map(Duration::from_secs), runs::follow(&connected, name, see)).await
    });
    ended.map_err(|fault| failed(fault, name))?.unwrap_or_else(|exit| {
        if exit == Exit::Interrupted {
            out.status(format!("The run goes on; kubectl repack status {name} -w follows it."));
        }
        Ok(exit)
    })
}

/// Least time between two drawings.
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(200);

/// What a watch has shown.
struct Shown {
    printed: String,
    told: Told,
    /// When the picture was drawn last, on a terminal.
    drawn: Option<Instant>,
}

impl Shown {
    fn show(&mut self, run: &RepackRun, view: &View, out: &mut Out) -> Result<(), CliError> {
        let now = jiff::Timestamp::now();
        let for_people = matches!(view.format, Format::Table | Format::Wide) && end_of(run).is_none();
        if for_people && let Some(tree) = tree::tree(run, view, now) {
            if !out.is_terminal() {
                for line in self.told.news(run) {
                    out.data(&format!("{}\n", printable(&line)));
                }
            } else if tree != self.printed {
                // The eye follows no more than a few drawings a second, and some terminals no more either.
                if let Some(drawn) = self.drawn {
                    std::thread::sleep(BETWEEN_DRAWINGS.saturating_sub(drawn.elapsed()));
                }
                out.clear();
                out.data(&tree);
                self.drawn = Some(Instant::now());
                self.printed = tree;
            }
        } else {
            let text = one(run, view, now)?;
            if text != self.printed {
                if self.drawn.is_some() {
                    out.clear();
                }
                out.data(&text);
                self.printed = text;
            }
        }
        // Whoever reads along wants each state when it comes.
        out.finish().map_err(CliError::from)
    }
}

/// The answer of the work, or why it was not waited for: the time was over or a person stopped it.
pub(super) async fn until<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, LiveError>>,
) -> Result<Result<T, Exit>, LiveError> {
    let over = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        answer = work => answer.map(Ok),
        () = over => Ok(Err(Exit::TimedOut)),
        () = asked_to_end() => Ok(Err(Exit::Interrupted)),
    }
}

/// Returns when a person or the system asks the process to end.
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminated) => {
                terminated.recv().await;
            }
            // Not to be heard of: the system ends the process as it does any other.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = terminated => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// Follows a run to its end and says on standard error what it is at. The run, none when it was deleted, or why it was not
/// waited for; and whether it said anything.
pub(super) async fn to_its_end(
    connected: &Connected,
    name: &str,
    limit: Option<Duration>,
    out: &mut Out,
) -> Result<(Result<Option<RepackRun>, Exit>, bool), LiveError> {
    let mut told = Told::default();
    let see = |run: Option<&RepackRun>| {
        let Some(run) = run else { return Some(None) };
        if end_of(run).is_none() {
            for line in told.news(run) {
                out.status(line);
            }
        }
        end_of(run).map(|_| Some(run.clone()))
    };
    let answer = until(limit, runs::follow(connected, name, see)).await?;
    Ok((answer, told.said_anything()))
}

/// How a finished run ends the command that waits for it.
pub(super) fn end_of(run: &RepackRun) -> Option<Exit> {
    match run.status.as_ref()?.phase {
        Phase::Succeeded => Some(Exit::Done),
        Phase::Failed => Some(Exit::NotAchieved),
        Phase::Pending | Phase::Running => None,
    }
}

/// One run in the asked format.
pub(super) fn one(run: &RepackRun, view: &View, now: jiff::Timestamp) -> Result<String, CliError> {
    let written = match view.format {
        Format::Json => json(run),
        Format::Yaml => yaml(run),
        Format::Name => Ok(format!("{}\n", list::resource_name(run))),
        Format::Table | Format::Wide => Ok(text::run(run, view, now)?),
    };
    written.map_err(|fault| CliError::failure("cannot write the run").because(fault))
}

/// There is no run of that name.
pub(super) fn unknown(name: &str, others: &[RepackRun]) -> CliError {
    let error = CliError::failure(format!("there is no run {name}"));
    let names: Vec<&str> = others.iter().filter_map(|run| run.metadata.name.as_deref()).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => error.hint(format!("did you mean {near}")),
        None => error.hint("kubectl repack status lists the runs"),
    }
}

/// Runs could not be read; without their CRD there are none.
pub(super) fn failed(fault: LiveError, what: &str) -> CliError {
    let absent = fault.code() == Some(404);
    let error = CliError::failure(format!("cannot read {what}")).because(fault);
    if absent {
        error.hint(
            "RepackRuns are not installed in this cluster; kubectl repack dryrun --local plans without them",
        )
    } else {
        error
    }
}

/// A client for the cluster of the connection flags.
pub(super) async fn connected(cluster: &ClusterArgs) -> Result<Connected, LiveError> {
    connect(&cluster.connection()).await
}
