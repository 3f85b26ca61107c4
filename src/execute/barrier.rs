//! The preparation, before any eviction: the rights, the finalizer, a lease on every affected `PodGroup`, the label, the namespaces of
//! the webhook, and a probe per namespace that the gate really comes.
//!
//! Whoever takes a run up prepares again: every step may be repeated.
//!
//! May import: api, snapshot, filter

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::command::{About, Answer, Command, GroupRef, Refusal};
use super::journal::left;
use super::machine::{Execution, Next, wait_of, words};
use super::memory::Retry;
use super::seen::Sight;
use crate::api::Reason;
use crate::api::names::PLACEMENT_LEASE_ANNOTATION;
use crate::filter::SchedulerRules;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, GroupOrigin};

/// Attempts at a step before the preparation fails.
const MOST_ATTEMPTS: u32 = 6;
/// The API server takes up a changed webhook within about a second: so many looks, so far apart.
const PROBES: u32 = 30;
const BETWEEN_PROBES: SignedDuration = SignedDuration::from_millis(400);

impl Execution {
    /// The next step of the preparation.
    pub(super) fn prepare(&mut self, sight: &Sight<'_>, now: Timestamp) -> Next {
        self.decide_gates(sight);
        if self.memory.steps.is_empty() {
            match self.steps(sight) {
                Ok(steps) => self.memory.steps = steps,
                Err(why) => return self.unprepared(&why, now),
            }
        }
        let Some(command) = self.memory.steps.get(self.memory.barrier).cloned() else {
            self.memory.prepared = Some(true);
            self.tell_prepared();
            return Next::Wait(Some(now));
        };
        self.when_due("barrier", command, now)
    }

    /// All steps in their order.
    fn steps(&self, sight: &Sight<'_>) -> Result<Vec<Command>, String> {
        let namespaces: BTreeSet<String> = self.relocations().iter().map(|r| r.namespace.clone()).collect();
        let mut steps = self.reviews(&namespaces);
        steps.push(Command::Finalizer(true));
        for group in self.groups(sight.snapshot) {
            let facts = &sight.snapshot.groups[group.at()];
            if let Some(lease) = lease_of(sight.snapshot, group)
                && lease != self.run.tag()
                && (sight.works)(lease)
            {
                let name = sight.snapshot.group_key(group);
                return Err(format!("PodGroup {name} is leased by another run ({lease})"));
            }
            let group = GroupRef {
                namespace: sight.snapshot.namespace_name(facts.namespace).to_owned(),
                name: sight.snapshot.text(facts.name).to_owned(),
                uid: sight.snapshot.text(facts.uid).to_owned(),
            };
            steps.push(Command::Lease { group, held: true });
        }
        steps.push(Command::ActiveLabel(true));
        steps.push(Command::Webhooks { namespaces: namespaces.iter().cloned().collect() });
        steps.extend(namespaces.into_iter().map(|namespace| Command::Probe { namespace }));
        Ok(steps)
    }

    /// The groups of the relocations that are objects, by namespace and name.
    pub(super) fn groups(&self, snapshot: &Snapshot) -> Vec<GroupIdx> {
        let wanted: BTreeSet<(&str, &str)> = self
            .relocations()
            .iter()
            .flat_map(|r| {
                let later = r.replacement_pod_group_name.as_deref();
                [Some(r.pod_group_name.as_str()), later].map(|name| name.map(|name| (&*r.namespace, name)))
            })
            .flatten()
            .collect();
        let found = wanted.into_iter().filter_map(|(namespace, name)| group_named(snapshot, namespace, name));
        found.filter(|group| snapshot.groups[group.at()].origin == GroupOrigin::Object).collect()
    }

    /// Whether replacements have to be gated: a scheduler of kube binds an ungated one within milliseconds.
    fn needs_gate(&self, sight: &Sight<'_>) -> bool {
        self.orders.require_gate.unwrap_or_else(|| {
            let volcano = |name: &str| self.orders.schedulers.rules_of(name) == Some(SchedulerRules::Volcano);
            self.relocations().iter().any(|relocation| {
                let group = group_named(sight.snapshot, &relocation.namespace, &relocation.pod_group_name);
                let pods = group.map(|group| sight.snapshot.groups[group.at()].pods.as_slice());
                let scheduler = |&pod| sight.snapshot.text(sight.snapshot.spec_of(pod).scheduler);
                !pods.unwrap_or_default().iter().all(|pod| volcano(scheduler(pod)))
            })
        })
    }

