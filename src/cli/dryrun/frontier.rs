//! `dryrun --frontier`: what each number of freed nodes costs.
//!
//! May import: cli, api, engine, snapshot, plan

use serde::Serialize;

use super::text::stopped;
use crate::api::{API_VERSION, Benefit};
use crate::cli::args::groups::Format;
use crate::cli::error::CliError;
use crate::cli::options::View;
use crate::cli::output::{Table, json, tenths, yaml};
use crate::engine::{Frontier, Point};
use crate::plan::status::api_benefit;
use crate::snapshot::Snapshot;

/// What `-o json` and `-o yaml` print.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    api_version: &'static str,
    kind: &'static str,
    resource: &'a str,
    freeable_upper_bound: i64,
    points: Vec<PointDocument>,
    /// Where `minBenefit` stops; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    benefit: Option<Benefit>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PointDocument {
    freed_node_count: usize,
    /// Allocatable cards on the freed nodes.
    freed_cards: i64,
    affected_pod_groups: i64,
    gang_breaches: i64,
    damaged_cards: i64,
    moved_cards: i64,
    moved_pods: i64,
    /// Weighted sum, in tenths.
    cost_tenths: i64,
    /// No plan that frees as many nodes costs less, in tenths.
    least_cost_tenths: i64,
}

/// The frontier in every format.
pub(super) fn text(snapshot: &Snapshot, frontier: &Frontier, view: &View) -> Result<String, CliError> {
    let failed = |fault| CliError::failure("cannot write the frontier").because(fault);
    match view.format {
        Format::Json => json(&document(snapshot, frontier)).map_err(failed),
        Format::Yaml => yaml(&document(snapshot, frontier)).map_err(failed),
        Format::Name => Ok(frontier.points.iter().map(|point| format!("{}\n", point.freed)).collect()),
        Format::Table | Format::Wide => Ok(table(snapshot, frontier, view)),
    }
}

fn table(snapshot: &Snapshot, frontier: &Frontier, view: &View) -> String {
    let resource = snapshot.resource_name(frontier.resource);
    if frontier.points.is_empty() {
        return format!("DryRun: No plan frees a node of {resource}.\n");
    }
    let mut table = Table::new([
        "freed",
        "cards",
        "podgroups",
        "breached",
        "damaged",
        "moved",
        "pods",
        "cost",
        "at least",
        "gap",
    ]);
    for point in &frontier.points {
        let d = point.disruption;
        let whole = [d.affected_groups, d.breached_groups, d.damaged_cards, d.moved_cards, d.moved_pods];
        let cells = [point.freed.to_string(), point.cards.to_string()]
            .into_iter()
            .chain(whole.iter().map(ToString::to_string))
            .chain([tenths(point.cost), at_least(point), gap(point)]);
        table.row(cells);
    }
    let stop =
        frontier.benefit.as_ref().map(|benefit| format!("\n{}\n", stopped(benefit))).unwrap_or_default();
    format!(
        "DryRun: what each number of freed nodes of {resource} costs, {} at most; --free N plans a point.\n\n{}{stop}",
        frontier.most,
        table.render(view.headers)
    )
}

/// Drain proves nothing about costs.
fn at_least(point: &Point) -> String {
    if point.least_cost > 0 { tenths(point.least_cost) } else { "unknown".to_owned() }
}

/// How far above the least the cost may be, in percent of it, rounded up.
fn gap(point: &Point) -> String {
    let over = point.cost - point.least_cost;
    match (over, point.least_cost) {
        (0, _) => "optimal".to_owned(),
        (_, ..=0) => "unknown".to_owned(),
        (over, least) => {
            let thousandths = (over * 1_000 + least - 1) / least;
            format!("{}.{}%", thousandths / 10, thousandths % 10)
        }
    }
}

fn document<'a>(snapshot: &'a Snapshot, frontier: &Frontier) -> Document<'a> {
    let point = |point: &Point| PointDocument {
        freed_node_count: point.freed,
        freed_cards: point.cards,
        affected_pod_groups: point.disruption.affected_groups,
        gang_breaches: point.disruption.breached_groups,
        damaged_cards: point.disruption.damaged_cards,
        moved_cards: point.disruption.moved_cards,
        moved_pods: point.disruption.moved_pods,
        cost_tenths: point.cost,
        least_cost_tenths: point.least_cost,
    };
    Document {
        api_version: API_VERSION,
        kind: "RepackFrontier",
        resource: snapshot.resource_name(frontier.resource),
        freeable_upper_bound: frontier.most,
        points: frontier.points.iter().map(point).collect(),
        benefit: frontier.benefit.as_ref().map(api_benefit),
    }
}
