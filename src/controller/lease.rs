//! Leader election by one Lease, as a pure state machine: what was read and written goes in, what to do next comes
//! out. Times are [`Instant`]s that the caller passes in; nothing here asks a clock.
//!
//! Two processes never act at once. A leader acts until `renew_deadline` after it *sent* the last renewal that
//! succeeded, and each request ends `request` later at the latest. A candidate takes a lease over no earlier than
//! the lease's duration after it *received* the last change of it. As `renew_deadline + request < lease`, the old
//! leader's last request has ended by then. A leader that takes over without being handed the lease lets the old
//! holder's duration pass once more before it acts, so that what was sent last is done and told by the watches; so does one that
//! makes the lease anew after somebody deleted it under a holder. Times that stand in the object are never compared with a clock of ours:
//! only that they changed counts. Every write replaces the object at a resource version, so that of two candidates one
//! loses.
//!
//! May import: (nothing of this crate)

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The lengths that election and writing keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a lease holds after its last renewal.
    pub lease: Duration,
    /// How long a leader acts after it sent its last successful renewal.
    pub renew_deadline: Duration,
    /// Between two renewals, and between two looks of a candidate.
    pub retry: Duration,
    /// Limit of one request.
    pub request: Duration,
}

impl Timing {
    /// Longest limit of one request: what the API server's own clients of this kind use.
    const LONGEST_REQUEST: Duration = Duration::from_secs(5);

    /// The lengths for a lease of this duration: 3/5 of it to renew, at most 1/4 and 5 s for a request, the rest
    /// margin; eight looks per lease.
    pub fn of_lease(lease: Duration) -> Self {
        Self {
            lease,
            renew_deadline: lease * 3 / 5,
            retry: lease / 8,
            request: (lease / 4).min(Self::LONGEST_REQUEST),
        }
    }
}

/// The right to act, for a while. Whoever writes asks it right before each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderToken {
    /// No request may begin before this: what the last leader sent may still be on its way.
    pub acts_from: Instant,
    /// No request may begin at or after this.
    pub valid_until: Instant,
    /// How often the lease had changed hands when this process took it: work that began under another number is
    /// not to be finished.
    pub transitions: i32,
}

impl LeaderToken {
    /// Whether a request of work that began under `transitions` may begin now.
    pub fn permits(&self, transitions: i32, now: Instant) -> bool {
        self.transitions == transitions && self.acts_from <= now && now < self.valid_until
    }
}

/// What stands in a Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Who holds it; empty: nobody.
    pub holder: String,
    /// How long after a renewal the holder can be counted on.
    pub duration: Duration,
    /// When it was renewed, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// How often it changed hands.
    pub transitions: i32,
}

/// What to write into the Lease. The writer adds the times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The holder; empty gives the lease back.
    pub holder: String,
    /// The holder's duration.
    pub duration: Duration,
    /// The new count.
    pub transitions: i32,
    /// Whether the lease changes hands, so that `acquireTime` is now.
    pub acquired: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the Lease and tell [`Election::read`].
    Read,
    /// Create the Lease; tell [`Election::written`], [`Election::conflict`] or [`Election::failed`].
    Create(Claim),
    /// Replace the Lease at the resource version that was read last; tell the same.
    Replace(Claim),
    /// Nothing before this.
    Wait(Instant),
    /// Nothing any more: the lease is given back, or was not held.
    Done,
}

/// What is known of the Lease for the next write.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// It has to be read first.
    Nothing,
    /// There is none.
    Absent,
    /// This stands in it.
    Record(Record),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Candidate,
    Leader(LeaderToken),
    /// On the way out; nothing is claimed any more.
    Leaving,
}

/// One process's view of the election.
#[derive(Clone, Debug)]
pub struct Election {
    /// Differs between any two processes, restarts of one pod included.
    identity: String,
    timing: Timing,
    place: Place,
    known: Known,
    /// The last different record that was read and when its answer had arrived.
    watched: Option<(Record, Instant)>,
    /// The duration of the last other holder that was seen; none once it gave the lease back or was waited for.
    predecessor: Option<Duration>,
    /// No request before this.
    next: Instant,
}

impl Election {
    /// A candidate that has seen nothing.
    pub fn new(identity: String, timing: Timing, now: Instant) -> Self {
        Self {
            identity,
            timing,
            place: Place::Candidate,
            known: Known::Nothing,
            watched: None,
            predecessor: None,
            next: now,
        }
    }

    /// The right to act, if this process has it now.
    pub fn token(&self, now: Instant) -> Option<LeaderToken> {
        match self.place {
            Place::Leader(token) if now < token.valid_until => Some(token),
            _ => None,
        }
    }

