//! The worker: listens to the API server, and as leader takes one step of one run after the other.
//!
//! It is one task. Planning goes to a thread of its own while the worker keeps listening, so that a cancelled or
//! deleted run is known when its plan is there. A plan made under another reign, or of a run that changed, is dropped.
//!
//! May import: api, plan

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::BoxStream;
use jiff::Timestamp;
use kube::core::DynamicObject;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::sleep_until;
use tracing::Instrument;

use super::ClusterState;
use super::event::of_end;
use super::lease::LeaderToken;
use super::metrics::Metrics;
use super::object::{Recorded, Run};
use super::ownership::{Ownership, resource};
use super::planning::{self, sentence, too_large};
use super::run::{Leave, Outcome, Rules, Step, ended, next, reason_of};
use super::runs::{Runs, Work};
use super::write::{WriteError, Writer};
use crate::api::{Mode, Reason, RepackRunStatus};
use crate::plan::request::Request;

/// Between two looks at whether the cluster's lists have arrived, and after a run changed under a write.
const SHORT: Duration = Duration::from_millis(100);

/// Longest wait between two attempts.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// Longest wait for a time that a clock tells: clocks are set.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Attempts at a snapshot before the run ends: about half a minute.
const SNAPSHOTS: u32 = 5;

/// What the probes need to know of the worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whose the definition is.
    pub ownership: Ownership,
    /// Whether the list of runs has arrived.
    pub runs: bool,
}

type Watched = BoxStream<'static, watcher::Result<Event<DynamicObject>>>;

/// The worker.
pub struct Worker {
    client: Client,
    state: Arc<dyn ClusterState>,
    rules: Rules,
    writer: Writer,
    tokens: watch::Receiver<Option<LeaderToken>>,
    stop: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
    seen: watch::Sender<Seen>,
    owner: watch::Receiver<Ownership>,
    ownership: Ownership,
    /// The watch of the runs; only while the definition is ours.
    watched: Option<Watched>,
    runs: Runs,
    attempts: u32,
    not_before: Instant,
    /// UIDs of runs of which it was said that they are left alone.
    told: BTreeSet<String>,
}

/// What the worker does after a turn.
enum Wake {
    AtOnce,
    At(Instant),
    WhenSomethingHappens,
}

/// What can wake it.
enum Happening {
    Stop,
    Token,
    Owner,
    Run(Box<watcher::Result<Event<DynamicObject>>>),
}

/// What is needed to make a worker.
pub struct Parts {
    /// For the watches.
    pub client: Client,
    /// The cluster.
    pub state: Arc<dyn ClusterState>,
    /// What the process was told.
    pub rules: Rules,
    /// For everything that is written.
    pub writer: Writer,
    /// The right to act.
    pub tokens: watch::Receiver<Option<LeaderToken>>,
    /// Whose the definition is.
    pub owner: watch::Receiver<Ownership>,
    /// True ends the worker.
    pub stop: watch::Receiver<bool>,
    /// Where it counts.
    pub metrics: Arc<Metrics>,
}

impl Worker {
    /// A worker that has heard nothing, and what the probes read.
    pub fn new(parts: Parts) -> (Self, watch::Receiver<Seen>) {
        let (seen, receiver) = watch::channel(Seen::default());
        let worker = Self {
            owner: parts.owner,
            client: parts.client,
            state: parts.state,
            rules: parts.rules,
            writer: parts.writer,
            tokens: parts.tokens,
            stop: parts.stop,
            metrics: parts.metrics,
            seen,
            ownership: Ownership::Unknown,
            watched: None,
            runs: Runs::default(),
            attempts: 0,
            not_before: Instant::now(),
            told: BTreeSet::new(),
        };
        (worker, receiver)
    }

    /// Works until the process stops. A write that was begun is finished.
    pub async fn work(mut self) {
        loop {
            let wake = self.turn().await;
            let happened = match wake {
                Wake::AtOnce => continue,
                Wake::WhenSomethingHappens => Some(self.happening().await),
                Wake::At(at) => tokio::select! {
                    happened = self.happening() => Some(happened),
                    () = sleep_until(at.into()) => None,
                },
            };
            if happened.is_some_and(|happened| self.take(happened)) {
                return;
            }
        }
    }

