//! What differs between two plans: nodes and pods that are new, and those that are gone.
//!
//! May import: cli, api

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::api::{Plan, RepackRun};

/// Lines of a difference before the rest is counted.
const MOST: usize = 20;

/// The difference as text.
pub fn text(before: &RepackRun, after: &RepackRun) -> String {
    let plan =
        |run: &RepackRun| run.status.as_ref().and_then(|status| status.plan.clone()).unwrap_or_default();
    let (before, after) = (plan(before), plan(after));
    let (old, new) = (lines(&before), lines(&after));
    let mut all: Vec<String> = old.difference(&new).map(|line| format!("- {line}\n")).collect();
    all.extend(new.difference(&old).map(|line| format!("+ {line}\n")));
    let mut text = format!("plan {} -> {}\n", before.id, after.id);
    let more = all.len().saturating_sub(MOST);
    text.extend(all.into_iter().take(MOST));
    if more > 0 {
        let _ = writeln!(text, "and {more} more");
    }
    text
}

fn lines(plan: &Plan) -> BTreeSet<String> {
    let nodes = plan.freed_nodes.iter().map(|node| format!("free node {node}"));
    let pods = plan.moves.iter().flat_map(|group| {
        let namespace = &group.namespace;
        group.pods.iter().map(move |pod| format!("move {namespace}/{} from {}", pod.name, pod.from_node))
    });
    nodes.chain(pods).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{MovedPod, PlanMove, RepackRunSpec, RepackRunStatus};

    fn run(id: &str, node: &str, pods: &[&str]) -> RepackRun {
        let pod = |name: &&str| MovedPod {
            name: (*name).to_owned(),
            from_node: node.to_owned(),
            ..MovedPod::default()
        };
        let moves = PlanMove {
            namespace: "a".to_owned(),
            pods: pods.iter().map(pod).collect(),
            ..PlanMove::default()
        };
        let plan = Plan {
            id: id.to_owned(),
            freed_nodes: vec![node.to_owned()],
            moves: vec![moves],
            ..Plan::default()
        };
        let status = serde_json::json!({"phase": "Succeeded", "message": "m", "plan": plan});
        let status: RepackRunStatus = serde_json::from_value(status).unwrap();
        RepackRun { status: Some(status), ..RepackRun::new(RepackRunSpec::default()) }
    }

    #[test]
    fn what_is_gone_comes_before_what_is_new_and_the_rest_is_not_said() {
        let text = text(&run("1", "n1", &["p", "q"]), &run("2", "n1", &["p", "r"]));
        assert_eq!(text, "plan 1 -> 2\n- move a/q from n1\n+ move a/r from n1\n");
    }
}
