//! Compares our verdicts with recorded ones of the real schedulers.
//!
//! A case file is one cluster with many questions: objects as a cluster lists them, then per query a pod (or the name
//! of one among the objects), perhaps a pod that is gone or terminating, and what the scheduler said about every
//! node. Two kinds exist: kube-scheduler's (first failing plugin, and every plugin asked alone) and Volcano's
//! (binds now, or waits for releasing pods).
//!
//! May import: snapshot, filter

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Code, Incoming, Prepared, SchedulerRules, Schedulers, State, Verdict};
use crate::snapshot::Snapshot;
use crate::snapshot::build::{BuildOptions, Builder};
use crate::snapshot::model::{NodeIdx, PodIdx};
use crate::snapshot::read::{InputError, read_all};
use crate::snapshot::view::pod::PodView;

#[derive(Deserialize)]
struct Case {
    name: String,
    /// Present in Volcano's files only.
    volcano: Option<String>,
    objects: Vec<Value>,
    queries: Vec<Query>,
}

#[derive(Deserialize)]
struct Query {
    #[serde(default)]
    kind: String,
    pod: Value,
    remove: Option<Name>,
    terminate: Option<Name>,
    verdicts: BTreeMap<String, Theirs>,
}

#[derive(Deserialize)]
struct Name {
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Theirs {
    pass: bool,
    future_pass: bool,
    plugin: String,
    all: Vec<TheirFailure>,
}

#[derive(Deserialize)]
struct TheirFailure {
    plugin: String,
    code: String,
}

/// One verdict that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Name of the case.
    pub case: String,
    /// Position of the query in its case.
    pub query: usize,
    /// Kind of the query.
    pub kind: String,
    /// The pod, `namespace/name`.
    pub pod: String,
    /// The node.
    pub node: String,
    /// What we say.
    pub ours: String,
    /// What the scheduler said.
    pub theirs: String,
}

/// Result of comparing a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Verdicts compared.
    pub verdicts: usize,
    /// Those that differ, in the order of the file.
    pub disagreements: Vec<Disagreement>,
}

/// How much must agree in kube-scheduler's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Pass or not, and the first plugin that refuses.
    First,
    /// Also every plugin that refuses when asked alone, with its code.
    All,
}

/// Compares one case file (JSON, unpacked). `file` is its name for messages.
pub fn compare(bytes: &[u8], file: &str, depth: Depth) -> Result<Comparison, InputError> {
    let case: Case = serde_json::from_slice(bytes).map_err(|e| InputError::file(file, e.to_string()))?;
    let rules = if case.volcano.is_some() { SchedulerRules::Volcano } else { SchedulerRules::Kube };
    let objects = serde_json::json!({ "kind": "List", "items": case.objects }).to_string();
    let mut comparison = Comparison::default();
    for (at, query) in case.queries.iter().enumerate() {
        let (snapshot, pod) = build(&objects, query, rules, file)?;
        let mut state = State::of_complete_input(&snapshot, &Schedulers::default());
        if let Some(gone) = query.remove.as_ref().and_then(|name| find(&snapshot, name)) {
            state.remove(gone);
        }
        if let Some(leaving) = query.terminate.as_ref().and_then(|name| find(&snapshot, name)) {
            state.terminate(leaving);
        }
        let prepared = Prepared::with_rules(&state, rules, Incoming::pending(&snapshot, pod));
        for (name, theirs) in &query.verdicts {
            let Some(node) = snapshot.node_named(name) else {
                return Err(InputError::file(
                    file,
                    format!("query {at}: node \"{name}\" is not in the case"),
                ));
            };
            comparison.verdicts += 1;
            let (ours, theirs) = match rules {
                SchedulerRules::Volcano => (our_volcano(&prepared, node), their_volcano(theirs)),
                _ => (our_kube(&prepared, node, depth), their_kube(theirs, depth)),
            };
            if ours != theirs {
                comparison.disagreements.push(Disagreement {
                    case: case.name.clone(),
                    query: at,
                    kind: query.kind.clone(),
                    pod: snapshot.pod_key(pod),
                    node: name.clone(),
                    ours: format!("{ours} {:?}", prepared.verdict(node)),
                    theirs,
                });
            }
        }
    }
    Ok(comparison)
}

