//! Whose turn it is: one Execute run at a time in a cluster, and a pause after each that evicted something.
//!
//! May import: api

use jiff::{SignedDuration, Timestamp};

use crate::api::Reason;

/// The run that is being carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// Its name.
    pub name: String,
    /// When it ends at the latest; none: its plan is not made yet.
    pub deadline: Option<Timestamp>,
}

/// Whether a run may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Yes.
    Now,
    /// Not yet.
    Wait {
        /// Why.
        reason: Reason,
        /// The same in a sentence, with the earliest time.
        message: String,
        /// When to look again; none: when the other run has ended.
        until: Option<Timestamp>,
    },
}

/// Whether the first waiting run may begin. `anchor` is the end of the last run that evicted something.
pub fn turn(
    active: Option<&Active>,
    anchor: Option<Timestamp>,
    cooldown: SignedDuration,
    now: Timestamp,
) -> Turn {
    let written = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if let Some(active) = active {
        let start = active.deadline.and_then(|deadline| deadline.checked_add(cooldown).ok());
        let when = match start {
            Some(start) => format!("starts at {} at the latest", written(start)),
            None => "starts when it has ended".to_owned(),
        };
        let message = format!("Waiting: run {} is being executed; this one {when}.", active.name);
        return Turn::Wait { reason: Reason::AnotherRunActive, message, until: None };
    }
    // An end further ahead than the pause is long was noted by a clock that has been set back since.
    let anchor = anchor.filter(|anchor| anchor.duration_since(now) <= cooldown);
    match anchor.and_then(|anchor| anchor.checked_add(cooldown).ok()) {
        Some(start) if now < start => {
            let message = format!(
                "Waiting: the last Execute run ended less than {} s ago; this one starts at {}.",
                cooldown.as_secs(),
                written(start)
            );
            Turn::Wait { reason: Reason::ExecuteCooldownActive, message, until: Some(start) }
        }
        _ => Turn::Now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn one_run_at_a_time_and_a_pause_after_it_with_the_time_of_its_end() {
        let (now, pause) = (time("2026-07-30T10:00:00Z"), SignedDuration::from_secs(600));
        assert_eq!(turn(None, None, pause, now), Turn::Now);
        assert_eq!(turn(None, Some(time("2026-07-30T09:50:00Z")), pause, now), Turn::Now);
        let Turn::Wait { reason, message, until } =
            turn(None, Some(time("2026-07-30T09:55:00Z")), pause, now)
        else {
            panic!()
        };
        assert_eq!((reason, until), (Reason::ExecuteCooldownActive, Some(time("2026-07-30T10:05:00Z"))));
        assert!(message.ends_with("this one starts at 2026-07-30T10:05:00Z."), "{message}");
        let of_tomorrow = Some(time("2026-07-31T10:00:00Z"));
        assert_eq!(turn(None, of_tomorrow, pause, now), Turn::Now, "the clock was set back");
        let active = Active { name: "a".to_owned(), deadline: Some(time("2026-07-30T10:20:00Z")) };
        let Turn::Wait { reason, message, .. } = turn(Some(&active), None, pause, now) else { panic!() };
        assert_eq!(reason, Reason::AnotherRunActive);
        assert!(message.contains("run a is") && message.contains("2026-07-30T10:30:00Z"), "{message}");
    }
}