    /// Who holds the lease as far as is known; for logs.
    pub fn holder(&self) -> Option<&str> {
        let (record, _) = self.watched.as_ref()?;
        (!record.holder.is_empty()).then_some(record.holder.as_str())
    }

    /// What to do now. A leader whose time is over becomes a candidate here.
    pub fn step(&mut self, now: Instant) -> Step {
        if matches!(self.place, Place::Leader(token) if now >= token.valid_until) {
            self.stand_down();
        }
        if self.place == Place::Leaving {
            return self.give_back();
        }
        if now < self.next {
            return match self.place {
                Place::Leader(token) => Step::Wait(self.next.min(token.valid_until)),
                _ => Step::Wait(self.next),
            };
        }
        match (&self.known, self.place) {
            (Known::Nothing, _) => Step::Read,
            (Known::Absent, _) => Step::Create(self.claim(0, true)),
            (Known::Record(_), Place::Leader(token)) => Step::Replace(self.claim(token.transitions, false)),
            (Known::Record(record), _) => {
                Step::Replace(self.claim(record.transitions.saturating_add(1), true))
            }
        }
    }

    fn claim(&self, transitions: i32, acquired: bool) -> Claim {
        Claim { holder: self.identity.clone(), duration: self.timing.lease, transitions, acquired }
    }

    fn give_back(&self) -> Step {
        match &self.known {
            Known::Nothing => Step::Read,
            Known::Record(record) if record.holder == self.identity => Step::Replace(Claim {
                holder: String::new(),
                duration: Duration::from_secs(1),
                transitions: record.transitions,
                acquired: false,
            }),
            _ => Step::Done,
        }
    }

    /// The Lease as it was read, or that there is none. `now` is when the answer had arrived.
    pub fn read(&mut self, record: Option<Record>, now: Instant) {
        let Some(record) = record else {
            if matches!(self.place, Place::Leader(_)) {
                // Somebody deleted it; whoever makes it anew holds it.
                self.stand_down();
            }
            self.watched = None;
            self.known = Known::Absent;
            self.next = now;
            return;
        };
        if self.watched.as_ref().is_none_or(|(seen, _)| *seen != record) {
            self.watched = Some((record.clone(), now));
        }
        if record.holder.is_empty() {
            self.predecessor = None;
        } else if record.holder != self.identity {
            self.predecessor = Some(record.duration);
        }
        self.next = now;
        match self.place {
            Place::Leaving => self.known = Known::Record(record),
            Place::Leader(token)
                if record.holder == self.identity && record.transitions == token.transitions =>
            {
                self.known = Known::Record(record);
            }
            Place::Leader(_) => {
                self.stand_down();
                self.next = now + self.timing.retry;
            }
            Place::Candidate if self.may_take(&record, now) => self.known = Known::Record(record),
            Place::Candidate => {
                self.known = Known::Nothing;
                self.next = now + self.timing.retry;
            }
        }
    }

    /// A lease is free when nobody holds it, when an earlier write of ours got through after all, and when nothing of
    /// it changed for the duration that its holder promised.
    fn may_take(&self, record: &Record, now: Instant) -> bool {
        let since = self.watched.as_ref().map_or(now, |(_, at)| *at);
        record.holder.is_empty() || record.holder == self.identity || now >= since + record.duration
    }

    /// The last claim got through; `sent` is when its request began, `record` what the server answered.
    pub fn written(&mut self, record: Record, sent: Instant, now: Instant) {
        if self.place == Place::Leaving {
            self.known = Known::Absent;
            return;
        }
        let valid_until = sent + self.timing.renew_deadline;
        let acts_from = match self.place {
            Place::Leader(token) => token.acts_from,
            _ => self.predecessor.map_or(sent, |duration| now + duration),
        };
        if acts_from <= now {
            self.predecessor = None;
        }
        let transitions = record.transitions;
        self.place = Place::Leader(LeaderToken { acts_from, valid_until, transitions });
        self.watched = Some((record.clone(), now));
        self.known = Known::Record(record);
        self.next = sent + self.timing.retry;
    }

    /// The last claim was refused because the object changed.
    pub fn conflict(&mut self) {
        self.known = Known::Nothing;
    }

    /// The last request failed, or its answer is not known.
    pub fn failed(&mut self, now: Instant) {
        self.known = Known::Nothing;
        self.next = now + self.timing.retry;
    }

    /// Ends the right to act; the steps after this give the lease back.
    pub fn leave(&mut self) {
        if !matches!(self.place, Place::Leader(_)) {
            self.known = Known::Absent;
        }
        self.place = Place::Leaving;
    }

    fn stand_down(&mut self) {
        self.place = Place::Candidate;
        self.known = Known::Nothing;
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
