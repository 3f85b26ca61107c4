//! What freeing a node that stays would take, as document and as text.
//!
//! May import: cli, engine, snapshot

use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::output::tenths;
use crate::engine::{Certificate, Instead};
use crate::snapshot::Snapshot;

/// What holds for plans that free the node.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// Stable code.
    pub code: &'static str,
    /// It holds for every plan; `false`: for those that were looked at.
    pub proven: bool,
    /// The same in a clause.
    pub message: String,
    /// Nodes that the plan frees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed_node_count: Option<usize>,
    /// No plan with the node frees more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeable_upper_bound: Option<usize>,
    /// How much more than the plan the one below costs, in tenths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_cost_tenths: Option<i64>,
    /// No plan of as many nodes that frees this one costs less than so much more, in tenths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_more_cost_tenths: Option<i64>,
    /// A plan that frees the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<ProofPlan>,
}

/// A plan that frees the node.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofPlan {
    /// Its id.
    pub id: String,
    /// Weighted disruption, in tenths.
    pub cost_tenths: i64,
    /// Its nodes, sorted.
    pub freed_nodes: Vec<String>,
}

/// The certificate in words.
pub fn proof(snapshot: &Snapshot, certificate: &Certificate) -> Proof {
    let plan = |plan: &Instead| ProofPlan {
        id: plan.id.clone(),
        cost_tenths: plan.cost,
        freed_nodes: plan.freed.iter().map(|&node| snapshot.node_name(node).to_owned()).collect(),
    };
    let mut proof = Proof {
        code: certificate.code(),
        proven: true,
        message: String::new(),
        freed_node_count: None,
        freeable_upper_bound: None,
        more_cost_tenths: None,
        least_more_cost_tenths: None,
        plan: certificate.plan().map(plan),
    };
    match *certificate {
        Certificate::NoPlanFreesIt => {
            proof.message = String::from("no plan within this scope and these budgets frees it");
        }
        Certificate::NoPlanOfThisSize { size, at_most, .. } => {
            proof.message =
                format!("no plan that frees {} frees this one; with it {at_most} at most", nodes(size));
            (proof.freed_node_count, proof.freeable_upper_bound) = (Some(size), Some(at_most));
        }
        Certificate::Instead { ref instead, more, at_least } => {
            let size = nodes(instead.freed.len());
            proof.proven = at_least == more;
            proof.message = match (more, at_least) {
                (0, _) => format!("a plan that frees {size} with it costs as much"),
                (more, least) if least == more => {
                    format!(
                        "a plan that frees {size} with it costs {} more, and none costs less",
                        tenths(more)
                    )
                }
                (more, 1..) => format!(
                    "the best plan found that frees {size} with it costs {} more; none costs less than {} more",
                    tenths(more),
                    tenths(at_least)
                ),
                (more, _) => format!(
                    "the best plan found that frees {size} with it costs {} more; that none costs less is not proven",
                    tenths(more)
                ),
            };
            proof.more_cost_tenths = Some(more);
            proof.least_more_cost_tenths = (at_least > 0 || more == 0).then_some(at_least.max(0));
        }
        Certificate::Better { ref better } => {
            proof.proven = false;
            proof.message =
                format!("the search missed a better plan, which frees {} with it", nodes(better.freed.len()));
        }
        Certificate::NotProven { size, at_most, .. } => {
            proof.proven = false;
            let size_text = nodes(size.max(1));
            proof.message = format!(
                "no plan that frees {size_text} with it was found, but up to {at_most} are not ruled out"
            );
            (proof.freed_node_count, proof.freeable_upper_bound) = (Some(size), Some(at_most));
        }
    }
    proof
}

/// The lines below the reason of a node.
pub fn lines(proof: &Proof, most_named: usize) -> String {
    let word = if proof.proven { "proven" } else { "not proven" };
    let mut text = format!("{word} ({}): {}\n", proof.code, proof.message);
    if let Some(plan) = &proof.plan {
        let names = &plan.freed_nodes;
        let (named, rest) = names.split_at(names.len().min(most_named));
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let (size, cost) = (nodes(names.len()), tenths(plan.cost_tenths));
        let _ = writeln!(text, "  such a plan frees {size} at cost {cost}: {}{more}", named.join(", "));
    }
    text
}

fn nodes(n: usize) -> String {
    format!("{n} node{}", if n == 1 { "" } else { "s" })
}
