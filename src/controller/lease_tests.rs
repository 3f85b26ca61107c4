//! Tests of the election: single steps, and two processes in every order of events within a bound.

use super::*;

const LEASE: Duration = Duration::from_secs(20);

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn record(holder: &str, renewed: i64, transitions: i32) -> Record {
    let renewed = Timestamp::from_second(renewed).ok();
    Record { holder: holder.to_owned(), duration: LEASE, renewed, transitions }
}

fn election(now: Instant) -> Election {
    Election::new("me".to_owned(), Timing::of_lease(LEASE), now)
}

/// A leader whose last renewal was sent at `now`.
fn leader(now: Instant) -> Election {
    let mut election = election(now);
    assert_eq!(election.step(now), Step::Read);
    election.read(None, now);
    assert!(matches!(election.step(now), Step::Create(_)));
    election.written(record("me", 0, 0), now, now);
    election
}

#[test]
fn an_old_leaders_last_request_ends_before_another_may_take_over_whatever_the_duration() {
    for seconds in 2..=3600 {
        let timing = Timing::of_lease(secs(seconds));
        assert!(timing.renew_deadline + timing.request < timing.lease, "{timing:?}");
        assert!(timing.request <= secs(5) && timing.retry * 3 < timing.renew_deadline, "{timing:?}");
    }
    assert_eq!(Timing::of_lease(LEASE).request, secs(5));
}

#[test]
fn the_first_process_makes_the_lease_and_leads() {
    let now = Instant::now();
    let mut election = election(now);
    assert_eq!(election.step(now), Step::Read);
    assert_eq!(election.token(now), None);
    election.read(None, now);
    let claim = Claim { holder: "me".to_owned(), duration: LEASE, transitions: 0, acquired: true };
    assert_eq!(election.step(now), Step::Create(claim));
    election.written(record("me", 0, 0), now, now + secs(3));
    let token = election.token(now + secs(3)).unwrap();
    assert_eq!(token.valid_until, now + secs(12), "counted from when the request was sent");
    assert!(token.permits(0, now), "nobody has to be waited for");
    assert!(token.permits(0, now + secs(11)));
    assert!(!token.permits(0, now + secs(12)), "the end is not inside");
    assert!(!token.permits(1, now), "work of another reign");
}

#[test]
fn a_leader_renews_without_reading_and_keeps_the_count() {
    let now = Instant::now();
    let mut election = leader(now);
    let due = now + LEASE / 8;
    assert_eq!(election.step(now), Step::Wait(due));
    let claim = Claim { holder: "me".to_owned(), duration: LEASE, transitions: 0, acquired: false };
    assert_eq!(election.step(due), Step::Replace(claim));
    election.written(record("me", 2, 0), due, due + secs(1));
    assert_eq!(election.token(due).unwrap().valid_until, due + secs(12));
}

