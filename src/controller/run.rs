//! The life of a DryRun run as a pure function: what is stored, the rules and the time go in; the next status, the
//! deletion or the time to look again come out.
//!
//! A run without a status gets `Running`/`Planning`, is planned, and ends with the planner's status or a fault. Nothing
//! between these steps lives outside the run's status: a process that finds a run in `Planning` plans it again. Execute
//! runs and runs of other managers are left alone. Times in a status have whole seconds.
//!
//! May import: api, plan, execute

use jiff::{SignedDuration, Timestamp};

use super::object::{Recorded, Run, is_running};
use crate::api::names::MANAGER;
use crate::api::{
    Condition, ConditionStatus, ConditionType, Mode, Phase, Reason, RepackRunSpec, RepackRunStatus,
};
use crate::execute::queue::{Active, Turn, turn};
use crate::plan::request::{Movability, Request};

/// What the process was told that runs do not carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The resource of runs without a goal.
    pub default_resource: Option<String>,
    /// Which pods may move.
    pub movability: Movability,
    /// Seconds between two Execute runs that evict; none: runs of mode Execute are left alone.
    pub execute_cooldown: Option<i64>,
    /// Whether whoever created such a run has to be allowed to evict its pods; where nobody noted who that is, nobody is asked.
    pub check_creator: bool,
    /// Which of them are begun. One that has begun is carried on whoever began it.
    pub begins: Begins,
}

/// Which runs of mode Execute a process begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// Every one, in its turn.
    #[default]
    All,
    /// The one of this name: the process ends with it.
    Only(String),
}

/// Whose turn it is to be executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// The run that is being executed or planned for it.
    pub active: Option<Active>,
    /// When the last run that evicted something ended.
    pub last: Option<Timestamp>,
}

/// What to do about a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing, now or later.
    Leave(Leave),
    /// Nothing before this.
    Later(Timestamp),
    /// Delete it: it finished and its time is over.
    Delete,
    /// Write that it waits for its turn.
    Wait(Box<RepackRunStatus>),
    /// Write that it is being planned.
    Start(Box<RepackRunStatus>),
    /// Plan it and write what [`ended`] makes of that.
    Plan(Box<Request>),
    /// Write this; no planning is needed to know how it ends.
    End(Box<RepackRunStatus>),
}

/// Why a run is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It is finished and stays.
    Finished,
    /// It is being deleted.
    Deleting,
    /// Another manager's.
    OtherManager,
    /// It would move pods, which this controller does not do.
    Execute,
    /// It would move pods, and this process is here for another run.
    NotOurs,
    /// It is being carried out.
    CarriedOut,
    /// It waits for its turn, and says so.
    Waiting,
}

/// How planning ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With the planner's status, which has no times.
    Planned(Box<RepackRunStatus>),
    /// With a plan that is to be carried out: the status has its relocations.
    Prepared(Box<RepackRunStatus>),
    /// With a fault.
    Fault(Reason, String),
}

/// What to do about a run now.
pub fn next(run: &Run, rules: &Rules, queue: &Queue, now: Timestamp) -> Step {
    if run.deleting {
        return Step::Leave(Leave::Deleting);
    }
    if run.manager.as_deref().is_some_and(|name| name != MANAGER) {
        return Step::Leave(Leave::OtherManager);
    }
    let executes = run.mode == Mode::Execute;
    if executes && rules.execute_cooldown.is_none() {
        return Step::Leave(Leave::Execute);
    }
    if let Recorded::Open(status) = &run.recorded
        && executes
        && status.relocations.is_some()
    {
        return Step::Leave(Leave::CarriedOut);
    }
    if let Recorded::Finished { completed } = run.recorded {
        return after_the_end(run, completed, now);
    }
    let fault = |reason, message| Step::End(Box::new(ended(run, Outcome::Fault(reason, message), now)));
    if run.cancelled {
        let message = "Cancelled before planning was finished; nothing was moved.".to_owned();
        return fault(Reason::ExecutionCancelled, message);
    }
    if let Recorded::Unreadable(why) = &run.recorded {
        return fault(Reason::ReconcileFailed, format!("The status of this run cannot be read: {why}."));
    }
    let request = run.spec.as_ref().map_err(Clone::clone).and_then(|spec| request(spec, rules, now));
    match (request, &run.recorded) {
        (Err(message), _) => fault(Reason::InvalidConfiguration, format!("{message}.")),
        (Ok(request), Recorded::Open(status)) if is_running(status) => Step::Plan(Box::new(request)),
        (Ok(_), _) if executes && matches!(&rules.begins, Begins::Only(name) if *name != run.name) => {
            Step::Leave(Leave::NotOurs)
        }
        (Ok(request), _) => {
            if executes && let Some(step) = wait(run, rules, queue, now) {
                return step;
            }
            Step::Start(Box::new(started(run, &request.resource, now)))
        }
    }
}

