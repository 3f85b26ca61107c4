//! `kubectl repack fit`: does a job fit now, after which repack, or never.
//!
//! May import: cli, api, engine, snapshot, plan

use serde::Serialize;

use super::args::fit::FitArgs;
use super::args::groups::Format;
use super::error::CliError;
use super::exit::Exit;
use super::options::{PlanOptions, View};
use super::output::{Out, Table, json, yaml};
use super::{dryrun, planning, source};
use crate::api::{API_VERSION, RepackRunStatus};
use crate::engine::Fit;
use crate::plan::fit::Seats;
use crate::plan::status::dry_run_status;
use crate::snapshot::model::NodeIdx;
use crate::snapshot::view::pod::PodView;
use crate::snapshot::{Builder, Snapshot};

/// More nodes than this make no command that anybody pastes.
const MOST_NAMED: usize = 8;

/// What `-o json` and `-o yaml` print.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    api_version: &'static str,
    kind: &'static str,
    resource: String,
    replicas: u16,
    cards: u32,
    /// `FitsNow`, `FitsAfterRepack`, `NeverFits`, `NoRepackFound`.
    answer: &'static str,
    /// Where the pods go, by node.
    seats: Vec<Seat>,
    /// No repack makes room for more pods than this; absent where all fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    most_pods: Option<i64>,
    /// The status of the repack that makes room, as `dryrun` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    repack: Option<RepackRunStatus>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seat {
    node: String,
    pods: usize,
}

/// Prints the answer; the exit code says whether it fits, now or after a repack.
pub fn run(args: &FitArgs, out: &mut Out) -> Result<Exit, CliError> {
    let options = PlanOptions::of(&args.plan);
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let mut resource = options.resource().map(str::to_owned);
    let snapshot = source::load_with(&args.source, out, |builder| {
        let name = resource.get_or_insert(only_requested(builder)?);
        add_replicas(args, name, builder)
    })?;
    let (found, request) = planning::fit(&snapshot, &options, resource.as_deref().unwrap_or_default(), out)?;
    let exit = match found {
        Fit::Now(_) | Fit::After { .. } => Exit::Done,
        Fit::Never { .. } | Fit::NotFound { .. } => Exit::NotAchieved,
    };
    let document = document(&snapshot, args, &request, &found);
    let text = match view.format {
        Format::Json => json(&document),
        Format::Yaml => yaml(&document),
        Format::Name => Ok(document.seats.iter().map(|seat| format!("node/{}\n", seat.node)).collect()),
        Format::Table | Format::Wide => Ok(text(&snapshot, args, &document, &found, &view)?),
    };
    out.data(&text.map_err(|fault| CliError::failure("cannot write the answer").because(fault))?);
    Ok(exit)
}

/// The extended resource, where the pods of the input ask for a single one.
fn only_requested(builder: &Builder) -> Result<String, CliError> {
    match &*builder.requested() {
        [only] => Ok(only.clone()),
        [] => Err(CliError::usage("no pod requests an extended resource").hint("name one: -r RESOURCE")),
        several => {
            let first = several[0].clone();
            Err(CliError::usage(format!("several resources are in use: {}", several.join(", ")))
                .hint(format!("name one: -r {first}")))
        }
    }
}

