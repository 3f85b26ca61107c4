//! From the document to the card picture.
//!
//! May import: cli, fragmentation

use crate::cli::output::picture::{Block, Holder, Picture, Row, Totals};
use crate::fragmentation::document::{NodeReport, ResourceReport};

/// The picture of one resource, before any plan. Nodes that do not provide the resource are not drawn; `notes`
/// names them.
pub fn picture(report: &ResourceReport<'_>) -> Picture {
    let summary = &report.summary;
    Picture {
        resource: report.resource.clone(),
        totals: Totals {
            nodes: count(summary.nodes),
            occupied: count(summary.occupied_nodes),
            optimum: count(summary.optimal_occupied_nodes),
            optimum_exact: summary.optimum_exact,
            rate: summary.frag_exact.percent.clone(),
            free_cards: count(summary.cards.free),
            largest_job: summary.largest_job.map(|job| (job.pods, count(job.cards))),
        },
        rows: report.nodes.iter().filter(|node| node.allocatable > 0).map(row).collect(),
        hidden: 0,
    }
}

fn row(node: &NodeReport<'_>) -> Row {
    let mut blocks: Vec<Block> = node
        .holders
        .iter()
        .map(|holder| Block {
            holder: match (holder.refused, holder.pod_group, holder.pod) {
                (Some(_), _, _) | (None, None, None) => Holder::Unmovable,
                (None, Some(name), _) | (None, None, Some(name)) => {
                    Holder::Group(format!("{}/{name}", holder.namespace))
                }
            },
            cards: count(holder.cards),
        })
        .collect();
    // Movable groups first, the largest at the left; the order by name decides the rest.
    blocks.sort_by_key(|block| (block.holder == Holder::Unmovable, std::cmp::Reverse(block.cards)));
    let words = node.states.iter().filter_map(|&state| match state {
        "Emptying" => Some("emptying"),
        "NotReady" => Some("not ready"),
        "Leaving" => Some("leaving the cluster"),
        _ => None,
    });
    Row {
        node: node.name.to_owned(),
        pool: node.pool.unwrap_or_default().to_owned(),
        capacity: count(node.allocatable),
        blocks,
        hole: count(node.free),
        cordoned: node.states.contains(&"Cordoned"),
        note: words.collect::<Vec<_>>().join(", "),
        ..Row::default()
    }
}

/// Counts of the report are never negative.
fn count(amount: i64) -> u64 {
    u64::try_from(amount).unwrap_or(0)
}
