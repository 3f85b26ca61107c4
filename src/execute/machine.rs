//! One run being carried out: which command is next, and what its answer means.
//!
//! Invariants: a status says what is about to happen before it happens (`InProgress`, the selected node); a command is
//! sent only when the stored status allows it; sending one twice does no harm.
//!
//! May import: api, snapshot, filter, plan

use jiff::{SignedDuration, Timestamp};

use super::command::{Answer, Command, Refusal, RunSeen};
use super::journal::{Facts, Orders, facts, is_open, left, read};
use super::memory::{Ending, Memory, lies_ahead};
use super::seen::Sight;
use crate::api::{EvictionPhase, Phase, Reason, Relocation, RepackRunStatus};
use crate::snapshot::model::Pod;

/// Attempts at a request of the clean-up before it is left to whoever looks for strays.
const MOST_ATTEMPTS: u32 = 10;
/// So long an accepted eviction waits for its replacement, to be written together with it: every write carries the whole
/// record, and a process that takes the run up sees at the pod that it was evicted.
const TOGETHER: SignedDuration = SignedDuration::from_secs(1);

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRef {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl RunRef {
    /// How leases and gates name it.
    pub fn tag(&self) -> String {
        format!("{}/{}", self.name, self.uid)
    }
}

/// What there is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// This.
    Do(Command),
    /// Nothing before the cluster changes or this time comes.
    Wait(Option<Timestamp>),
    /// Nothing any more: the run has ended, or is gone.
    Finished,
}

/// The execution of a run whose status has a plan and relocations.
#[derive(Debug)]
pub struct Execution {
    pub(super) run: RunRef,
    pub(super) orders: Orders,
    /// The status as the server has it.
    pub(super) stored: RepackRunStatus,
    pub(super) facts: Vec<Facts>,
    pub(super) deleting: bool,
    pub(super) cancelled: bool,
    pub(super) finalizer: bool,
    pub(super) active: bool,
    pub(super) gone: bool,
    pub(super) memory: Memory,
}

impl Execution {
    /// Takes a run up, whoever began it. None where its status has no relocations.
    pub fn new(run: RunRef, orders: Orders, seen: RunSeen) -> Option<Self> {
        let stored = seen.status?;
        let relocations = stored.relocations.as_deref()?;
        let facts = facts(stored.plan.as_ref()?, relocations);
        Some(Self {
            run,
            orders,
            facts,
            stored,
            deleting: seen.deleting,
            cancelled: seen.cancelled,
            finalizer: seen.finalizer,
            active: seen.active,
            gone: false,
            memory: Memory::default(),
        })
    }

    /// Notes the pods that are there before anything is evicted: they are no replacements.
    pub fn know(&mut self, sight: &Sight<'_>) {
        let untouched = |relocation: &Relocation| relocation.eviction.phase == EvictionPhase::Pending;
        if self.memory.known.is_none() && self.relocations().iter().all(untouched) {
            let snapshot = sight.snapshot;
            let uid = |pod: &Pod| snapshot.text(pod.uid).to_owned();
            self.memory.known = Some(snapshot.pods.iter().map(uid).collect());
            self.memory.unplaced = snapshot.pods.iter().filter(|pod| pod.node.is_none()).map(uid).collect();
        }
    }

    /// The watch told of the run.
    pub fn observe(&mut self, seen: &RunSeen) {
        self.deleting |= seen.deleting;
        self.cancelled |= seen.cancelled;
    }

    /// Which run it is.
    pub const fn run(&self) -> &RunRef {
        &self.run
    }

    /// The status as the server has it.
    pub const fn status(&self) -> &RepackRunStatus {
        &self.stored
    }

    pub(super) fn relocations(&self) -> &[Relocation] {
        self.stored.relocations.as_deref().unwrap_or_default()
    }