/// The pods that are asked about, all alike.
fn add_replicas(args: &FitArgs, resource: &str, builder: &mut Builder) -> Result<(), CliError> {
    let mut requests = serde_json::Map::new();
    requests.insert(resource.to_owned(), args.cards.to_string().into());
    let amounts = [("cpu", &args.cpu), ("memory", &args.memory)];
    for (name, amount) in amounts {
        if let Some(amount) = amount {
            requests.insert(name.to_owned(), amount.clone().into());
        }
    }
    let mut spec = serde_json::json!({
        "schedulerName": args.scheduler.as_deref().unwrap_or("volcano"),
        "containers": [{"name": "main", "resources": {"requests": requests}}],
    });
    if let Some(selector) = &args.selector {
        if !selector.match_expressions.is_empty() {
            return Err(CliError::usage("--selector of fit takes KEY=VALUE only"));
        }
        spec["nodeSelector"] = serde_json::json!(selector.match_labels);
    }
    for at in 0..args.replicas {
        let pod = serde_json::json!({
            "metadata": {"name": format!("fit-{at:05}"), "namespace": "default"}, "spec": spec,
        });
        let pod = pod.to_string();
        let failed = |fault| CliError::usage("cannot use this job").because(anyhow::Error::from(fault));
        let view: PodView<'_> = serde_json::from_str(&pod).map_err(failed)?;
        builder.candidate(&view).map_err(|fault| CliError::usage("cannot use this job").because(fault))?;
    }
    Ok(())
}

fn document(snapshot: &Snapshot, args: &FitArgs, resource: &str, found: &Fit) -> Document {
    let (answer, seats, most_pods, repack) = match found {
        Fit::Now(seats) => ("FitsNow", by_node(snapshot, seats), None, None),
        Fit::After { planned, seats } => {
            let status = dry_run_status(snapshot, planned);
            ("FitsAfterRepack", by_node(snapshot, seats), None, Some(status))
        }
        Fit::Never { most } => ("NeverFits", Vec::new(), Some(*most), None),
        Fit::NotFound { most, .. } => ("NoRepackFound", Vec::new(), Some(*most), None),
    };
    Document {
        api_version: API_VERSION,
        kind: "RepackFit",
        resource: resource.to_owned(),
        replicas: args.replicas,
        cards: args.cards,
        answer,
        seats,
        most_pods,
        repack,
    }
}

fn by_node(snapshot: &Snapshot, seats: &Seats) -> Vec<Seat> {
    let mut nodes: Vec<NodeIdx> = seats.seated.iter().map(|&(_, node)| node).collect();
    nodes.sort_unstable();
    let same = nodes.chunk_by(|a, b| a == b);
    same.map(|pods| Seat { node: snapshot.node_name(pods[0]).to_owned(), pods: pods.len() }).collect()
}

fn text(
    snapshot: &Snapshot,
    args: &FitArgs,
    document: &Document,
    found: &Fit,
    view: &View,
) -> Result<String, CliError> {
    let job = format!(
        "{} {} of {} {}",
        args.replicas,
        if args.replicas == 1 { "pod" } else { "pods" },
        args.cards,
        document.resource
    );
    let mut table = Table::new(["node", "pods"]);
    for seat in &document.seats {
        table.row([seat.node.clone(), seat.pods.to_string()]);
    }
    let table = table.render(view.headers);
    Ok(match found {
        Fit::Now(_) => format!("Fits now: {job}.\n\n{table}"),
        Fit::After { planned, .. } => {
            let status = dry_run_status(snapshot, planned);
            let nodes: Vec<&String> = status.plan.iter().flat_map(|plan| &plan.freed_nodes).collect();
            let verb = if nodes.len() == 1 { "node is" } else { "nodes are" };
            let first = format!("Fits after a repack: {job}, once {} {verb} freed.", nodes.len());
            let flags: String = nodes.iter().map(|node| format!(" --include-node {node}")).collect();
            let again = match nodes.len() {
                ..=MOST_NAMED => format!("The same plan: kubectl repack dryrun{flags}\n"),
                _ => String::new(),
            };
            let plan = dryrun::text::plan(snapshot, planned, &status, view)?;
            format!("{first}\n{again}\n{table}\n{plan}")
        }
        Fit::Never { most } => format!(
            "Does not fit, and no repack helps: {job}. However nodes are emptied within scope and budget, at most {most} can find room.\n"
        ),
        Fit::NotFound { seated, most } => format!(
            "Does not fit, and no repack was found: {job}. After the largest one {seated} find room; the bound leaves up to {most} open.\n"
        ),
    })
}