    /// Takes the answer to a step.
    pub(super) fn prepared(&mut self, command: &Command, answer: &Answer, now: Timestamp) {
        let gated = |answer: &Answer| matches!(answer, Answer::Pod(Some(seen)) if seen.is_gated());
        match (command, answer) {
            (Command::Probe { .. }, answer) if gated(answer) => self.step_done(),
            (Command::Probe { namespace }, Answer::Pod(_)) => {
                let waited = self.memory.retries.get("barrier").map_or(0, |retry| retry.attempts) + 1;
                let since = now;
                let retry = Retry { attempts: waited, at: now + BETWEEN_PROBES, since };
                self.memory.retries.insert("barrier".to_owned(), retry);
                if waited >= PROBES {
                    self.no_gates(&format!("a pod in namespace {namespace} came back without the gate"), now);
                }
            }
            (Command::Finalizer(on), Answer::Done) => {
                self.finalizer = *on;
                self.step_done();
            }
            (Command::ActiveLabel(on), Answer::Done) => {
                self.active = *on;
                self.step_done();
            }
            (_, Answer::Done) => self.step_done(),
            (Command::Finalizer(_) | Command::ActiveLabel(_), Answer::Refused(Refusal { code: 404, .. })) => {
                self.gone = true;
            }
            (Command::Finalizer(_) | Command::ActiveLabel(_), Answer::Refused(Refusal { code: 409, .. })) => {
                self.memory.reread = true;
            }
            (Command::Webhooks { .. } | Command::Probe { .. }, Answer::Refused(Refusal { code, .. }))
                if (400..500).contains(code) && *code != 409 && *code != 429 =>
            {
                self.no_gates(&format!("cannot {}: {}", command.what(), words(answer)), now);
            }
            (command, Answer::Refused(Refusal { code: 403, .. })) => {
                let _ = self.unprepared(&format!("cannot {}: {}", command.what(), words(answer)), now);
            }
            (command, answer) => {
                if self.memory.again("barrier", wait_of(answer), now) >= MOST_ATTEMPTS {
                    let why = format!("cannot {}: {}", command.what(), words(answer));
                    if matches!(command, Command::Webhooks { .. } | Command::Probe { .. }) {
                        self.no_gates(&why, now);
                    } else {
                        let _ = self.unprepared(&why, now);
                    }
                }
            }
        }
    }

    fn step_done(&mut self) {
        self.memory.barrier += 1;
        self.memory.worked("barrier");
    }

    /// Gates do not come: the end of it where they have to.
    fn no_gates(&mut self, why: &str, now: Timestamp) {
        self.memory.worked("barrier");
        if self.memory.gate_needed.unwrap_or(true) {
            let _ = self.unprepared(&format!("replacements would not be held at a gate: {why}"), now);
        } else {
            self.memory.prepared = Some(false);
            self.tell_prepared();
        }
    }

    /// The preparation failed: nothing is evicted any more, and where nothing was the run ends.
    fn unprepared(&mut self, why: &str, now: Timestamp) -> Next {
        let evicted = self.relocations().iter().any(|relocation| left(relocation.eviction.phase));
        self.memory.stop = Some((Reason::ExecutionPreparationFailed, why.to_owned()));
        if !evicted {
            self.end(Some(Reason::ExecutionPreparationFailed), why.to_owned());
        }
        Next::Wait(Some(now))
    }

    fn tell_prepared(&mut self) {
        let gates = if self.memory.prepared == Some(true) {
            "new pods of the affected groups wait at the gate"
        } else {
            "new pods of the affected groups are not gated"
        };
        let message = format!("Prepared to move {} pods: {gates}.", self.relocations().len());
        self.memory.events.push_back(Command::Tell {
            about: About::Run,
            reason: "ExecutePrepared",
            message,
            warning: false,
        });
    }

    /// Decides once whether gates are needed, as long as the victims are there to say so.
    pub(super) fn decide_gates(&mut self, sight: &Sight<'_>) {
        if self.memory.gate_needed.is_none() {
            self.memory.gate_needed = Some(self.needs_gate(sight));
        }
    }
}

/// The group of that name.
pub(super) fn group_named(snapshot: &Snapshot, namespace: &str, name: &str) -> Option<GroupIdx> {
    let key = |group: &crate::snapshot::model::PodGroup| {
        (snapshot.namespace_name(group.namespace).to_owned(), snapshot.text(group.name).to_owned())
    };
    let wanted = (namespace.to_owned(), name.to_owned());
    snapshot.groups.binary_search_by(|group| key(group).cmp(&wanted)).ok().map(GroupIdx::new)
}

/// The lease on a group, as `NAME/UID` of a run.
pub(super) fn lease_of(snapshot: &Snapshot, group: GroupIdx) -> Option<&str> {
    let key = snapshot.symbols.find(PLACEMENT_LEASE_ANNOTATION)?;
    snapshot.groups[group.at()].annotations.get(key).map(|value| snapshot.text(value))
}
