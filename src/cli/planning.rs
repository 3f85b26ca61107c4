//! What `dryrun` and `explain` share: the resource, the plan, its independent check, the picture of both.
//!
//! May import: cli, api, engine, snapshot, fragmentation, plan

use super::error::CliError;
use super::options::PlanOptions;
use super::output::Out;
use super::output::picture::{Block, Holder, Picture, Row, Totals};
use super::source::HOW_TO_SAVE;
use crate::api::{RepackRun, nearest, one_decimal};
use crate::engine::{self, Answer, Certificate, Fault, Frontier};
use crate::fragmentation::resources_in_use;
use crate::plan::kept::Kept;
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, NodeIdx, PodIdx, ResourceIdx};

/// A planning pass as a command sees it.
#[derive(Debug)]
pub struct Pass {
    /// The run that asks for it.
    pub run: RepackRun,
    /// The same for the planner.
    pub request: Request,
    /// What came of it.
    pub planned: Planned,
}

/// Plans what the options ask for.
///
/// # Errors
/// Without a resource, the list of those in use when there are several; a scope that can not be resolved.
pub fn plan(snapshot: &Snapshot, options: &PlanOptions, out: &mut Out) -> Result<Pass, CliError> {
    let (run, request) = asked(snapshot, options)?;
    let planned = engine::plan(snapshot, &request).map_err(|fault| refused(snapshot, &fault))?;
    warn(snapshot, &request, &planned.report.warnings, out);
    Ok(Pass { run, request, planned })
}

/// What freeing a node that stays would take.
///
/// # Errors
/// Like [`plan`].
pub fn certificate(snapshot: &Snapshot, pass: &Pass, node: NodeIdx) -> Result<Option<Certificate>, CliError> {
    engine::certificate(snapshot, &pass.request, &pass.planned, node)
        .map_err(|fault| refused(snapshot, &fault))
}

/// What each number of freed nodes costs, under the same options.
///
/// # Errors
/// Like [`plan`].
pub fn frontier(snapshot: &Snapshot, options: &PlanOptions, out: &mut Out) -> Result<Frontier, CliError> {
    let (_, request) = asked(snapshot, options)?;
    let found = engine::frontier(snapshot, &request).map_err(|fault| refused(snapshot, &fault))?;
    warn(snapshot, &request, &found.warnings, out);
    Ok(found)
}

/// Says what the planner noticed, and which cap caps nothing: a slip in its name would lift the limit silently.
fn warn(snapshot: &Snapshot, request: &Request, noticed: &[String], out: &mut Out) {
    for warning in noticed {
        out.warning(format!("{warning}."));
    }
    for name in request.budget.resources.keys().filter(|name| snapshot.resource_named(name).is_none()) {
        out.warning(format!("maxPerRun.resources lists {name}, and there is no such resource."));
    }
}

/// Whether the pods that are asked about fit.
///
/// # Errors
/// Like [`plan`].
pub fn fit(
    snapshot: &Snapshot,
    options: &PlanOptions,
    resource: &str,
    out: &mut Out,
) -> Result<Answer, CliError> {
    let (_, request) = options.request_for(resource)?;
    let found = engine::fit(snapshot, &request).map_err(|fault| refused(snapshot, &fault))?;
    warn(snapshot, &request, &found.noticed, out);
    Ok(found.answer)
}

/// The run that the options ask for, with its resource, and the same for the planner.
///
/// # Errors
/// Like [`plan`].
pub fn asked(snapshot: &Snapshot, options: &PlanOptions) -> Result<(RepackRun, Request), CliError> {
    let resource = match options.resource() {
        Some(name) => name.to_owned(),
        None => only_resource(snapshot)?,
    };
    if snapshot.resource_named(&resource).is_none() {
        // The other faults of the options come first.
        options.request_for(&resource)?;
        let known: Vec<&str> =
            snapshot.extended_resources().into_iter().map(|r| snapshot.resource_name(r)).collect();
        return Err(no_such_resource(&resource, &known));
    }
    options.request_for(&resource)
}

/// Nothing provides or requests the resource, while these are `known`.
pub fn no_such_resource(resource: &str, known: &[&str]) -> CliError {
    let error = CliError::failure(format!("no node provides and no pod requests {resource}"));
    match nearest(resource, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean -r {near}")),
        None if known.is_empty() => error,
        None => error.hint(format!("name one of these: -r {}", known.join(", -r "))),
    }
}

fn refused(snapshot: &Snapshot, fault: &Fault) -> CliError {
    match fault {
        Fault::Request(fault) => CliError::failure(format!("cannot plan: {fault}")),
        Fault::Refused(finding) => {
            let sentence = format!("the plan broke a rule and is not shown: {}", finding.line(snapshot));
            CliError::failure(sentence).hint(
                "please report this with the file of: kubectl repack snapshot --anonymize -o cluster.json",
            )
        }
    }
}