    /// What comes next.
    pub fn next(&mut self, sight: &Sight<'_>, now: Timestamp) -> Next {
        if self.gone {
            return Next::Finished;
        }
        if self.memory.reread {
            return self.when_due("run", Command::ReadRun, now);
        }
        if is_terminal(&self.stored) {
            return self.close(now);
        }
        if let Some(event) = self.memory.events.pop_front() {
            return Next::Do(event);
        }
        self.notice(sight, now);
        if self.memory.ending.is_some() {
            return self.finish(sight, now);
        }
        if self.memory.prepared.is_none() && self.memory.stop.is_none() {
            return self.prepare(sight, now);
        }
        let status = self.progress(sight, now);
        let since = *self.memory.unwritten.get_or_insert(now);
        if status == self.stored {
            self.memory.unwritten = None;
        } else if !tells_only_of_evictions(&self.stored, &status) || now >= since + TOGETHER {
            return self.when_due("status", Command::WriteStatus(Box::new(status)), now);
        }
        if let Some(command) = self.place(sight, now).or_else(|| self.evict(now)) {
            return Next::Do(command);
        }
        if let Some(next) = self.review(now) {
            return next;
        }
        Next::Wait(self.earliest(now))
    }

    /// A command, or the time from which on it may be sent again.
    pub(super) fn when_due(&self, about: &str, command: Command, now: Timestamp) -> Next {
        match self.memory.retries.get(about) {
            Some(retry) if lies_ahead(retry.at, now) => Next::Wait(Some(retry.at)),
            _ => Next::Do(command),
        }
    }

    /// The status after everything that is known now.
    fn progress(&mut self, sight: &Sight<'_>, now: Timestamp) -> RepackRunStatus {
        let mut status = self.stored.clone();
        let mut relocations = status.relocations.take().unwrap_or_default();
        self.close_evictions(&mut relocations, sight, now);
        self.follow_placements(&mut relocations, sight, now);
        self.begin_evictions(&mut relocations, sight, now);
        let evicting = relocations.iter().any(|relocation| self.may_be_evicted(relocation));
        status.relocations = Some(relocations);
        self.tell_stage(&mut status, evicting, now);
        status
    }

    /// Whether an eviction is on the way or may still begin.
    pub(super) fn may_be_evicted(&self, relocation: &Relocation) -> bool {
        match relocation.eviction.phase {
            EvictionPhase::InProgress => true,
            EvictionPhase::Pending => self.memory.stop.is_none(),
            EvictionPhase::Accepted | EvictionPhase::IndirectlyRemoved | EvictionPhase::Rejected => false,
        }
    }

    /// The earliest time at which something happens by itself.
    fn earliest(&self, now: Timestamp) -> Option<Timestamp> {
        let open = self.relocations().iter().filter(|relocation| is_open(relocation));
        let windows = open.filter_map(|relocation| read(&relocation.placement.expiration_time));
        let deadline = self.deadline();
        let together = self.memory.unwritten.map(|since| since + TOGETHER);
        windows.chain(deadline).chain(together).chain(self.memory.earliest(now)).filter(|at| *at > now).min()
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.stored.execution_deadline.as_deref().and_then(read)
    }

    /// Takes what came of a command.
    pub fn answered(&mut self, command: &Command, answer: Answer, now: Timestamp) {
        match (command, answer) {
            (Command::Tell { .. }, _) => {}
            (Command::ReadRun, Answer::Run(seen)) => self.take(seen.map(|seen| *seen)),
            (Command::ReadRun, answer) => {
                self.memory.again("run", wait_of(&answer), now);
            }
            (Command::WriteStatus(status), answer) => self.status_answered(status, answer, now),
            (Command::Evict { pod, .. }, answer) => self.evict_answered(&pod.uid, answer, now),
            (Command::ReadPod(pod), answer) => self.pod_answered(pod, answer, now),
            (Command::ListPods, answer) => self.list_answered(answer, now),
            (command, answer) if self.memory.ending.is_some() || is_terminal(&self.stored) => {
                self.cleaned(command, &answer, now);
            }
            (Command::Nominate { .. } | Command::Ungate(_), answer) => {
                self.placing_answered(command, &answer, now);
            }
            (Command::Review { .. }, answer) if self.memory.prepared.is_some() => {
                self.reviewed(command, &answer, now);
            }
            (command, answer) => self.prepared(command, &answer, now),
        }
    }

