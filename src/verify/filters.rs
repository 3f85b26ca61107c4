//! Every move passes its scheduler's rules: when all moves are done, and at its turn.
//!
//! At its turn the moves before it are done, those after it have not begun, and its own victim is gone or still
//! terminating, as its controller waits for the end or not. Only a gated replacement may need its own victim gone.
//! Pods that are recreated as a whole are all gone before the first of them comes back. Waiting pods have their room
//! all the time, pods that will replace terminating ones once their node is emptied.
//!
//! May import: snapshot, filter, `plan::types`, `plan::request`

use std::collections::{BTreeMap, BTreeSet};

use super::cascade::Returns;
use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use super::{takers, waiting};
use crate::filter::{Change, Detail, Failure, Incoming, State, Tenant, Verdict, evaluate};
use crate::plan::types::Move;
use crate::snapshot::model::{PodIdx, Sym};

/// All checks of this file.
pub(super) fn check(facts: &Facts<'_>, returns: &Returns, findings: &mut Vec<Finding>) {
    let coming = Coming::new(facts, returns);
    let schedulers = facts.request.movability.declared_rules();
    let mut state = State::with_schedulers(facts.snapshot, &schedulers);
    state.release_claims();
    waiting::check(facts, &mut state, findings);
    for room in facts.plan.reserved.iter().filter(|room| waiting::goes_with(facts, room).is_none()) {
        waiting::take(facts, &mut state, room);
    }
    takers::check(facts, &mut state, findings);
    let start = state.checkpoint();
    findings.extend(in_the_end(facts, &coming, &mut state));
    state.rollback(start);
    findings.extend(at_their_turn(facts, &coming, &mut state));
}

/// What is known about replacements, by victim.
struct Coming<'r> {
    /// How the eviction that takes a pod down makes it come back.
    returns: BTreeMap<PodIdx, &'r crate::verify::reaction::Return>,
}

impl<'r> Coming<'r> {
    fn new(facts: &Facts<'_>, returns: &'r Returns) -> Self {
        let mut all = BTreeMap::new();
        for moved in facts.plan.moves.iter().filter(|m| !m.cascade) {
            let Some(answer) = returns.get(&moved.pod) else { continue };
            for &pod in &answer.unit {
                all.entry(pod).or_insert(answer);
            }
        }
        Self { returns: all }
    }

    fn incoming(&self, facts: &Facts<'_>, moved: &Move) -> Incoming {
        let same_name = self.returns.get(&moved.pod).is_none_or(|answer| answer.same_name);
        let name = if same_name { facts.snapshot.pod(moved.pod).name } else { Sym::EMPTY };
        Incoming { spec: moved.spec, pod: None, replaces: Some(moved.pod), name }
    }

    /// Pods that leave together with this one; itself where nothing is known.
    fn unit(&self, pod: PodIdx) -> BTreeSet<PodIdx> {
        self.returns.get(&pod).map_or_else(|| BTreeSet::from([pod]), |answer| answer.unit.clone())
    }

    fn after_gone(&self, pod: PodIdx) -> bool {
        self.returns.get(&pod).is_some_and(|answer| answer.after_gone)
    }
}

/// The end: every victim gone, every replacement in its place. Each is asked about as if it came last.
fn in_the_end(facts: &Facts<'_>, coming: &Coming<'_>, state: &mut State<'_>) -> Vec<Finding> {
    for moved in &facts.plan.moves {
        state.remove(moved.pod);
    }
    for moved in &facts.plan.moves {
        state.place(coming.incoming(facts, moved), moved.to);
    }
    for room in facts.plan.reserved.iter().filter(|room| waiting::goes_with(facts, room).is_some()) {
        waiting::take(facts, state, room);
    }
    let mut findings = waiting::in_the_end(facts, state);
    for moved in &facts.plan.moves {
        let incoming = coming.incoming(facts, moved);
        let before = state.checkpoint();
        let tenant = Tenant::bound(facts.snapshot, incoming);
        state.apply(Change { tenant, node: moved.to, arrives: false });
        let verdict = evaluate(state, incoming, moved.to);
        state.rollback(before);
        findings.extend(refusal(&verdict).map(|why| finding(facts, Check::RefusedInTheEnd, moved, why)));
    }
    findings
}

fn at_their_turn(facts: &Facts<'_>, coming: &Coming<'_>, state: &mut State<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut emptying = None;
    for moved in &facts.plan.moves {
        if !moved.cascade && emptying != Some(moved.from) {
            for room in &facts.plan.reserved {
                if emptying.is_some() && waiting::goes_with(facts, room) == emptying {
                    waiting::take(facts, state, room);
                }
            }
            emptying = Some(moved.from);
        }
        let unit = coming.unit(moved.pod);
        let whole = unit.len() > 1;
        // Of a unit nobody comes back before all are gone; removing a pod that is gone already does nothing.
        for &pod in unit.iter().filter(|_| whole) {
            state.remove(pod);
        }
        let incoming = coming.incoming(facts, moved);
        if whole || moved.gated || coming.after_gone(moved.pod) {
            state.remove(moved.pod);
        } else {
            state.terminate(moved.pod);
        }
        let verdict = evaluate(state, incoming, moved.to);
        findings.extend(refusal(&verdict).map(|why| finding(facts, Check::RefusedAtItsTurn, moved, why)));
        state.remove(moved.pod);
        state.place(incoming, moved.to);
    }
    findings
}

/// Waiting is no pass: at its turn a replacement is bound at once, or the order is wrong.
fn refusal(verdict: &Verdict) -> Option<&Failure> {
    match verdict {
        Verdict::Pass => None,
        Verdict::Wait(why) | Verdict::Fail(why) => Some(why),
    }
}

fn finding(facts: &Facts<'_>, check: Check, moved: &Move, why: &Failure) -> Finding {
    let node = facts.snapshot.node_name(moved.to);
    let why_not = match &why.detail {
        Detail::Insufficient { resource, need, have } => {
            let name = facts.snapshot.resource_name(*resource);
            format!("too little {name}, {need} asked for and {have} free in the units of its scheduler")
        }
        other => format!("{other:?}"),
    };
    let text = format!("{} refuses it on {node}: {why_not}", why.plugin);
    Finding::new(check, Subject::Pod(moved.pod), text)
}
