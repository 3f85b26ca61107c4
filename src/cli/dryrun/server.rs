//! A dry run as an object of the cluster: created, waited for, shown.
//!
//! May import: cli, api, live, plan

use std::time::Duration;

use crate::api::{ObjectMeta, RepackRun};
use crate::cli::args::cluster::ClusterArgs;
use crate::cli::args::dryrun::DryRunArgs;
use crate::cli::cluster::failed as failed_to_reach;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::options::PlanOptions;
use crate::cli::output::Out;
use crate::cli::skew;
use crate::cli::status::{connected, failed, to_its_end};
use crate::live::{block_on, runs};
use crate::plan::request::Movability;

/// Seconds after which a run that nobody took up is worth a word.
const UNTOUCHED: Duration = Duration::from_secs(10);
/// Seconds to wait for the end of a run.
const PATIENCE: i64 = 300;

/// Whether the cluster knows runs.
///
/// # Errors
/// It can not be reached.
pub fn is_there(cluster: &ClusterArgs) -> Result<bool, CliError> {
    block_on(async { runs::are_served(&connected(cluster).await?).await }).map_err(failed_to_reach)
}

/// Flags whose meaning the controller decides can not be part of a run.
///
/// # Errors
/// A usage error that names the first of them.
pub fn only_here(args: &DryRunArgs, options: &PlanOptions) -> Result<(), CliError> {
    let flag = if args.plan.now.is_some() {
        "--now"
    } else if options.movability == Movability::default() {
        return Ok(());
    } else {
        "a flag about which pods may move"
    };
    let sentence = format!("{flag} has no effect on a run of the cluster, whose controller decides that");
    Err(CliError::usage(sentence).hint("--local plans on this machine, with these flags"))
}

/// Creates the run and waits for its end. Says on standard error what it is called and how to follow it.
///
/// # Errors
/// The cluster refuses the run or goes away, or the run is deleted.
pub fn evaluate(
    mut run: RepackRun,
    args: &DryRunArgs,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<Result<RepackRun, Exit>, CliError> {
    let ObjectMeta { name, labels, annotations, .. } = run.metadata;
    let generate_name = name.is_none().then(|| "dryrun-".to_owned());
    run.metadata = ObjectMeta { name, generate_name, labels, annotations, ..ObjectMeta::default() };
    run.status = None;
    let limit = Duration::from_secs(u64::try_from(args.timeout.unwrap_or(PATIENCE)).unwrap_or(0));
    let mut named = String::new();
    let ended = block_on(async {
        let connected = connected(cluster).await?;
        let created = runs::create(&connected, &run).await?;
        named = created.metadata.name.unwrap_or_default();
        out.status(format!("repackrun.repack.volcano.sh/{named} created"));
        skew::warn(skew::leader(&connected).await.as_ref(), out);
        let started = std::time::Instant::now();
        let (answer, told) = to_its_end(&connected, &named, Some(limit), out).await?;
        Ok((answer, started.elapsed() >= UNTOUCHED, !told))
    });
    let (answer, long, untouched) = ended.map_err(|fault| failed(fault, "the run"))?;
    match answer {
        Ok(Some(run)) => Ok(Ok(run)),
        Ok(None) => Err(CliError::failure(format!("run {named} was deleted before it finished"))),
        Err(exit) => {
            if exit == Exit::TimedOut && untouched && (long || limit < UNTOUCHED) {
                out.warning(format!(
                    "no controller has taken run {named} up; --local plans on this machine."
                ));
            }
            out.status(format!("The run goes on; kubectl repack status {named} -w follows it."));
            Ok(Err(exit))
        }
    }
}