/// What an Execute run does that has to wait.
fn wait(run: &Run, rules: &Rules, queue: &Queue, now: Timestamp) -> Option<Step> {
    let cooldown = SignedDuration::from_secs(rules.execute_cooldown.unwrap_or(0));
    let Turn::Wait { reason, message, until } = turn(queue.active.as_ref(), queue.last, cooldown, now) else {
        return None;
    };
    let known = match &run.recorded {
        Recorded::Open(status) => status.message == message,
        _ => false,
    };
    if !known {
        let progressing = condition(ConditionType::Progressing, false, reason, &message);
        return Some(Step::Wait(Box::new(stamped(
            run,
            unplanned(Phase::Pending, vec![progressing], message),
            now,
        ))));
    }
    Some(until.map_or(Step::Leave(Leave::Waiting), Step::Later))
}

/// A finished run goes when its time is over. Without a completion time it stays: nobody knows since when.
fn after_the_end(run: &Run, completed: Option<Timestamp>, now: Timestamp) -> Step {
    let due = completed.zip(run.ttl_seconds.filter(|ttl| *ttl >= 0)).and_then(|(completed, ttl)| {
        // A time beyond what can be counted never comes.
        completed.checked_add(SignedDuration::from_secs(ttl)).ok()
    });
    match due {
        Some(due) if now >= due => Step::Delete,
        Some(due) => Step::Later(due),
        None => Step::Leave(Leave::Finished),
    }
}

fn request(spec: &RepackRunSpec, rules: &Rules, now: Timestamp) -> Result<Request, String> {
    let request = Request::from_spec(spec, rules.default_resource.as_deref(), rules.movability.clone());
    let mut request = request.map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        faults.join("; ")
    })?;
    request.now = Some(now.as_second());
    Ok(request)
}

/// The status of a run that begins.
fn started(run: &Run, resource: &str, now: Timestamp) -> RepackRunStatus {
    let message = format!("Planning for {resource}: nothing is moved.");
    let progressing = condition(ConditionType::Progressing, true, Reason::Planning, &message);
    stamped(run, unplanned(Phase::Running, vec![progressing], message), now)
}

/// The last status of a run.
pub fn ended(run: &Run, outcome: Outcome, now: Timestamp) -> RepackRunStatus {
    let status = match outcome {
        Outcome::Planned(status) | Outcome::Prepared(status) => *status,
        Outcome::Fault(reason, message) => failed(reason, message),
    };
    stamped(run, status, now)
}

fn failed(reason: Reason, message: String) -> RepackRunStatus {
    let conditions = vec![
        condition(ConditionType::Progressing, false, reason, &message),
        condition(ConditionType::Failed, true, reason, &message),
    ];
    unplanned(reason.phase(), conditions, message)
}

/// A status without a plan and without times.
fn unplanned(phase: Phase, conditions: Vec<Condition>, message: String) -> RepackRunStatus {
    RepackRunStatus {
        phase,
        conditions,
        message,
        start_time: None,
        completion_time: None,
        execution_deadline: None,
        plan: None,
        result: None,
        relocations: None,
    }
}

fn condition(kind: ConditionType, holds: bool, reason: Reason, message: &str) -> Condition {
    Condition {
        kind,
        status: if holds { ConditionStatus::True } else { ConditionStatus::False },
        observed_generation: None,
        last_transition_time: None,
        reason,
        message: message.to_owned(),
    }
}

/// Fills in the times and the generation: the first start and the first end stay, a condition's time changes with its
/// state and not with its reason.
fn stamped(run: &Run, mut status: RepackRunStatus, now: Timestamp) -> RepackRunStatus {
    let time = written(now);
    let before = match &run.recorded {
        Recorded::Open(status) => Some(&**status),
        _ => None,
    };
    status.start_time = before.and_then(|before| before.start_time.clone());
    if status.start_time.is_none() && status.phase == Phase::Running {
        status.start_time = Some(time.clone());
    }
    if matches!(status.phase, Phase::Succeeded | Phase::Failed) {
        status.completion_time = Some(time.clone());
    }
    for condition in &mut status.conditions {
        let same = before.and_then(|before| {
            let mut all = before.conditions.iter();
            all.find(|old| old.kind == condition.kind && old.status == condition.status)
        });
        condition.observed_generation = run.generation;
        condition.last_transition_time =
            same.and_then(|old| old.last_transition_time.clone()).or_else(|| Some(time.clone()));
    }
    status
}

fn written(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The one word of a status: the reason of its last condition that holds, or of the first one.
pub fn reason_of(status: &RepackRunStatus) -> Option<Reason> {
    let holding = status.conditions.iter().rfind(|condition| condition.status == ConditionStatus::True);
    holding.or_else(|| status.conditions.first()).map(|condition| condition.reason)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
