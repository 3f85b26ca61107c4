//! `kubectl repack cancel`: asks a run to stop; with `--force` cleans up after it where nobody else would.
//!
//! May import: cli, api, live, controller

use std::time::Duration;

use crate::cli::args::cluster::ClusterArgs;
use crate::cli::args::controller::{ExecutionArgs, ProcessArgs};
use crate::cli::args::execute::CancelArgs;
use crate::cli::args::groups::MovabilityArgs;
use crate::cli::controller::led_by;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::in_process::clean_up;
use crate::cli::output::Out;
use crate::cli::status::{connected, end_of, failed, unknown};
use crate::live::checks::living_leader;
use crate::live::{block_on, runs};

/// A clean-up waits for nothing but its own requests.
const LONGEST: Duration = Duration::from_mins(10);

/// Stops a run.
pub fn cancel(args: &CancelArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    let name = &args.name;
    let found = block_on(async {
        let connected = connected(cluster).await?;
        let found = runs::find(&connected, name).await?;
        let open = found.as_ref().is_some_and(|run| end_of(run).is_none());
        if open {
            runs::cancel(&connected, name).await?;
        }
        let others = if found.is_none() { runs::all(&connected).await? } else { Vec::new() };
        Ok((found, open, others))
    });
    let (found, open, others) = found.map_err(|fault| failed(fault, name))?;
    if found.is_none() {
        return Err(unknown(name, &others));
    }
    if args.force {
        return force(args, cluster, out);
    }
    if open {
        out.status(format!("repackrun.repack.volcano.sh/{name} is asked to stop"));
        out.status(format!("kubectl repack status {name} -w shows how it ends."));
    } else {
        out.status(format!("Run {name} has ended already."));
    }
    Ok(Exit::Done)
}

/// Ends the run and cleans up from this process.
fn force(args: &CancelArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    let namespace = args.lease_namespace.clone();
    let lives = block_on(async { living_leader(&connected(cluster).await?, &namespace).await });
    let lives = lives
        .map_err(|fault| CliError::failure("cannot find out whether a controller lives").because(fault))?;
    if let Some(leader) = lives {
        out.status(format!("A controller lives and does it: {} leads.", leader.identity));
        return Ok(Exit::Done);
    }
    let process =
        ProcessArgs { lease_namespace: namespace, lease_duration: args.lease_duration, listen: None };
    let execution = ExecutionArgs {
        execute_cooldown: 0,
        webhook_port: 0,
        webhook_url: None,
        webhook_certificate_lifetime: 86_400,
        no_webhooks: true,
    };
    let settings = led_by(&process, &execution, &MovabilityArgs::default());
    match clean_up(&args.name, settings, Some(LONGEST), cluster, out)? {
        Ok(Some(run)) => {
            let message = run.status.map(|status| status.message).unwrap_or_default();
            out.status(format!("Run {} has ended: {message}", args.name));
            Ok(Exit::Done)
        }
        Ok(None) => {
            out.status(format!("Run {} is gone.", args.name));
            Ok(Exit::Done)
        }
        Err(exit) => Ok(exit),
    }
}
