//! `plan [groups=N] [cards=N] [free=N] [min=PERCENT] [nodes=(n1 …)] [not-nodes=(…)] [only=(a …)] [not=(…)]
//! [with=(k=v …)] [schedulers=(…)] [allow=(…)] [preemptable] [wait] [benefit=N] [now=SECONDS] [min-age=SECONDS]
//! [recent=(a1:SECONDS …)] [warnings] [rooms] [apply]`: what each algorithm plans.
//!
//! `nodes=`, `only=` are the names of the scope, `with=` a selector on `PodGroup`s. `wait` is `onBlockedPDB: Wait`,
//! `recent=` says when an earlier run moved a pod of a Volcano Job.
//! `rooms` prints the room that waiting and returning pods get, and the gangs that fit only once victims have left.
//! `apply` makes the moves true for the commands after it. Prints the totals, the drawing afterwards, the moves in
//! their order, and why each other occupied node stays.

use kubectl_repack::api::{LabelSelector, ObjectSelection, OnBlockedPdb, ScopeRule};
use kubectl_repack::plan::outcome::Conclusion;
use kubectl_repack::plan::request::RecentMove;
use kubectl_repack::plan::{Plan, Planned, Request, make};
use kubectl_repack::snapshot::Snapshot;
use kubectl_repack::verify::check_plan;

use crate::Outcome;
use crate::drawing;
use crate::text::{Args, Command};
use crate::world::{CARDS, World, letter_of};

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let request = request(&mut args)?;
    let (apply, warnings, rooms) = (args.flag("apply"), args.flag("warnings"), args.flag("rooms"));
    args.done()?;
    let snapshot = world.snapshot()?;
    let planned = make(&snapshot, &request)?;
    check(&snapshot, &request, &planned.plan)?;
    let mut text = totals("drain", &planned);
    text.push_str(&searched(&snapshot, &request, &planned)?);
    if !planned.plan.is_empty() {
        let resource = planned.plan.resource;
        text.push_str(&drawing::after(&snapshot, resource, &world.nodes, &planned.plan));
        text.push_str(&moves(&snapshot, &planned.plan));
    }
    for kept in &planned.report.kept {
        let (node, why) = (snapshot.node_name(kept.node), &kept.why);
        text.push_str(&format!("kept {node}: {}: {}\n", why.code(), why.sentence(&snapshot)));
    }
    if rooms {
        text.push_str(&waiting(&snapshot, &planned));
    }
    if warnings {
        text.extend(planned.report.warnings.iter().map(|warning| format!("warning: {warning}\n")));
    }
    if apply {
        apply_moves(&snapshot, &planned.plan, world)?;
    }
    Ok(text)
}

/// The request that the words say.
pub fn request(args: &mut Args) -> Result<Request, String> {
    let mut request = Request::for_resource(CARDS);
    request.algorithm = kubectl_repack::api::Algorithm::Drain;
    request.budget.pod_groups = args.number("groups")?;
    if let Some(cards) = args.number("cards")? {
        request.budget.resources.insert(CARDS.to_owned(), cards);
    }
    request.max_freed_nodes = args.number("free")?;
    request.min_benefit = args.number("benefit")?;
    request.now = args.number("now")?;
    request.min_improvement_percent = args.number("min")?.unwrap_or(0);
    let keys = |names: Vec<String>| names.into_iter().map(|name| format!("default/{name}")).collect();
    request.scope.nodes = rule(args.list("nodes"), None, args.list("not-nodes"));
    let with = args.pairs("with")?;
    let selector = with
        .map(|pairs| serde_json::from_value(serde_json::json!({"matchLabels": pairs})))
        .transpose()
        .map_err(|fault| fault.to_string())?;
    request.scope.pod_groups = rule(keys(args.list("only")), selector, keys(args.list("not")));
    let movability = &mut request.movability;
    let schedulers = args.list("schedulers");
    if !schedulers.is_empty() {
        movability.schedulers = schedulers;
    }
    for word in args.list("allow") {
        match word.as_str() {
            "ungrouped" => movability.allow_ungrouped = true,
            "host-path" => movability.allow_host_path = true,
            "managed-elsewhere" => movability.allow_managed_elsewhere = true,
            "custom-owners" => movability.allow_custom_owners = true,
            "late-recovery" => movability.allow_late_recovery = true,
            "may-terminate" => movability.allow_may_terminate = true,
            other => return Err(format!("allow={other} is unknown")),
        }
    }
    for word in args.list("recent") {
        let (pod, at) = word.split_once(':').ok_or_else(|| format!("{word:?} is not POD:SECONDS"))?;
        movability.recent_moves.push(RecentMove {
            namespace: "default".to_owned(),
            owner_kind: "Job".to_owned(),
            owner_name: letter_of(pod).to_owned(),
            pod_name: pod.to_owned(),
            at: at.parse().map_err(|_| format!("{at} is no number"))?,
            ..RecentMove::default()
        });
    }
    movability.only_preemptable = args.flag("preemptable");
    movability.min_pod_age_seconds = args.number("min-age")?.unwrap_or(0);
    if args.flag("wait") {
        movability.on_blocked_pdb = OnBlockedPdb::Wait;
    }
    request
        .validate()
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    Ok(request)
}