/// The only extended resource in use.
fn only_resource(snapshot: &Snapshot) -> Result<String, CliError> {
    let used = resources_in_use(snapshot);
    match &*used {
        [only] => Ok(snapshot.resource_name(*only).to_owned()),
        [] => {
            let provided = snapshot.extended_resources();
            let Some(first) = provided.first() else {
                let sentence = "no node provides an extended resource, and no pod requests one";
                return Err(CliError::failure(sentence).hint(HOW_TO_SAVE));
            };
            Ok(snapshot.resource_name(*first).to_owned())
        }
        several => {
            let names: Vec<&str> = several.iter().map(|&r| snapshot.resource_name(r)).collect();
            Err(CliError::usage(format!("several resources are in use: {}", names.join(", ")))
                .hint(format!("name one: -r {}", names[0])))
        }
    }
}

/// The picture of the cluster as it is, with what the plan would do. `only` draws one node and the receivers of its
/// pods.
pub fn picture(snapshot: &Snapshot, planned: &Planned, only: Option<NodeIdx>) -> Picture {
    let (plan, report) = (&planned.plan, &planned.report);
    let before = &report.before;
    let (excess, _) = report.excess(0);
    let drawn = |node: NodeIdx| {
        only.is_none_or(|n| n == node || plan.moves.iter().any(|m| m.from == n && m.to == node))
    };
    let (mut rows, mut hidden, mut free_cards) = (Vec::new(), 0, 0);
    for node in (0..snapshot.nodes.len()).map(NodeIdx::new) {
        if !provides(snapshot, node, plan.resource) {
            continue;
        }
        let row = row(snapshot, planned, node);
        free_cards += row.hole;
        if drawn(node) {
            rows.push(row);
        } else {
            hidden += 1;
        }
    }
    Picture {
        resource: snapshot.resource_name(plan.resource).to_owned(),
        totals: Totals {
            nodes: unsigned(before.providing),
            occupied: unsigned(before.occupied),
            optimum: unsigned(before.optimum),
            optimum_exact: before.exact,
            rate: one_decimal(excess, before.providing),
            free_cards,
            largest_job: None,
        },
        rows,
        hidden,
    }
}

fn provides(snapshot: &Snapshot, node: NodeIdx, resource: ResourceIdx) -> bool {
    snapshot.node(node).allocatable[resource.at()] > 0
}

fn row(snapshot: &Snapshot, planned: &Planned, node: NodeIdx) -> Row {
    let (plan, report) = (&planned.plan, &planned.report);
    let resource = plan.resource;
    let holders: Vec<PodIdx> = snapshot.pods_on[node.at()]
        .iter()
        .copied()
        .filter(|&pod| snapshot.charged(pod, resource) > 0)
        .collect();
    let mut blocks: Vec<Block> = Vec::new();
    for &pod in &holders {
        let holder = match snapshot.pod(pod).group {
            Some(group) if !report.is_unmovable(pod) => Holder::Group(snapshot.group_key(group)),
            _ => Holder::Unmovable,
        };
        let cards = unsigned(snapshot.charged(pod, resource));
        match blocks.iter_mut().find(|b| b.holder == holder) {
            Some(block) => block.cards += cards,
            None => blocks.push(Block { holder, cards }),
        }
    }
    blocks.sort_by_key(|block| (block.holder == Holder::Unmovable, std::cmp::Reverse(block.cards)));
    let used: i64 = holders.iter().map(|&pod| snapshot.charged(pod, resource)).sum();
    let freed = plan.freed.contains(&node);
    let mut moves: Vec<(GroupIdx, NodeIdx)> = plan
        .moves
        .iter()
        .filter(|m| m.from == node && m.to != node)
        .filter_map(|m| Some((snapshot.pod(m.pod).group?, m.to)))
        .collect();
    moves.sort_unstable();
    moves.dedup();
    let received = plan
        .moves
        .iter()
        .filter(|m| m.to == node && m.from != node)
        .map(|m| snapshot.charged(m.pod, resource));
    let note = match report.kept(node) {
        Some(Kept::Idle | Kept::Receives | Kept::Cordoned) | None => String::new(),
        Some(why) => format!("kept ({})", why.sentence(snapshot)),
    };
    Row {
        node: snapshot.node_name(node).to_owned(),
        pool: String::new(),
        capacity: unsigned(snapshot.node(node).allocatable[resource.at()]),
        blocks,
        hole: unsigned(snapshot.node(node).allocatable[resource.at()] - used),
        cordoned: snapshot.node(node).unschedulable,
        moves: if freed {
            moves
                .into_iter()
                .map(|(group, to)| (snapshot.group_key(group), snapshot.node_name(to).to_owned()))
                .collect()
        } else {
            Vec::new()
        },
        receives: unsigned(received.sum()),
        note,
    }
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
