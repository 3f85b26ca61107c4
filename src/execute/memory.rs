//! What one process remembers of an execution. All of it may be lost: the run's status and the cluster say enough to
//! go on.
//!
//! May import: api

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::command::{Command, PodRef};
use crate::api::{Reason, RunResult};

/// First pause after a request that may work later; it doubles up to [`LONGEST_PAUSE`].
const PAUSE: i64 = 2;
/// Longest pause.
const LONGEST_PAUSE: i64 = 30;
/// The longest wait that a server may ask for.
const LONGEST_ASKED: i64 = 120;

/// How an eviction came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server accepted it.
    Accepted,
    /// The pod was gone, or going, before ours was sent.
    GoneBefore,
    /// The server refused it for good.
    Rejected(String),
}

/// Attempts at one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retry {
    pub attempts: u32,
    /// Not before this.
    pub at: Timestamp,
    /// When the first attempt failed.
    pub since: Timestamp,
}

/// How the run is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// The reason; none: whatever the result says.
    pub reason: Option<Reason>,
    /// Said before what the result says.
    pub because: String,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Steps of the preparation.
    pub steps: Vec<Command>,
    /// How many of them are done.
    pub barrier: usize,
    /// Replacements have to be gated; none: not decided yet.
    pub gate_needed: Option<bool>,
    /// The preparation is done; holds whether new pods are gated.
    pub prepared: Option<bool>,
    /// No eviction begins any more, and why.
    pub stop: Option<(Reason, String)>,
    /// Outcomes by UID of the victim.
    pub outcomes: FxHashMap<String, Outcome>,
    /// Victims that this process wrote as being evicted.
    pub own: FxHashSet<String>,
    /// Victims whose eviction this process has sent.
    pub sent: FxHashSet<String>,
    /// Seconds that each victim's replacement has, by UID of the victim.
    pub windows: FxHashMap<String, i64>,
    /// What the server said of evictions that are tried again, by UID of the victim.
    pub blocked: FxHashMap<String, String>,
    /// The victim that was just read and found alive.
    pub looked: Option<String>,
    /// UIDs of the pods that were there when the plan was made; none: this process did not make it.
    pub known: Option<FxHashSet<String>>,
    /// UIDs of those of them that had no node.
    pub unplaced: FxHashSet<String>,
    /// Since when no replacement is needed any more, by UID of the victim.
    pub unneeded: FxHashMap<String, Timestamp>,
    /// Nominations that were written, by UID of the pod.
    pub nominated: FxHashMap<String, String>,
    /// Nominations that were read back.
    pub confirmed: FxHashMap<String, String>,
    /// Pods whose gate was removed.
    pub ungated: FxHashSet<String>,
    /// Pods that replace nobody and were shown a node before they were let go, by UID.
    pub steered: BTreeMap<String, PodRef>,
    /// Why replacements have no node, by UID, with the time of that look.
    pub nowhere: FxHashMap<String, (Timestamp, String)>,
    /// Pods whose nomination was removed.
    pub released: FxHashSet<String>,
    /// What is tried again, by what it is about.
    pub retries: FxHashMap<String, Retry>,
    /// Nodes before which whoever created the run was asked about.
    pub trusted: FxHashSet<String>,
    /// The node that is asked about, and the namespaces of its victims that are still to be asked for.
    pub in_question: Option<(String, BTreeSet<String>)>,
    /// Nodes that can still be emptied as planned, as of the time they were begun.
    pub checked: FxHashSet<String>,
    /// Planned nodes that were seen without the resource after their last victim had gone.
    pub emptied: BTreeSet<String>,
    /// The run has to be read afresh.
    pub reread: bool,
    /// Since when the record lacks what is known.
    pub unwritten: Option<Timestamp>,
    /// Events about pods that were told, by UID and reason.
    pub told: FxHashSet<(String, &'static str)>,
    /// Events to send.
    pub events: VecDeque<Command>,
    /// How the run ends, once that is decided.
    pub ending: Option<Ending>,
    /// The webhook gates nothing any more.
    pub webhooks_cleared: bool,
    /// When it stopped.
    pub cleared_at: Option<Timestamp>,
    /// Pods of the run that the list shows at the gate.
    pub left_gated: Vec<PodRef>,
    /// Replacements that were let go because their window was over.
    pub expired: FxHashSet<String>,
    /// UIDs of groups and pods that are tidied up, or left to others after too many attempts.
    pub tidied: FxHashSet<String>,
    /// The end is noted for the cooldown.
    pub anchored: bool,
    /// Who holds planned nodes, in clauses, as of the list.
    pub held: Vec<String>,
    /// Who came to nodes chosen for replacements that are not bound, in clauses, as of the list.
    pub came: Vec<String>,
    /// What the look at the whole cluster came to; `Err`: it failed.
    pub verified: Option<Result<RunResult, String>>,
}

impl Memory {
    /// True when nothing speaks against trying a thing now.
    pub fn may(&self, about: &str, now: Timestamp) -> bool {
        self.retries.get(about).is_none_or(|retry| !lies_ahead(retry.at, now))
    }

    /// A thing failed and may work later; returns how often that happened.
    pub fn again(&mut self, about: &str, wait: Option<u64>, now: Timestamp) -> u32 {
        let retry =
            self.retries.entry(about.to_owned()).or_insert(Retry { attempts: 0, at: now, since: now });
        let pause = PAUSE.saturating_mul(1 << retry.attempts.min(5)).min(LONGEST_PAUSE);
        // A fifth more or less, so that two runs do not keep step; from the name, since nothing here is random.
        let spread = i64::from(about.bytes().fold(0_u8, u8::wrapping_add) % 41) - 20;
        let millis = pause * 1000 + pause * 10 * spread;
        let asked =
            wait.map_or(0, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX).min(LONGEST_ASKED) * 1000);
        retry.at = now + SignedDuration::from_millis(millis.max(asked));
        retry.attempts += 1;
        retry.attempts
    }

    /// A thing worked.
    pub fn worked(&mut self, about: &str) {
        self.retries.remove(about);
    }

    /// The earliest time at which something may be tried again.
    pub fn earliest(&self, now: Timestamp) -> Option<Timestamp> {
        self.retries.values().map(|retry| retry.at).filter(|at| lies_ahead(*at, now)).min()
    }
}

/// Whether a time is still to come. One further ahead than anybody waits was noted before the clock was set back.
pub(super) fn lies_ahead(at: Timestamp, now: Timestamp) -> bool {
    now < at && at <= now + SignedDuration::from_secs(LONGEST_ASKED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute_and_obey_the_server() {
        let mut memory = Memory::default();
        let now: Timestamp = "2026-07-30T10:00:00Z".parse().unwrap();
        let mut pauses = Vec::new();
        for _ in 0..7 {
            memory.again("a", None, now);
            pauses.push(memory.retries["a"].at.duration_since(now).as_millis());
        }
        assert!(pauses.windows(2).all(|pair| pair[0] <= pair[1]), "{pauses:?}");
        assert!((1_600..=2_400).contains(&pauses[0]) && (24_000..=36_000).contains(&pauses[6]), "{pauses:?}");
        assert!(!memory.may("a", now) && memory.may("b", now));
        assert_eq!(memory.earliest(now), Some(memory.retries["a"].at));
        memory.again("b", Some(90), now);
        assert_eq!(memory.retries["b"].at, now + SignedDuration::from_secs(90));
        memory.worked("a");
        assert!(memory.may("a", now));
    }
}