    async fn happening(&mut self) -> Happening {
        let watched = async {
            match &mut self.watched {
                Some(watched) => watched.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.stop.wait_for(|stop| *stop) => Happening::Stop,
            Ok(()) = self.tokens.changed() => Happening::Token,
            Ok(()) = self.owner.changed() => Happening::Owner,
            Some(told) = watched => Happening::Run(Box::new(told)),
        }
    }

    /// Takes in what happened; true ends the worker.
    fn take(&mut self, happened: Happening) -> bool {
        match happened {
            Happening::Stop => return true,
            Happening::Token => {}
            Happening::Owner => {
                let ownership = self.owner.borrow_and_update().clone();
                self.owned(ownership);
            }
            Happening::Run(told) => match *told {
                Ok(event) => {
                    if let Event::Apply(object) | Event::InitApply(object) = &event {
                        self.tell_what_is_left_alone(&Run::of(object));
                    }
                    self.runs.take(event);
                    self.publish();
                }
                Err(fault) => self.metrics.watch_failed("repackruns", &fault),
            },
        }
        false
    }

    fn owned(&mut self, ownership: Ownership) {
        if ownership == self.ownership {
            return;
        }
        if ownership == Ownership::Ours {
            tracing::info!("{ownership}");
            let runs = Api::all_with(self.client.clone(), &resource());
            let stream = kube::runtime::watcher(runs, watcher::Config::default());
            self.watched = Some(stream.default_backoff().boxed());
        } else {
            tracing::error!("no run is worked on: {ownership}");
            self.watched = None;
            self.runs = Runs::default();
        }
        self.ownership = ownership;
        self.publish();
    }

    fn publish(&self) {
        let seen = Seen { ownership: self.ownership.clone(), runs: self.runs.complete() };
        self.seen.send_if_modified(|known| {
            let modified = *known != seen;
            *known = seen;
            modified
        });
    }

    fn tell_what_is_left_alone(&mut self, run: &Run) {
        if matches!(run.recorded, Recorded::Finished { .. }) || self.told.contains(&run.uid) {
            return;
        }
        let why = match next(run, &self.rules, Timestamp::now()) {
            Step::Leave(Leave::Execute) => {
                "mode Execute moves pods, and this controller only plans".to_owned()
            }
            Step::Leave(Leave::OtherManager) => {
                format!("it is managed by {}", run.manager.as_deref().unwrap_or_default())
            }
            _ => return,
        };
        self.told.insert(run.uid.clone());
        tracing::info!(run = run.name, uid = run.uid, "the run is left alone: {why}");
    }

    fn reign(&self) -> Option<i32> {
        let token = *self.tokens.borrow();
        token.filter(|token| token.permits(token.transitions, Instant::now())).map(|token| token.transitions)
    }

    /// Takes at most one step.
    async fn turn(&mut self) -> Wake {
        if *self.stop.borrow() {
            return Wake::WhenSomethingHappens;
        }
        let now = Instant::now();
        let Some(reign) = self.reign() else { return Wake::WhenSomethingHappens };
        if self.ownership != Ownership::Ours || !self.runs.complete() {
            return Wake::WhenSomethingHappens;
        }
        if now < self.not_before {
            return Wake::At(self.not_before);
        }
        if !self.state.synced() {
            return Wake::At(now + SHORT);
        }
        let time = Timestamp::now();
        let (run, object, step) = match self.runs.work(&self.rules, time) {
            Work::Nothing => return Wake::WhenSomethingHappens,
            Work::Later(at) => {
                let wait = Duration::try_from(at.duration_since(time)).unwrap_or_default();
                return Wake::At(now + wait.clamp(Duration::from_millis(1), LONGEST_WAIT));
            }
            Work::Now(entry, step) => (entry.run.clone(), entry.object.clone(), step),
        };
        let span = tracing::info_span!("run", run = run.name, uid = run.uid);
        let done = self.carry_out(reign, &run, object, step).instrument(span.clone()).await;
        let _inside = span.enter();
        self.after(&run, done)
    }

    async fn carry_out(
        &mut self,
        reign: i32,
        run: &Run,
        object: Option<DynamicObject>,
        step: Step,
    ) -> Result<(), WriteError> {
        match (step, object) {
            (Step::Delete, _) => {
                self.writer.delete(reign, run).await?;
                tracing::info!("deleted: its time after the end is over");
                self.runs.forget(&run.name, &run.uid);
            }
            (Step::Start(status), Some(object)) => {
                let object = Writer::with_status(&object, &status)?;
                self.runs.keep(self.writer.status(reign, &object).await?);
                tracing::info!("planning begins");
            }
            (Step::End(status), Some(object)) => self.end(reign, run, &object, *status).await?,
            (Step::Plan(request), Some(_)) => {
                let Some(outcome) = self.plan(reign, *request).await? else { return Ok(()) };
                // Cancelled, deleted or changed in the meantime: then the next turn knows what to do.
                let latest = self.runs.get(&run.name).filter(|entry| entry.run.uid == run.uid).cloned();
                if let Some(entry) = latest
                    && let Some(object) = entry.object
                    && matches!(next(&entry.run, &self.rules, Timestamp::now()), Step::Plan(_))
                {
                    let status = ended(&entry.run, outcome, Timestamp::now());
                    self.end(reign, &entry.run, &object, status).await?;
                }
            }
            (Step::Start(_) | Step::End(_) | Step::Plan(_), None) | (Step::Leave(_) | Step::Later(_), _) => {}
        }
        Ok(())
    }

    /// Writes a run's last status and tells of it.
    async fn end(
        &mut self,
        reign: i32,
        run: &Run,
        object: &DynamicObject,
        mut status: RepackRunStatus,
    ) -> Result<(), WriteError> {
        let mut object = Writer::with_status(object, &status)?;
        let bytes = serde_json::to_vec(&object).map_or(0, |text| text.len());
        if let Some(outcome) = too_large(u64::try_from(bytes).unwrap_or(u64::MAX)) {
            status = ended(run, outcome, Timestamp::now());
            object = Writer::with_status(&object, &status)?;
        }
        let stored = self.writer.status(reign, &object).await?;
        self.runs.keep(stored);
        if let Some(reason) = reason_of(&status) {
            tracing::info!(reason = reason.as_str(), "the run has ended: {}", status.message);
            self.metrics.run_ended(Mode::DryRun, reason);
        }
        for happened in of_end(&status) {
            self.writer.event(reign, run, &happened).await;
        }
        Ok(())
    }

    /// Plans on another thread while listening. None: the work is not to be finished here.
    async fn plan(&mut self, reign: i32, request: Request) -> Result<Option<Outcome>, WriteError> {
        let state = Arc::clone(&self.state);
        let begun = Instant::now();
        let work = move || {
            let (snapshot, left_out) = state.snapshot()?;
            let (outcome, noticed) = planning::plan(&snapshot, &request);
            Ok::<_, String>((planning::with_left_out(outcome, &left_out), noticed, left_out))
        };
        let mut handle = tokio::task::spawn_blocking(work);
        let answer = loop {
            tokio::select! {
                answer = &mut handle => break answer,
                happened = self.happening() => {
                    let stopped = self.take(happened);
                    if stopped || self.reign() != Some(reign) {
                        return Ok(None);
                    }
                }
            }
        };
        self.metrics.planned(begun.elapsed());
        match answer {
            Ok(Ok((outcome, noticed, left_out))) => {
                for sentence in noticed {
                    tracing::warn!("{sentence}");
                }
                for left in left_out {
                    tracing::warn!(kind = left.kind, "planned without it: {}", left.reason);
                }
                Ok(Some(outcome))
            }
            Ok(Err(why)) if self.attempts + 1 < SNAPSHOTS => {
                Err(WriteError::Failed(format!("the cluster's state cannot be used: {why}")))
            }
            Ok(Err(why)) => {
                let message = sentence(&format!("the cluster's state cannot be used: {why}"));
                Ok(Some(Outcome::Fault(Reason::ReconcileFailed, message)))
            }
            Err(_) => {
                let message = "The planner stopped over a fault of its own; the controller's log has it.";
                Ok(Some(Outcome::Fault(Reason::ReconcileFailed, message.to_owned())))
            }
        }
    }

    /// When to go on after a step.
    fn after(&mut self, run: &Run, done: Result<(), WriteError>) -> Wake {
        let now = Instant::now();
        match done {
            Ok(()) => {
                self.attempts = 0;
                return Wake::AtOnce;
            }
            Err(WriteError::NotLeader) => tracing::warn!("not written: this process does not lead any more"),
            // The watch brings what changed.
            Err(WriteError::Conflict) => self.not_before = now + SHORT,
            Err(WriteError::Gone) => self.runs.forget(&run.name, &run.uid),
            Err(WriteError::Failed(why)) => {
                self.attempts += 1;
                let wait = Duration::from_secs(1 << self.attempts.min(5).saturating_sub(1));
                self.not_before = now + wait.min(LONGEST_BACKOFF);
                tracing::warn!("{why}; trying again");
            }
        }
        Wake::At(self.not_before.max(now + Duration::from_millis(1)))
    }
}
