//! The worker: listens to the API server, and as leader takes one step of one run after the other.
//!
//! It is one task. Planning goes to a thread of its own while the worker keeps listening, so that a cancelled or
//! deleted run is known when its plan is there. A plan made under another reign, or of a run that changed, is dropped.
//!
//! May import: api, controller, execute

mod steps;
mod turns;

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

use super::execution::{Executor, Turn};
use super::lease::LeaderToken;
use super::metrics::Metrics;
use super::object::{Recorded, Run};
use super::ownership::{Ownership, resource};
use super::run::{Leave, Queue, Rules, Step, next};
use super::runs::{Runs, Work};
use super::write::Writer;
use super::{ClusterState, other_engine};
use crate::api::RepackRunStatus;
use crate::execute::admission::Expected;

/// Between two looks at whether the cluster's lists have arrived.
const SHORT: Duration = Duration::from_millis(100);

/// Between two looks at whether another engine is gone, while there is work.
const LOOK_FOR_RIVAL: Duration = Duration::from_secs(2);

/// Longest wait for a time that a clock tells: clocks are set.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

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
    /// The pod of another engine, as it was last told of.
    rival: Option<String>,
    /// Writes in a row that met a changed object.
    conflicts: u32,
    /// A run and its last status, whose write has no answer that is known.
    unsure: Option<(Run, RepackRunStatus)>,
    executor: Executor,
    /// The last turn was the executor's.
    executed: bool,
    /// What the webhooks are told.
    expected: watch::Sender<Option<Arc<Expected>>>,
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
    /// Carries out runs of mode Execute.
    pub executor: Executor,
    /// What the webhooks are told.
    pub expected: watch::Sender<Option<Arc<Expected>>>,
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
            rival: None,
            conflicts: 0,
            unsure: None,
            executor: parts.executor,
            executed: false,
            expected: parts.expected,
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
        self.tell_webhooks();
    }

    fn tell_what_is_left_alone(&mut self, run: &Run) {
        if matches!(run.recorded, Recorded::Finished { .. }) || self.told.contains(&run.uid) {
            return;
        }
        let why = match next(run, &self.rules, &Queue::default(), Timestamp::now()) {
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
        let Some(token) = *self.tokens.borrow() else { return Wake::WhenSomethingHappens };
        if now < token.acts_from {
            return Wake::At(token.acts_from);
        }
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
        self.settle(reign).await;
        let time = Timestamp::now();
        self.executor.leads(reign);
        if self.asks_for_the_last()
            && let Err(why) = self.executor.ask_for_the_last(reign).await
        {
            tracing::warn!("{why}; trying again");
            return Wake::At(now + Duration::from_secs(1));
        }
        let queue = self.queue();
        let later = match self.runs.work(&self.rules, &queue, time) {
            Work::Now(..) => None,
            Work::Nothing => Some(None),
            Work::Later(at) => {
                let wait = Duration::try_from(at.duration_since(time)).unwrap_or_default();
                Some(Some(now + wait.clamp(Duration::from_millis(1), LONGEST_WAIT)))
            }
        };
        // Executions and plans take turns: neither waits for the end of the other.
        if later.is_some() || !self.executed {
            self.executed = true;
            let turn = self.executor.turn(reign, &mut self.runs, now).await;
            self.publish();
            match (turn, later) {
                (Turn::AtOnce, _) => return Wake::AtOnce,
                (_, None) => {}
                (Turn::At(at), Some(Some(later))) => return Wake::At(at.min(later)),
                (Turn::At(at), Some(None)) => return Wake::At(at),
                (Turn::Nothing, Some(Some(later))) => return Wake::At(later),
                (Turn::Nothing, Some(None)) => return Wake::WhenSomethingHappens,
            }
        }
        self.executed = false;
        let (run, object, step) = match self.runs.work(&self.rules, &queue, time) {
            Work::Nothing | Work::Later(_) => return Wake::AtOnce,
            Work::Now(entry, step) => (entry.run.clone(), entry.object.clone(), step),
        };
        let rival = self.state.other_engine();
        if rival != self.rival {
            if let Some(pod) = &rival {
                tracing::error!("no run is worked on: {}", other_engine(pod));
            }
            self.rival.clone_from(&rival);
        }
        if rival.is_some() {
            return Wake::At(now + LOOK_FOR_RIVAL);
        }
        let span = tracing::info_span!("run", run = run.name, uid = run.uid);
        let done = self.carry_out(reign, &run, object, step).instrument(span.clone()).await;
        let _inside = span.enter();
        self.after(&run, done)
    }
}
