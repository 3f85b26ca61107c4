//! The size of a run's object: a plan whose status would not fit gives way to one that frees fewer nodes.
//!
//! The plan for k nodes is the one that the same request makes when it asks for at most k (`--free k`): nothing is cut
//! out of a larger plan. Looked for is a k whose status fits while that for k + 1 does not. Sizes grow nearly in
//! proportion to nodes, so the next k to try is in turn the one that this says and the middle.
//!
//! May import: engine, plan, snapshot

use super::{Fault, plan_of_any_size};
use crate::plan::kept::Kept;
use crate::plan::outcome::Conclusion;
use crate::plan::status::dry_run_status;
use crate::plan::{Move, Planned, Request};
use crate::snapshot::Snapshot;

/// Bytes of a relocation beside names, UIDs and nodes: field names, phases, times and a server's words.
const RELOCATION: usize = 700;
/// Bytes of a UID.
const UID: usize = 36;

/// Bytes of the status that a plan becomes, with its relocations where it is to be carried out: replacements and their
/// groups are taken to have names as long as those of their victims.
fn size(snapshot: &Snapshot, planned: &Planned, executes: bool) -> u64 {
    let written = serde_json::to_vec(&dry_run_status(snapshot, planned));
    let relocation = |m: &Move| {
        let pod = snapshot.pod(m.pod);
        let group = pod.group.map_or(0, |group| snapshot.text(snapshot.groups[group.at()].name).len());
        let names =
            snapshot.namespace_name(pod.namespace).len() + 2 * (snapshot.pod_name(m.pod).len() + group);
        RELOCATION + names + 2 * UID + 3 * snapshot.node_name(m.to).len()
    };
    let moves = planned.plan.moves.iter().filter(|_| executes);
    let relocations: usize = moves.map(relocation).sum();
    written.map_or(u64::MAX, |text| u64::try_from(text.len() + relocations).unwrap_or(u64::MAX))
}

/// The plan itself where its status has at most `limit` bytes, else the plan that frees as many nodes as fit.
///
/// # Errors
/// See [`Fault`].
pub(super) fn fitted(
    snapshot: &Snapshot,
    request: &Request,
    whole: Planned,
    limit: u64,
) -> Result<Planned, Fault> {
    let too_much = size(snapshot, &whole, request.executes);
    if too_much <= limit || whole.plan.is_empty() {
        return Ok(whole);
    }
    let at_most = |freed: usize, min_improvement_percent| {
        let max_freed_nodes = u64::try_from(freed).ok();
        let request = Request { min_improvement_percent, max_freed_nodes, ..request.clone() };
        let mut planned = plan_of_any_size(snapshot, &request)?;
        // Both are part of the status, so they come before its size is taken.
        planned.report.upper_bound = whole.report.upper_bound;
        planned.report.limited_by_size = true;
        Ok(planned)
    };
    let mut found = None;
    let most = Tried { freed: whole.plan.freed.len(), size: too_much };
    let freed = largest(most, limit, |freed| {
        let planned = at_most(freed, 0)?;
        let size = size(snapshot, &planned, request.executes);
        if size <= limit {
            found = Some(planned);
        }
        Ok(size)
    })?;
    let mut planned = match found {
        Some(planned) if request.min_improvement_percent == 0 => planned,
        _ => at_most(freed, request.min_improvement_percent)?,
    };
    // What stays because of the number of nodes stays because of the size.
    let nothing = planned.report.conclusion == Conclusion::Insufficient { best: 0 };
    for kept in &mut planned.report.kept {
        if kept.why == Kept::EnoughFreed || nothing && kept.why == Kept::TooLittleGained {
            kept.why = Kept::SizeLimit;
        }
    }
    Ok(planned)
}

/// A number of nodes that fits, or 0, while one more does not; `look` tells the size for a number.
fn largest(
    most: Tried,
    limit: u64,
    mut look: impl FnMut(usize) -> Result<u64, Fault>,
) -> Result<usize, Fault> {
    let (mut fits, mut over) = (Tried { freed: 0, size: 0 }, most);
    let mut halve = false;
    while over.freed - fits.freed > 1 {
        let freed = if halve { usize::midpoint(fits.freed, over.freed) } else { fits.towards(over, limit) };
        halve = !halve;
        let tried = Tried { freed, size: look(freed)? };
        *(if tried.size <= limit { &mut fits } else { &mut over }) = tried;
    }
    Ok(fits.freed)
}

/// A number of nodes and the size of the plan for it.
#[derive(Clone, Copy)]
struct Tried {
    freed: usize,
    size: u64,
}