    fn take(&mut self, seen: Option<RunSeen>) {
        self.memory.reread = false;
        self.memory.worked("run");
        match seen {
            Some(seen) if seen.uid == self.run.uid => {
                self.observe(&seen);
                self.finalizer = seen.finalizer;
                self.active = seen.active;
                if let Some(status) = seen.status.filter(|status| status.relocations.is_some()) {
                    self.stored = status;
                }
            }
            _ => self.gone = true,
        }
    }

    fn status_answered(&mut self, status: &RepackRunStatus, answer: Answer, now: Timestamp) {
        match answer {
            Answer::Done => {
                self.stored = status.clone();
                self.memory.unwritten = None;
                self.memory.worked("status");
            }
            Answer::Refused(Refusal { code: 404, .. }) => self.gone = true,
            answer => {
                // Whether it was written is not known, or somebody else wrote: look.
                self.memory.reread = true;
                if !matches!(answer, Answer::Refused(Refusal { code: 409, .. })) {
                    self.memory.again("status", wait_of(&answer), now);
                }
            }
        }
    }

    /// Takes the answer to a request that only tidies up: what is gone needs no tidying.
    pub(super) fn tidied(&mut self, about: &str, answer: &Answer, now: Timestamp) -> bool {
        match answer {
            Answer::Refused(Refusal { code: 404 | 422, .. }) => true,
            Answer::Refused(_) | Answer::Lost(_) => {
                self.memory.again(about, wait_of(answer), now) >= MOST_ATTEMPTS
            }
            _ => {
                self.memory.worked(about);
                true
            }
        }
    }

    /// Decides that the run ends.
    pub(super) fn end(&mut self, reason: Option<Reason>, because: impl Into<String>) {
        if self.memory.ending.is_none() {
            // What became of evictions without an answer is asked afresh, however often they were refused before.
            let open = self.relocations().iter().filter(|r| r.eviction.phase == EvictionPhase::InProgress);
            let open: Vec<String> = open.map(|relocation| relocation.victim_pod_uid.clone()).collect();
            for victim in open {
                self.memory.worked(&victim);
            }
            self.memory.ending = Some(Ending { reason, because: because.into() });
        }
    }
}

/// Whether a status says nothing more than the stored one, but that pods have left.
fn tells_only_of_evictions(stored: &RepackRunStatus, status: &RepackRunStatus) -> bool {
    let [before, after] = [stored, status].map(|status| status.relocations.as_deref().unwrap_or_default());
    let same = |(old, new): (&Relocation, &Relocation)| {
        let mut expected = old.clone();
        if !left(old.eviction.phase) && left(new.eviction.phase) {
            expected.eviction.clone_from(&new.eviction);
            expected.placement.expiration_time.clone_from(&new.placement.expiration_time);
        }
        expected == *new
    };
    before.len() == after.len() && before.iter().zip(after).all(same)
}

/// Whether a status says that its run has ended.
pub(super) const fn is_terminal(status: &RepackRunStatus) -> bool {
    matches!(status.phase, Phase::Succeeded | Phase::Failed)
}

/// The seconds that the server asks to wait.
pub(super) const fn wait_of(answer: &Answer) -> Option<u64> {
    match answer {
        Answer::Refused(refusal) => refusal.retry_after,
        _ => None,
    }
}

/// The server's words, or that there were none.
pub(super) fn words(answer: &Answer) -> String {
    match answer {
        Answer::Refused(refusal) => refusal.message.clone(),
        Answer::Lost(why) => why.clone(),
        _ => "an answer that says something else".to_owned(),
    }
}
