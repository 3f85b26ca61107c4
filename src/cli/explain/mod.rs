//! `kubectl repack explain`: why a node stays, where a pod could go, and which rule says no where.
//!
//! May import: cli, snapshot, plan, api, live

pub(super) mod document;
mod proof;
pub(super) mod text;

use super::args::cluster::ClusterArgs;
use super::args::explain::{ExplainArgs, Target};
use super::args::groups::Format;
use super::error::CliError;
use super::options::{PlanOptions, View};
use super::output::{Out, json, printable_lines, yaml};
use super::{planning, source, status};
use crate::api::nearest;
use crate::live::{block_on, runs};
use crate::plan::explain::Explainer;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, NodeIdx, PodIdx};

/// Prints the explanation.
pub fn run(args: &ExplainArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<(), CliError> {
    let target = args.target()?;
    if let Target::Run(name) = &target {
        return run_of_cluster(args, name, cluster, out);
    }
    let mut options = PlanOptions::of(&args.plan);
    options.now = source::now(options.now, &args.source);
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let snapshot = source::load(&args.source, cluster, out)?;
    let pass = planning::plan(&snapshot, &options, out)?;
    let certificate = match &target {
        Target::Node(name) => {
            let node = find_node(&snapshot, name)?;
            planning::certificate(&snapshot, &pass, node)?
        }
        _ => None,
    };
    let mut explainer = Explainer::new(&snapshot, &pass.request, pass.planned)
        .map_err(|fault| CliError::failure(format!("cannot explain: {fault}")))?;
    let found = match target {
        Target::Node(name) => {
            let node = find_node(&snapshot, &name)?;
            document::node(&snapshot, &mut explainer, node, certificate.as_ref())
        }
        Target::Pod { namespace, name } => {
            document::pods(&snapshot, &mut explainer, &[find_pod(&snapshot, &namespace, &name)?])
        }
        Target::PodGroup { namespace, name } => {
            document::group(&snapshot, &mut explainer, find_group(&snapshot, &namespace, &name)?)
        }
        Target::Run(_) => return Ok(()),
    };
    let written = match view.format {
        Format::Json => json(&found),
        Format::Yaml => yaml(&found),
        Format::Name => Ok(found.pods.iter().map(|p| format!("pod/{}/{}\n", p.namespace, p.name)).collect()),
        Format::Table | Format::Wide if found.is_empty() => {
            Ok(printable_lines(&format!("{} has no pods\n", args.target.join(" "))))
        }
        Format::Table | Format::Wide => Ok(text::explain(&snapshot, &explainer, &found, &view)),
    };
    out.data(&written.map_err(|fault| CliError::failure("cannot write the explanation").because(fault))?);
    Ok(())
}

/// What a run of the cluster says of itself, with its conditions and everything that kept nodes.
fn run_of_cluster(
    args: &ExplainArgs,
    name: &str,
    cluster: &ClusterArgs,
    out: &mut Out,
) -> Result<(), CliError> {
    if !args.source.snapshot.is_empty() {
        return Err(
            CliError::usage("runs are in the cluster, not in a snapshot").hint("leave --snapshot out")
        );
    }
    let mut view = View::resolve(&args.view, |name| std::env::var(name).ok());
    if view.format == Format::Table {
        view.format = Format::Wide;
    }
    let found = block_on(async {
        let connected = status::connected(cluster).await?;
        runs::find(&connected, name).await
    });
    let found = found.map_err(|fault| status::failed(fault, name))?;
    let run = found.ok_or_else(|| status::unknown(name, &[]))?;
    out.data(&status::one(&run, &view, jiff::Timestamp::now())?);
    Ok(())
}

fn find_node(snapshot: &Snapshot, name: &str) -> Result<NodeIdx, CliError> {
    snapshot.node_named(name).ok_or_else(|| {
        let names = snapshot.nodes.iter().map(|n| snapshot.text(n.name));
        not_found(&format!("no node {name}"), nearest(name, names).map(str::to_owned))
    })
}

fn find_pod(snapshot: &Snapshot, namespace: &str, name: &str) -> Result<PodIdx, CliError> {
    let key = format!("{namespace}/{name}");
    let all = (0..snapshot.pods.len()).map(PodIdx::new);
    let here = |p: &PodIdx| {
        snapshot.pod_name(*p) == name && snapshot.namespace_name(snapshot.pod(*p).namespace) == namespace
    };
    all.clone().find(here).ok_or_else(|| {
        let keys: Vec<String> = all.map(|p| snapshot.pod_key(p)).collect();
        not_found(&format!("no pod {key}"), nearest(&key, keys.iter().map(String::as_str)).map(str::to_owned))
    })
}

fn find_group(snapshot: &Snapshot, namespace: &str, name: &str) -> Result<GroupIdx, CliError> {
    let key = format!("{namespace}/{name}");
    let all = (0..snapshot.groups.len()).map(GroupIdx::new);
    all.clone().find(|&g| snapshot.group_key(g) == key).ok_or_else(|| {
        let keys: Vec<String> = all.map(|g| snapshot.group_key(g)).collect();
        let near = nearest(&key, keys.iter().map(String::as_str)).map(str::to_owned);
        not_found(&format!("no PodGroup {key}"), near)
    })
}

fn not_found(sentence: &str, near: Option<String>) -> CliError {
    let error = CliError::failure(format!("{sentence} in this cluster state"));
    match near {
        Some(near) => error.hint(format!("did you mean {near}")),
        None => error,
    }
}