impl Tried {
    /// The number between the two at which the size would be `limit` if it grew evenly; neither of them itself.
    fn towards(self, over: Self, limit: u64) -> usize {
        let (span, nodes) = (over.size.saturating_sub(self.size).max(1), over.freed - self.freed);
        let part = u128::from(limit.saturating_sub(self.size)) * nodes as u128 / u128::from(span);
        let part = usize::try_from(part).unwrap_or(nodes);
        self.freed + part.clamp(1, nodes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Algorithm;
    use crate::engine::plan;
    use crate::plan::testing::Cluster;
    use crate::verify::check_plan;

    /// 40 nodes with a pod of two cards each: ten could hold them.
    fn spread() -> Snapshot {
        let mut cluster = Cluster::new().nodes(40, 8);
        for at in 1..=40 {
            cluster = cluster.group(&format!("a/g{at}"), 1).pod(&format!("a/p{at} n{at} 2 g{at}"));
        }
        cluster.build()
    }

    fn request(algorithm: Algorithm, limit: Option<u64>) -> Request {
        Request { algorithm, max_object_bytes: limit, ..Request::for_resource("x.io/npu") }
    }

    #[test]
    fn a_plan_that_is_too_large_frees_as_many_nodes_as_fit_and_says_so() {
        let snapshot = spread();
        for algorithm in [Algorithm::Search, Algorithm::Drain] {
            let whole = plan(&snapshot, &request(algorithm, None)).unwrap();
            assert_eq!((whole.plan.freed.len(), whole.report.limited_by_size), (30, false));
            let all = size(&snapshot, &whole, false);
            assert_eq!(plan(&snapshot, &request(algorithm, Some(all))).unwrap(), whole, "{algorithm:?}");
            for limit in [all - 1, all * 2 / 3, all / 2, all * 2 / 5] {
                let request = request(algorithm, Some(limit));
                let planned = plan(&snapshot, &request).unwrap();
                let freed = planned.plan.freed.len();
                assert!(
                    size(&snapshot, &planned, false) <= limit,
                    "{algorithm:?}: {freed} nodes, {limit} bytes"
                );
                let more = Request { max_freed_nodes: u64::try_from(freed + 1).ok(), ..request.clone() };
                let mut more = plan_of_any_size(&snapshot, &more).unwrap();
                more.report.limited_by_size = true;
                assert!(size(&snapshot, &more, false) > limit, "{algorithm:?}: {freed} nodes, {limit} bytes");
                assert!(planned.report.limited_by_size && planned.report.upper_bound == 30);
                assert!(check_plan(&snapshot, &request, &planned.plan).is_empty());
                let codes: Vec<&str> = planned.report.kept.iter().map(|kept| kept.why.code()).collect();
                assert!(codes.contains(&"SizeLimit") && !codes.contains(&"EnoughFreed"), "{codes:?}");
                let status = dry_run_status(&snapshot, &planned);
                assert!(status.plan.as_ref().is_some_and(|plan| plan.limited_by_size));
                assert!(status.message.ends_with("does not fit into one run."), "{}", status.message);
            }
        }
    }

    #[test]
    fn where_not_even_one_node_fits_there_is_no_plan_and_the_size_is_named() {
        let snapshot = spread();
        let planned = plan(&snapshot, &request(Algorithm::Search, Some(100))).unwrap();
        assert!(planned.plan.is_empty() && planned.report.limited_by_size);
        assert_eq!(planned.report.conclusion, Conclusion::Insufficient { best: 0 });
        assert!(planned.report.kept.iter().all(|kept| kept.why == Kept::SizeLimit));
        let message = dry_run_status(&snapshot, &planned).message;
        assert!(message.contains("within scope, budgets and the size of one run"), "{message}");
    }

    #[test]
    fn the_percentage_that_is_asked_for_is_that_of_the_plan_that_fits() {
        let snapshot = spread();
        let half = size(&snapshot, &plan(&snapshot, &request(Algorithm::Search, None)).unwrap(), false) / 2;
        let asked = |percent| {
            let request =
                Request { min_improvement_percent: percent, ..request(Algorithm::Search, Some(half)) };
            plan(&snapshot, &request).unwrap()
        };
        let freed = asked(1).plan.freed.len();
        assert!((5..25).contains(&freed), "{freed}");
        let best = i64::try_from(freed).unwrap();
        assert_eq!(asked(best * 100 / 40 + 1).report.conclusion, Conclusion::Insufficient { best });
    }

    #[test]
    fn few_plans_are_made_of_many_nodes() {
        for most in [2_usize, 30, 3_207] {
            // Twice as large for the dear half as the proportion says.
            let size = |freed: usize| u64::try_from(2_000 + freed * 300 + freed * freed / 9).unwrap();
            for share in [1, 10, 50, 90, 99] {
                let limit = size(0) + (size(most) - size(0)) * share / 100;
                let mut made = 0;
                let look = |freed| {
                    made += 1;
                    Ok(size(freed))
                };
                let fits = largest(Tried { freed: most, size: size(most) }, limit, look).unwrap();
                assert!(size(fits) <= limit && size(fits + 1) > limit, "{most} nodes, {share} %: {fits}");
                assert!(made <= most.ilog2() + 2, "{most} nodes, {share} %: {made} plans");
            }
        }
    }
}
