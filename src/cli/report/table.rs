//! The totals as a table: a line per resource, and per pool where there are pools.
//!
//! May import: cli, fragmentation

use crate::cli::output::Table;
use crate::fragmentation::FragmentationReport;
use crate::fragmentation::document::{FitReport, Summary};

/// What stands in the column of pools on the line of the whole cluster.
const ALL_POOLS: &str = "*";

/// The table. `wide` adds columns, never lines.
pub fn totals(report: &FragmentationReport<'_>, wide: bool) -> Table {
    let pools = report.group_by.is_some();
    let mut headers = vec!["resource"];
    headers.extend(pools.then_some("pool"));
    headers.extend(["nodes", "occupied", "optimum", "rate", "cards", "used", "free", "largest-job"]);
    if wide {
        headers.extend(["emptying", "closed", "free-closed", "holes", "fits"]);
    }
    let mut table = Table::with_headers(headers);
    for resource in &report.resources {
        let mut line = |pool: &str, summary: &Summary| {
            let mut cells = vec![resource.resource.clone()];
            cells.extend(pools.then(|| pool.to_owned()));
            cells.extend(self::cells(summary, wide));
            table.row(cells);
        };
        line(ALL_POOLS, &resource.summary);
        for pool in &resource.pools {
            line(if pool.name.is_empty() { "\"\"" } else { pool.name }, &pool.summary);
        }
    }
    table
}

fn cells(summary: &Summary, wide: bool) -> Vec<String> {
    let mut cells = vec![
        summary.nodes.to_string(),
        summary.occupied_nodes.to_string(),
        optimum(summary),
        format!("{}%", summary.frag_exact.percent),
        summary.cards.total.to_string(),
        summary.cards.used.to_string(),
        summary.cards.free.to_string(),
        summary.largest_job.as_ref().map_or_else(|| "-".to_owned(), fit),
    ];
    if wide {
        let holes: Vec<String> =
            summary.holes.iter().map(|hole| format!("{}x{}", hole.nodes, hole.free)).collect();
        let fits: Vec<String> = summary.fits.iter().map(fit).collect();
        cells.extend([
            summary.emptying_nodes.to_string(),
            summary.closed_nodes.to_string(),
            summary.cards.free_on_closed_nodes.to_string(),
            holes.join(","),
            fits.join(","),
        ]);
    }
    cells
}

/// A plus sign says "at least": the search for the exact optimum was cut short.
fn optimum(summary: &Summary) -> String {
    format!("{}{}", summary.optimal_occupied_nodes, if summary.optimum_exact { "" } else { "+" })
}

fn fit(fit: &FitReport) -> String {
    format!("{}x{}", fit.pods, fit.cards)
}