/// The cluster of a query, and its pod: a candidate, or one of the objects when the query only names it.
fn build(
    objects: &str,
    query: &Query,
    rules: SchedulerRules,
    file: &str,
) -> Result<(Snapshot, PodIdx), InputError> {
    let fault = |e: &dyn std::fmt::Display| InputError::file(file, e.to_string());
    let options = BuildOptions {
        // Volcano's libraries are one version behind.
        kubernetes_minor: if rules == SchedulerRules::Volcano { 36 } else { 37 },
        refuse_unknown_nodes: false,
        refuse_duplicates: false,
    };
    let mut builder = Builder::new(options);
    read_all(objects.as_bytes(), file, &mut builder)?;
    if query.pod.get("spec").is_some() {
        let text = query.pod.to_string();
        let view: PodView<'_> = serde_json::from_str(&text).map_err(|e| fault(&e))?;
        builder.candidate(&view)?;
        let snapshot = builder.finish()?;
        let pod = snapshot.candidates[0];
        return Ok((snapshot, pod));
    }
    let name: Name = Name::deserialize(&query.pod).map_err(|e| fault(&e))?;
    let snapshot = builder.finish()?;
    let pod = find(&snapshot, &name).ok_or_else(|| fault(&format!("pod {} is missing", name.name)))?;
    Ok((snapshot, pod))
}

fn find(snapshot: &Snapshot, wanted: &Name) -> Option<PodIdx> {
    let all = (0..snapshot.pods.len()).map(PodIdx::new);
    all.filter(|pod| !snapshot.candidates.contains(pod)).find(|&pod| {
        snapshot.pod_name(pod) == wanted.name
            && snapshot.namespace_name(snapshot.pod(pod).namespace) == wanted.namespace
    })
}

const fn code(code: Code) -> &'static str {
    match code {
        Code::Unschedulable => "Unschedulable",
        Code::Unresolvable => "UnschedulableAndUnresolvable",
        Code::Error => "Error",
        Code::Unknown => "Unknown",
    }
}

fn our_kube(prepared: &Prepared<'_>, node: NodeIdx, depth: Depth) -> String {
    let verdict = prepared.verdict(node);
    if prepared.fits(node) != verdict.passes() {
        return "the fast path differs".to_owned();
    }
    let first = match &verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Wait(failure) => format!("wait for {}", failure.plugin),
        Verdict::Fail(failure) if failure.code == Code::Unknown => format!("unknown {}", failure.plugin),
        Verdict::Fail(failure) => failure.plugin.to_string(),
    };
    let all = prepared.explain(node);
    list(first, all.iter().map(|f| (f.plugin.as_str(), code(f.code))), depth)
}

fn their_kube(theirs: &Theirs, depth: Depth) -> String {
    let first = if theirs.pass { "pass".to_owned() } else { theirs.plugin.clone() };
    list(first, theirs.all.iter().map(|f| (&*f.plugin, &*f.code)), depth)
}

/// The first failure and, in depth, all of them in alphabetical order.
fn list<'a>(first: String, all: impl Iterator<Item = (&'a str, &'a str)>, depth: Depth) -> String {
    if depth == Depth::First {
        return first;
    }
    let mut parts: Vec<String> = all.map(|(plugin, code)| format!("{plugin}={code}")).collect();
    parts.sort();
    format!("{first} [{}]", parts.join(" "))
}

fn our_volcano(prepared: &Prepared<'_>, node: NodeIdx) -> String {
    let verdict = prepared.verdict(node);
    if prepared.fits(node) != verdict.passes() {
        return "the fast path differs".to_owned();
    }
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Wait(_) => "wait",
        Verdict::Fail(failure) if failure.code == Code::Unknown => "unknown",
        Verdict::Fail(_) => "fail",
    }
    .to_owned()
}

fn their_volcano(theirs: &Theirs) -> String {
    match (theirs.pass, theirs.future_pass) {
        (true, _) => "pass",
        (false, true) => "wait",
        (false, false) => "fail",
    }
    .to_owned()
}