#[test]
fn a_leader_that_can_not_renew_stops_at_its_deadline_and_not_later() {
    let now = Instant::now();
    let mut election = leader(now);
    let mut at = now + LEASE / 8;
    while at < now + secs(12) {
        match election.step(at) {
            Step::Wait(until) => at = until,
            Step::Read | Step::Replace(_) => {
                assert!(election.token(at).is_some());
                at += secs(1);
                election.failed(at);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(election.token(at), None);
    election.step(at);
    assert_eq!(election.token(at), None, "it does not come back by itself");
}

#[test]
fn a_process_that_was_stopped_reads_before_anything_else_and_follows_the_new_leader() {
    let now = Instant::now();
    let mut election = leader(now);
    let later = now + secs(100);
    assert_eq!(election.token(later), None);
    assert_eq!(election.step(later), Step::Read, "no renewal with what it knew");
    election.read(Some(record("other", 90, 1)), later);
    assert_eq!(election.step(later), Step::Wait(later + LEASE / 8));
    assert_eq!(election.holder(), Some("other"));
}

#[test]
fn a_process_that_was_stopped_and_still_holds_the_lease_begins_a_new_reign() {
    let now = Instant::now();
    let mut election = leader(now);
    let later = now + secs(100);
    assert_eq!(election.step(later), Step::Read);
    election.read(Some(record("me", 0, 0)), later);
    let Step::Replace(claim) = election.step(later) else { panic!("no claim") };
    assert_eq!((claim.transitions, claim.acquired), (1, true));
}

#[test]
fn a_candidate_waits_for_the_duration_after_the_last_change_it_received() {
    let now = Instant::now();
    let mut election = election(now);
    let (mut at, mut changed, mut renewed) = (now, now, 1000);
    // The holder renews for a while, by a clock that stands far off ours and does not always go forward.
    for _ in 0..10 {
        election.read(Some(record("other", renewed, 4)), at);
        assert!(matches!(election.step(at), Step::Wait(_)));
        renewed -= 7;
        changed = at;
        at += secs(15);
        assert_eq!(election.step(at), Step::Read);
    }
    let last = record("other", renewed + 7, 4);
    for wait in [16, 19] {
        election.read(Some(last.clone()), changed + secs(wait));
        assert!(matches!(election.step(changed + secs(wait)), Step::Wait(_)), "after {wait} s");
    }
    let due = changed + LEASE;
    election.read(Some(last), due);
    let Step::Replace(claim) = election.step(due) else { panic!("no claim") };
    assert_eq!((claim.transitions, claim.acquired), (5, true));
}

/// The times at which tokens let requests begin, while a leader of reign `transitions` renews every two seconds.
fn acts_after(election: &mut Election, from: Instant, transitions: i32) -> Option<u64> {
    (0..60).step_by(2).find(|&after| {
        let now = from + secs(after);
        let claim = election.step(now);
        assert!(matches!(claim, Step::Wait(_) | Step::Replace(_)), "{claim:?}");
        election.written(record("me", i64::try_from(after).unwrap(), transitions), now, now);
        election.token(now).unwrap().permits(transitions, now)
    })
}

#[test]
fn a_leader_that_takes_over_acts_after_the_old_ones_duration_and_one_that_is_handed_the_lease_at_once() {
    let now = Instant::now();
    let long = Record { duration: secs(30), ..record("other", 0, 4) };
    let mut taken = election(now);
    taken.read(Some(long.clone()), now);
    taken.read(Some(long.clone()), now + secs(30));
    assert_eq!(acts_after(&mut taken, now + secs(30), 5), Some(30));
    let mut handed = election(now);
    handed.read(Some(long.clone()), now);
    handed.read(Some(record("", 1, 4)), now + secs(3));
    assert_eq!(acts_after(&mut handed, now + secs(3), 5), Some(0));
    // The answer to the take-over got lost: whose lease it was before is not forgotten.
    let mut lost = election(now);
    lost.read(Some(long.clone()), now);
    lost.read(Some(long), now + secs(30));
    assert!(matches!(lost.step(now + secs(30)), Step::Replace(_)));
    lost.failed(now + secs(35));
    lost.read(Some(record("me", 1, 5)), now + secs(38));
    assert_eq!(acts_after(&mut lost, now + secs(38), 6), Some(30));
}

#[test]
fn whoever_makes_a_lease_anew_that_was_deleted_under_a_holder_waits_for_that_holder() {
    let now = Instant::now();
    let mut election = election(now);
    election.read(Some(record("other", 0, 4)), now);
    election.read(None, now + secs(3));
    assert!(matches!(election.step(now + secs(3)), Step::Create(_)));
    election.written(record("me", 0, 0), now + secs(3), now + secs(4));
    let token = election.token(now + secs(4)).unwrap();
    assert_eq!(token.acts_from, now + secs(24), "counted from when it leads");
    assert!(!token.permits(0, now + secs(4)));
}

#[test]
fn the_holders_own_duration_counts_and_not_the_candidates() {
    let now = Instant::now();
    let mut election = election(now);
    let long = Record { duration: secs(60), ..record("other", 0, 0) };
    election.read(Some(long.clone()), now);
    election.read(Some(long.clone()), now + secs(59));
    assert!(matches!(election.step(now + secs(59)), Step::Wait(_)));
    election.read(Some(long), now + secs(60));
    assert!(matches!(election.step(now + secs(60)), Step::Replace(_)));
}

#[test]
fn a_lease_that_was_given_back_is_taken_at_once() {
    let now = Instant::now();
    let mut election = election(now);
    election.read(Some(record("", 0, 3)), now);
    let Step::Replace(claim) = election.step(now) else { panic!("no claim") };
    assert_eq!((claim.transitions, claim.acquired), (4, true));
}

#[test]
fn of_two_claims_at_one_version_the_loser_reads_again_and_follows() {
    let now = Instant::now();
    let mut election = election(now);
    election.read(Some(record("", 0, 3)), now);
    assert!(matches!(election.step(now), Step::Replace(_)));
    election.conflict();
    assert_eq!(election.step(now), Step::Read);
    election.read(Some(record("other", 1, 4)), now);
    assert!(matches!(election.step(now), Step::Wait(_)));
    assert_eq!(election.token(now), None);
}

#[test]
fn a_leader_that_finds_another_name_in_the_lease_stops_at_once() {
    for found in [Some(record("other", 5, 1)), Some(record("me", 5, 2)), None] {
        let now = Instant::now();
        let mut election = leader(now);
        election.failed(now + secs(3));
        assert!(election.token(now + secs(3)).is_some(), "a failed renewal alone ends nothing");
        assert!(matches!(election.step(now + secs(6)), Step::Read));
        election.read(found.clone(), now + secs(6));
        assert_eq!(election.token(now + secs(6)), None, "{found:?}");
    }
}

#[test]
fn a_renewal_whose_answer_was_lost_is_repeated_with_what_is_read() {
    let now = Instant::now();
    let mut election = leader(now);
    election.failed(now + secs(3));
    assert_eq!(election.step(now + secs(6)), Step::Read);
    election.read(Some(record("me", 2, 0)), now + secs(6));
    let Step::Replace(claim) = election.step(now + secs(6)) else { panic!("no renewal") };
    assert_eq!((claim.transitions, claim.acquired), (0, false), "the same reign");
}

#[test]
fn leaving_ends_the_right_to_act_and_gives_the_lease_back_once() {
    let now = Instant::now();
    let mut election = leader(now);
    election.leave();
    assert_eq!(election.token(now), None);
    let Step::Replace(claim) = election.step(now) else { panic!("not given back") };
    assert_eq!((claim.holder.as_str(), claim.transitions, claim.acquired), ("", 0, false));
    election.written(record("", 1, 0), now, now);
    assert_eq!(election.step(now), Step::Done);
    assert_eq!(election.token(now), None);
}

#[test]
fn leaving_touches_no_lease_of_another_and_a_candidate_just_goes() {
    let now = Instant::now();
    let mut election = election(now);
    election.read(Some(record("other", 0, 0)), now);
    election.leave();
    assert_eq!(election.step(now), Step::Done);
    let mut election = leader(now);
    election.failed(now);
    election.leave();
    assert_eq!(election.step(now), Step::Read);
    election.read(Some(record("other", 9, 1)), now);
    assert_eq!(election.step(now), Step::Done);
}

/// What can happen to a process's request, besides that it succeeds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Luck {
    Good,
    /// The server did it and the answer got lost.
    AnswerLost,
    /// It never arrived.
    Lost,
    /// The process is stopped for longer than a lease before it acts.
    Stopped,
}

/// A server with one Lease, two processes, time in half seconds. Every request takes up to its limit.
struct World {
    now: Instant,
    stored: Option<(Record, u64)>,
    processes: [(Election, Option<u64>, Instant); 2],
    writes: i64,
    /// Until when each process could act by the tokens it was given.
    acting: [Option<Instant>; 2],
}

impl World {
    fn new() -> Self {
        let now = Instant::now();
        let timing = Timing::of_lease(LEASE);
        let process = |name: &str| (Election::new(name.to_owned(), timing, now), None, now);
        Self { now, stored: None, processes: [process("a"), process("b")], writes: 0, acting: [None, None] }
    }

    fn turn(&mut self, who: usize, luck: Luck) {
        let request = Timing::of_lease(LEASE).request;
        let (election, version, awake) = &mut self.processes[who];
        if self.now < *awake {
            return;
        }
        if luck == Luck::Stopped {
            *awake = self.now + LEASE * 2;
            return;
        }
        let sent = self.now;
        let step = election.step(sent);
        // An answer that is lost is missed only at the limit.
        let arrived = if luck == Luck::Good { sent + Duration::from_millis(500) } else { sent + request };
        let reaches = luck != Luck::Lost;
        let answered = luck == Luck::Good;
        match step {
            Step::Wait(_) | Step::Done => return,
            Step::Read if answered => {
                *version = self.stored.as_ref().map(|(_, version)| *version);
                election.read(self.stored.as_ref().map(|(record, _)| record.clone()), arrived);
            }
            Step::Read => election.failed(arrived),
            Step::Create(ref claim) | Step::Replace(ref claim) => {
                let current = self.stored.as_ref().map(|(_, version)| *version);
                let expected = if matches!(step, Step::Create(_)) { None } else { *version };
                let accepted = reaches && current == expected;
                if accepted {
                    self.writes += 1;
                    let record = Record {
                        holder: claim.holder.clone(),
                        duration: claim.duration,
                        renewed: Timestamp::from_second(self.writes).ok(),
                        transitions: claim.transitions,
                    };
                    self.stored = Some((record, current.unwrap_or(0) + 1));
                }
                match (accepted, answered) {
                    (true, true) => {
                        let (record, stored) = self.stored.clone().unwrap();
                        *version = Some(stored);
                        election.written(record, sent, arrived);
                    }
                    (false, true) => election.conflict(),
                    (_, false) => election.failed(arrived),
                }
            }
        }
        *awake = arrived;
        if let Some(token) = election.token(arrived) {
            self.acting[who] = Some(token.valid_until + request);
        }
    }

    fn check(&self, trace: &[(Luck, Luck)]) {
        let acts = |who: usize| {
            let (election, _, _) = &self.processes[who];
            // A process that is stopped still believes its token until it looks at the clock: `permits` does.
            election.token(self.now).is_some() || self.acting[who].is_some_and(|until| self.now < until)
        };
        // Once a token is replaced or withdrawn the last request may still be on the way: both are counted.
        assert!(!(acts(0) && acts(1)), "two act at once after {trace:?}");
    }
}

#[test]
fn two_processes_never_act_at_once_whatever_gets_lost() {
    const ALL: [Luck; 4] = [Luck::Good, Luck::AnswerLost, Luck::Lost, Luck::Stopped];
    let mut takeovers = 0;
    // A small generator of its own: the same walks in every run.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for walk in 0..4000 {
        let mut world = World::new();
        let mut trace = Vec::new();
        // From calm to stormy.
        let bad = walk % 50;
        for _ in 0..400 {
            let mut luck = || {
                if next() % 100 < bad { ALL[usize::try_from(next() % 4).unwrap()] } else { Luck::Good }
            };
            let (a, b) = (luck(), luck());
            trace.push((a, b));
            world.turn(0, a);
            world.turn(1, b);
            world.check(&trace);
            world.now += Duration::from_millis(500);
        }
        takeovers += world.stored.map_or(0, |(record, _)| record.transitions);
    }
    assert!(takeovers > 5000, "the walks change hands too seldom to show anything: {takeovers}");
}