fn rule(names: Vec<String>, selector: Option<LabelSelector>, not: Vec<String>) -> Option<ScopeRule> {
    let include = ObjectSelection { selector, names };
    let exclude = ObjectSelection { selector: None, names: not };
    let some = |selection: ObjectSelection| (!selection.is_empty()).then_some(selection);
    let rule = ScopeRule { include: some(include), exclude: some(exclude) };
    (rule.include.is_some() || rule.exclude.is_some()).then_some(rule)
}

/// What Search comes to, where it comes to more than Drain. It is never worse, and its plan holds as well.
fn searched(snapshot: &Snapshot, request: &Request, drained: &Planned) -> Result<String, String> {
    let mut request = request.clone();
    request.algorithm = kubectl_repack::api::Algorithm::Search;
    request.effort = 50_000;
    let planned = make(snapshot, &request)?;
    check(snapshot, &request, &planned.plan)?;
    let rank =
        |plan: &Plan| (plan.freed.len(), std::cmp::Reverse(plan.disruption.cost(request.weights.array())));
    let (mine, theirs) = (rank(&planned.plan), rank(&drained.plan));
    if mine < theirs {
        return Err(format!("Search frees {} nodes, Drain {}", mine.0, theirs.0));
    }
    Ok(if mine > theirs { totals("search", &planned) } else { String::new() })
}

/// The algorithm whose plan it is, then what it comes to.
fn totals(algorithm: &str, planned: &Planned) -> String {
    let report = &planned.report;
    let freed = i64::try_from(planned.plan.freed.len()).unwrap_or(i64::MAX);
    let (before, after) = report.excess(freed);
    let percent = |excess| kubectl_repack::api::whole_percent(excess, report.before.providing);
    match report.conclusion {
        Conclusion::Recommended => {
            let cost = planned.plan.disruption;
            let tenths = cost.cost([10, 8, 6, 3, 1]);
            format!(
                "{algorithm}: freed {freed} of bound {}, rate {}% -> {}%, moved {} in {} of {}, breached {}, cost {}.{}\n",
                report.upper_bound,
                percent(before),
                percent(after),
                counted(cost.moved_cards, "card"),
                counted(cost.moved_pods, "pod"),
                counted(cost.affected_groups, "group"),
                cost.breached_groups,
                tenths / 10,
                tenths % 10,
            )
        }
        Conclusion::NotFragmented => format!("{algorithm}: not fragmented, rate {}%\n", percent(before)),
        Conclusion::NotUsed => format!("{algorithm}: nothing uses the resource\n"),
        Conclusion::Insufficient { best } => {
            format!("{algorithm}: no plan, best frees {best}, rate {}%\n", percent(before))
        }
    }
}

/// A plan that the verifier doubts fails its case, whatever is expected.
fn check(snapshot: &Snapshot, request: &Request, plan: &Plan) -> Result<(), String> {
    if plan.is_empty() {
        return Ok(());
    }
    let findings = check_plan(snapshot, request, plan);
    if findings.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(|finding| finding.line(snapshot)).collect();
    Err(format!("the verifier doubts the plan: {}", lines.join("; ")))
}

/// One line per move; waves are numbered where there is more than one.
fn moves(snapshot: &Snapshot, plan: &Plan) -> String {
    let several = plan.wave_count() > 1;
    let mut text = String::new();
    for (m, wave) in plan.moves.iter().zip(&plan.waves) {
        let (from, to) = (snapshot.node_name(m.from), snapshot.node_name(m.to));
        let cascade = if m.cascade { "  cascade" } else { "" };
        let gated = if m.gated { "  gated" } else { "" };
        let wave = if several { format!("  wave {}", wave + 1) } else { String::new() };
        text.push_str(&format!("  {}: {from} -> {to}{cascade}{gated}{wave}\n", snapshot.pod_name(m.pod)));
    }
    text
}

/// Who gets which room first, and who would take which receivers.
fn waiting(snapshot: &Snapshot, planned: &Planned) -> String {
    let mut text = String::new();
    for room in &planned.plan.reserved {
        let what = if room.replaces { "the replacement of " } else { "" };
        let (pod, node) = (snapshot.pod_name(room.pod), snapshot.node_name(room.node));
        text.push_str(&format!("room on {node}: {what}{pod}\n"));
    }
    for taker in &planned.report.takers {
        let pods: Vec<&str> = taker.pods.iter().map(|&pod| snapshot.pod_name(pod)).collect();
        let nodes: Vec<&str> = taker.receivers.iter().map(|&node| snapshot.node_name(node)).collect();
        text.push_str(&format!("takers {}: could use [{}]\n", pods.join(" "), nodes.join(" ")));
    }
    text
}

/// What the cluster looks like when every replacement has the name of its victim.
fn apply_moves(snapshot: &Snapshot, plan: &Plan, world: &mut World) -> Result<(), String> {
    for m in &plan.moves {
        for pod in world.pods(snapshot.pod_name(m.pod), None)? {
            pod["spec"]["nodeName"] = snapshot.node_name(m.to).into();
        }
    }
    Ok(())
}

/// `1 card`, `2 cards`.
pub fn counted(n: i64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
