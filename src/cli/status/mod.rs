//! `kubectl repack status`: the runs of a cluster, or one of them.
//!
//! `list` lays the table of runs out, `text` one run. Both read what the API server stores and nothing else.
//!
//! May import: cli, api, live

mod list;
pub(super) mod text;

use std::time::Duration;

use super::args::cluster::ClusterArgs;
use super::args::groups::Format;
use super::args::status::StatusArgs;
use super::error::CliError;
use super::exit::Exit;
use super::options::View;
use super::output::{Out, json, yaml};
use super::skew;
use crate::api::{Phase, RepackRun, nearest};
use crate::live::{Connected, LiveError, block_on, connect::connect, runs};

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

/// Prints the run whenever it changes.
fn watch(
    args: &StatusArgs,
    name: &str,
    cluster: &ClusterArgs,
    view: &View,
    out: &mut Out,
) -> Result<Exit, CliError> {
    let mut printed = String::new();
    let ended = block_on(async {
        let connected = connected(cluster).await?;
        skew::warn(skew::leader(&connected).await.as_ref(), out);
        let see = |run: Option<&RepackRun>| {
            let Some(run) = run else {
                return Some(Err(CliError::failure(format!("run {name} does not exist"))));
            };
            match one(run, view, jiff::Timestamp::now()) {
                Ok(text) if text == printed => {}
                Ok(text) => {
                    out.data(&text);
                    // Whoever reads along wants each state when it comes.
                    if let Err(fault) = out.finish() {
                        return Some(Err(CliError::from(fault)));
                    }
                    printed = text;
                }
                Err(fault) => return Some(Err(fault)),
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
        _ = tokio::signal::ctrl_c() => Ok(Err(Exit::Interrupted)),
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
    let mut told = String::new();
    let see = |run: Option<&RepackRun>| {
        let Some(run) = run else { return Some(None) };
        if let Some(status) = &run.status
            && status.message != told
            && end_of(run).is_none()
        {
            told.clone_from(&status.message);
            out.status(&status.message);
        }
        end_of(run).map(|_| Some(run.clone()))
    };
    let answer = until(limit, runs::follow(connected, name, see)).await?;
    Ok((answer, !told.is_empty()))
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
