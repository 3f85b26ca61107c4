//! What freeing a node that stays would take: proofs and plans instead of the order in which a search gave it up.
//!
//! The same request is planned once more with the node forced into every choice. Its bound is then a bound on all plans
//! with the node, and its plan shows what one of them costs. Nothing here is weaker for the forced search being a
//! heuristic: what is called proven rests on the bounds alone ([`crate::plan::search`]), and a plan that is shown has
//! passed the same check as any other.
//!
//! May import: engine, api, plan, snapshot

use super::{Fault, checked_plan};
use crate::api::Algorithm;
use crate::plan::kept::Kept;
use crate::plan::outcome::{Conclusion, plan_id};
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;
use crate::snapshot::model::NodeIdx;

/// A plan that frees the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// Its nodes, by name.
    pub freed: Vec<NodeIdx>,
    /// What it disturbs, weighted, in tenths.
    pub cost: i64,
    /// Its id.
    pub id: String,
}

/// What holds for plans that free a node which stays. Costs are weighted disruption, in tenths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Proven: no plan within scope and budgets frees it.
    NoPlanFreesIt,
    /// Proven: no plan that frees as many nodes as the plan frees it.
    NoPlanOfThisSize {
        /// Nodes that the plan frees.
        size: usize,
        /// No plan with the node frees more.
        at_most: usize,
        /// One that frees it.
        best: Option<Instead>,
    },
    /// A plan that frees as many nodes frees it, too.
    Instead {
        /// That plan.
        instead: Instead,
        /// How much more it costs than the plan.
        more: i64,
        /// No plan of as many nodes with it costs less than so much more; below 0 where nothing is proven.
        at_least: i64,
    },
    /// The search missed a plan with the node that frees more, or as much for less.
    Better {
        /// That plan.
        better: Instead,
    },
    /// No plan of as many nodes that frees it was found, and none is ruled out.
    NotProven {
        /// Nodes that the plan frees.
        size: usize,
        /// No plan with the node frees more.
        at_most: usize,
        /// One that frees it.
        best: Option<Instead>,
    },
}

impl Certificate {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoPlanFreesIt => "NoPlanFreesIt",
            Self::NoPlanOfThisSize { .. } => "NoPlanOfThisSize",
            Self::Instead { more: 0, .. } => "AsGood",
            Self::Instead { .. } => "CostsMore",
            Self::Better { .. } => "BetterPlan",
            Self::NotProven { .. } => "NotProven",
        }
    }

    /// The plan that frees the node, if one is shown.
    pub const fn plan(&self) -> Option<&Instead> {
        match self {
            Self::NoPlanFreesIt => None,
            Self::NoPlanOfThisSize { best, .. } | Self::NotProven { best, .. } => best.as_ref(),
            Self::Instead { instead: plan, .. } | Self::Better { better: plan } => Some(plan),
        }
    }
}

/// What holds for plans with `node`, which `planned`, the answer to `request`, leaves as it is. `None` where the reason
/// why it stays is no matter of choice (it is out of scope, a pod on it may not move, nothing is fragmented, …), where
/// no node at all is worth freeing, and under Drain, which looks for no other plans.
///
/// # Errors
/// See [`Fault`].
pub fn certificate(
    snapshot: &Snapshot,
    request: &Request,
    planned: &Planned,
    node: NodeIdx,
) -> Result<Option<Certificate>, Fault> {
    let is_choice = planned.report.kept(node).is_some_and(Kept::is_choice);
    if request.algorithm != Algorithm::Search || !is_choice {
        return Ok(None);
    }
    let open = Request { min_improvement_percent: 0, min_benefit: None, ..request.clone() };
    let again;
    let base = match planned.report.conclusion {
        Conclusion::Insufficient { best } if best > 0 => {
            // Too little for what was asked: compared with is the plan itself.
            let max_freed_nodes = u64::try_from(best).ok();
            again = checked_plan(snapshot, &Request { max_freed_nodes, ..open.clone() })?;
            &again.plan
        }
        Conclusion::Insufficient { .. } | Conclusion::Recommended => &planned.plan,
        Conclusion::NotFragmented | Conclusion::NotUsed => return Ok(None),
    };
    let size = base.freed.len();
    let limited = planned.report.benefit.is_some();
    if limited && size == 0 {
        return Ok(None);
    }
    // A least benefit was what limited the number of nodes.
    let max_freed_nodes = if limited { u64::try_from(size).ok() } else { request.max_freed_nodes };
    let must_free = Some(snapshot.node_name(node).to_owned());
    let with = checked_plan(snapshot, &Request { max_freed_nodes, must_free, ..open })?;
    let weights = request.weights.array();
    let shown = with.plan.freed.contains(&node).then(|| {
        let mut freed = with.plan.freed.clone();
        freed.sort_unstable();
        Instead { freed, cost: with.plan.disruption.cost(weights), id: plan_id(snapshot, &with.plan) }
    });
    let at_most = usize::try_from(with.report.upper_bound).unwrap_or(0);
    Ok(Some(match shown {
        Some(better) if better.freed.len() > size => Certificate::Better { better },
        Some(instead) if instead.freed.len() == size => {
            let cost = base.disruption.cost(weights);
            let more = instead.cost - cost;
            let at_least = with.report.least_cost.min(instead.cost) - cost;
            if more < 0 {
                Certificate::Better { better: instead }
            } else {
                Certificate::Instead { instead, more, at_least }
            }
        }
        None if at_most == 0 => Certificate::NoPlanFreesIt,
        best if at_most < size => Certificate::NoPlanOfThisSize { size, at_most, best },
        best => Certificate::NotProven { size, at_most, best },
    }))
}
