//! The answer for people.
//!
//! May import: cli, api, engine, snapshot, plan

use std::fmt::Write as _;

use super::document::{Document, Members};
use crate::cli::args::groups::Format;
use crate::cli::error::CliError;
use crate::cli::options::View;
use crate::cli::output::{Table, printable, printable_lines};
use crate::cli::{dryrun, explain};
use crate::engine::Answer;
use crate::snapshot::Snapshot;

/// More nodes than this make no command that anybody pastes.
const MOST_NAMED: usize = 8;

/// Names of the nodes that get pods, each once.
pub fn nodes(document: &Document) -> String {
    let mut names: Vec<&str> = document.seats.iter().map(|seat| &*seat.node).collect();
    names.dedup();
    names.into_iter().map(|name| format!("node/{name}\n")).collect()
}

/// The whole text.
pub fn text(
    snapshot: &Snapshot,
    document: &Document,
    answer: &Answer,
    view: &View,
) -> Result<String, CliError> {
    let job = printable(&job(document));
    let table = printable_lines(&seats(document, view));
    Ok(match (answer, &document.repack) {
        (Answer::After { planned, repeats, .. }, Some(status)) => {
            let nodes: Vec<&String> = status.plan.iter().flat_map(|plan| &plan.freed_nodes).collect();
            let verb = if nodes.len() == 1 { "node is" } else { "nodes are" };
            let fewest = document.fewest_nodes.unwrap_or(0);
            let least = match fewest {
                least if least >= nodes.len() => " Fewer are not enough.".to_owned(),
                1 => " At least 1 is needed.".to_owned(),
                least => format!(" At least {least} are needed."),
            };
            let first = format!("Fits after a repack: {job}, once {} {verb} freed.{least}", nodes.len());
            let flags: String = nodes.iter().map(|node| format!(" --include-node {node}")).collect();
            let again = match (*repeats, nodes.len()) {
                (true, ..=MOST_NAMED) => {
                    let resource = &document.resource;
                    format!(
                        "The same plan, under the other flags given here and with no other node included: kubectl repack dryrun -r {resource}{flags}\n"
                    )
                }
                (true, _) => String::new(),
                (false, _) => {
                    "A dry run of these nodes alone need not come to this plan, which leaves the room that the job needs.\n"
                        .to_owned()
                }
            };
            let plan = dryrun::text::plan(snapshot, planned, status, view)?;
            format!("{first}\n{}\n{table}\n{plan}", printable_lines(&again))
        }
        (Answer::Never { most, .. }, _) => format!(
            "Does not fit, and no repack helps: {job}. However nodes are emptied within scope and budget, at most {most} can find room{}.\n{}",
            reason(document),
            refusals(document, answer, view)
        ),
        (Answer::NotFound { .. }, _) => format!(
            "Does not fit, and no repack was found: {job}{}.\n{}",
            reason(document),
            refusals(document, answer, view)
        ),
        _ => format!("Fits now: {job}.\n\n{table}"),
    })
}

fn job(document: &Document) -> String {
    let described = |members: &Members| {
        let resource = &document.resource;
        let pods = if members.of.max(members.pods) == 1 { "pod" } else { "pods" };
        let of = if members.of > members.pods { format!(" of {}", members.of) } else { String::new() };
        let task = if members.task.is_empty() { String::new() } else { format!(" {}", members.task) };
        let cards =
            if members.cards == 0 { String::new() } else { format!(" of {} {resource}", members.cards) };
        format!("{}{of}{task} {pods}{cards}", members.pods)
    };
    let mut text = String::new();
    let mut before = "";
    for members in &document.gang {
        let joint = if text.is_empty() { "" } else { " and " };
        let of = match &*members.workload {
            "" => String::new(),
            same if same == before => String::new(),
            workload => format!("{workload}: "),
        };
        let _ = write!(text, "{joint}{of}{}", described(members));
        before = &members.workload;
    }
    text
}

fn seats(document: &Document, view: &View) -> String {
    let several = document.gang.len() > 1;
    let mut table = if several { Table::new(["node", "pods", "of"]) } else { Table::new(["node", "pods"]) };
    for seat in &document.seats {
        let (node, pods) = (seat.node.clone(), seat.pods.to_string());
        match seat.member.and_then(|at| document.gang.get(at)) {
            Some(members) => {
                let of = if members.task.is_empty() { &members.workload } else { &members.task };
                table.row([node, pods, of.clone()]);
            }
            None => table.row([node, pods]),
        }
    }
    table.render(view.headers)
}

fn reason(document: &Document) -> String {
    document.reason.as_ref().map(|why| format!(" ({}: {})", why.code, why.message)).unwrap_or_default()
}

/// What nodes say to the first pod without room.
fn refusals(document: &Document, answer: &Answer, view: &View) -> String {
    let Some(refused) = &document.refused else { return String::new() };
    let mut text = String::new();
    explain::text::refusals(&mut text, &refused.refusals, view.format == Format::Wide);
    if text.is_empty() {
        return text;
    }
    let name = document.gang.get(refused.member).map_or("", |members| &members.task);
    let which = match name {
        "" if document.gang.len() > 1 => {
            document.gang.get(refused.member).map_or(String::new(), |m| format!("{} ", m.workload))
        }
        "" => String::new(),
        task => format!("{task} "),
    };
    let head = match answer {
        Answer::NotFound { emptied: 1.., .. } => "After it",
        _ => "As things are",
    };
    printable_lines(&format!("{head}, the next {which}pod is\n{text}"))
}
