//! Drives the execution of the active run: looks at the cluster, asks the state machine for the next command, carries it
//! out and tells it the answer. Also takes away what runs left behind.
//!
//! One command per turn, so that the worker listens in between. The picture of the cluster may lag; making it costs, so it
//! is made anew only after a change, and no more often than a part of the time allows.
//!
//! May import: api, execute, plan

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::core::DynamicObject;

use super::carry::{Carrier, is_carried_out, seen};
use super::metrics::Metrics;
use super::object::{Recorded, Run};
use super::run::Rules;
use super::runs::Runs;
use super::{ClusterState, Picture};
use crate::api::names::MANAGER;
use crate::api::{Mode, PlacementPhase};
use crate::execute::command::RunSeen;
use crate::execute::strays::strays;
use crate::execute::{Answer, Command, Creator, Execution, Next, Orders, RunRef, Seen, Sight};
use crate::plan::request::Request;

/// Between two looks at the cluster while an execution waits.
const LOOK: Duration = Duration::from_millis(100);
/// So many times as long as a picture of the cluster took it is good for.
const WORTH: u32 = 4;
/// Between two searches for what runs left behind.
const STRAYS: Duration = Duration::from_secs(30);

/// What the worker does next about executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Another turn at once.
    AtOnce,
    /// Another turn then.
    At(Instant),
    /// Nothing, unless a run changes.
    Nothing,
}

/// The last picture of the cluster.
struct Last {
    picture: Picture,
    generation: u64,
    at: Instant,
    took: Duration,
}

/// The run that is being carried out.
struct Active {
    execution: Execution,
    object: DynamicObject,
}

/// What is needed to make a driver.
pub struct Parts {
    /// For requests.
    pub carrier: Carrier,
    /// The cluster.
    pub state: Arc<dyn ClusterState>,
    /// What the process was told.
    pub rules: Rules,
    /// Where it counts.
    pub metrics: Arc<Metrics>,
    /// Between two looks at which replicas live.
    pub trust_every: Duration,
}

/// The driver.
pub struct Executor {
    carrier: Carrier,
    state: Arc<dyn ClusterState>,
    rules: Rules,
    metrics: Arc<Metrics>,
    trust_every: Duration,
    /// When it is looked next which replicas live.
    trust_at: Option<Instant>,
    reign: Option<i32>,
    active: Option<Active>,
    last_look: Option<Last>,
    strays_at: Option<Instant>,
    /// When the last run that evicted something ended.
    last: Option<Timestamp>,
    /// The Lease was asked for it.
    asked: bool,
}

impl Executor {
    /// A driver that has done nothing.
    pub fn new(parts: Parts) -> Self {
        Self {
            carrier: parts.carrier,
            state: parts.state,
            rules: parts.rules,
            metrics: parts.metrics,
            trust_every: parts.trust_every,
            trust_at: None,
            reign: None,
            active: None,
            last_look: None,
            strays_at: None,
            last: None,
            asked: false,
        }
    }

    /// This process leads; under another reign everything is taken up afresh.
    pub fn leads(&mut self, reign: i32) {
        if self.reign != Some(reign) {
            self.reign = Some(reign);
            self.active = None;
            self.strays_at = None;
            self.trust_at = None;
            self.asked = false;
        }
    }

    /// When the last run that evicted something ended.
    pub fn last(&self) -> Option<Timestamp> {
        self.last
    }

    /// Asks the Lease for that, once per reign.
    ///
    /// # Errors
    /// The server does not answer or refuses.
    pub async fn ask_for_the_last(&mut self, reign: i32) -> Result<(), String> {
        if !self.asked {
            self.last = self.carrier.last_execution(reign).await?;
            self.asked = true;
        }
        Ok(())
    }

    /// Takes one turn.
    pub async fn turn(&mut self, reign: i32, runs: &mut Runs, now: Instant) -> Turn {
        if self.rules.execute_cooldown.is_none() {
            return Turn::Nothing;
        }
        let due = match self.trust_at {
            Some(at) if now < at => at,
            _ => {
                self.carrier.trust_who_lives(reign).await;
                *self.trust_at.insert(Instant::now() + self.trust_every)
            }
        };
        match self.step(reign, runs, now).await {
            Turn::AtOnce => Turn::AtOnce,
            Turn::At(at) => Turn::At(at.min(due)),
            Turn::Nothing => Turn::At(due),
        }
    }

    async fn step(&mut self, reign: i32, runs: &mut Runs, now: Instant) -> Turn {
        if self.active.is_none() {
            self.take_up(runs);
        }
        if self.active.is_some() {
            return self.go_on(reign, runs, now).await;
        }
        if let Some(turn) = self.close_leftovers(reign, runs).await {
            return turn;
        }
        self.tidy(reign, runs, now).await
    }

    /// Takes up the run that is being carried out, whoever began it.
    fn take_up(&mut self, runs: &Runs) {
        let entry = runs.in_order().into_iter().find(|entry| {
            let open = matches!(&entry.run.recorded, Recorded::Open(status) if is_carried_out(status));
            open && is_ours(&entry.run)
        });
        let Some((run, object)) = entry.and_then(|entry| Some((&entry.run, entry.object.clone()?))) else {
            return;
        };
        let named = RunRef { name: run.name.clone(), uid: run.uid.clone() };
        // The spec was good enough to plan with, and never changes.
        let spec = run.spec.clone().unwrap_or_default();
        let request =
            Request::from_spec(&spec, self.rules.default_resource.as_deref(), self.rules.movability.clone());
        let resource = request.map(|request| request.resource).unwrap_or_default();
        let mut orders = Orders::of(&spec, &resource, &self.rules.movability);
        if self.rules.check_creator {
            let annotations = object.metadata.annotations.as_ref();
            orders.creator = Creator::noted(|name| annotations?.get(name).map(String::as_str));
        }
        if let Some(execution) = Execution::new(named, orders, seen(&object)) {
            tracing::info!(run = run.name, uid = run.uid, "the execution is taken up");
            self.active = Some(Active { execution, object });
        }
    }

    /// One command of the active run.
    async fn go_on(&mut self, reign: i32, runs: &mut Runs, now: Instant) -> Turn {
        if let Err(why) = self.look(now) {
            tracing::warn!("the cluster's state cannot be used: {why}; trying again");
            return Turn::At(now + Duration::from_secs(1));
        }
        let (Some(active), Some(last)) = (&mut self.active, &self.last_look) else { return Turn::Nothing };
        let run = active.execution.run().clone();
        if let Some(object) =
            runs.get(&run.name).filter(|entry| entry.run.uid == run.uid).and_then(|e| e.object.as_ref())
        {
            let told: RunSeen = seen(object);
            active.execution.observe(&told);
        }
        let next = {
            let pod =
                |namespace: &str, name: &str| (last.picture.pod)(namespace, name).map(|pod| Seen::of(&pod));
            let tag = run.tag();
            let works = |other: &str| other == tag;
            let sight = Sight { snapshot: &last.picture.snapshot, pod: &pod, works: &works };
            active.execution.know(&sight);
            active.execution.next(&sight, Timestamp::now())
        };
        let command = match next {
            Next::Finished => {
                tracing::info!(run = run.name, uid = run.uid, "the execution has ended");
                self.active = None;
                return Turn::AtOnce;
            }
            Next::Wait(at) => {
                let due = at.and_then(|at| Duration::try_from(at.duration_since(Timestamp::now())).ok());
                let soon = LOOK.max(last.took * WORTH);
                return Turn::At(now + due.map_or(soon, |due| due.clamp(Duration::from_millis(1), soon)));
            }
            Next::Do(command) => command,
        };
        let before = active.execution.status().relocations.clone();
        let answer = match &command {
            Command::ListPods => match self.carrier.pods(reign).await {
                Ok(pods) => match self.state.snapshot_with(&pods) {
                    Ok(snapshot) => Answer::Cluster(Box::new(snapshot)),
                    Err(why) => Answer::Lost(why),
                },
                Err(answer) => answer,
            },
            command => self.carrier.carry(reign, &run, &mut active.object, command).await,
        };
        tell(&run, &command, &answer);
        if let (Command::Anchor(time), Answer::Done) = (&command, &answer) {
            self.last = Some(*time);
        }
        active.execution.answered(&command, answer, Timestamp::now());
        let written =
            matches!(command, Command::WriteStatus(_) | Command::Finalizer(_) | Command::ActiveLabel(_));
        if written {
            count(&self.metrics, before.as_deref(), active.execution.status());
            runs.keep(active.object.clone());
            let ended = !is_carried_out(active.execution.status());
            if let (true, Command::WriteStatus(status)) = (ended, &command)
                && let Some(reason) = super::run::reason_of(status)
            {
                tracing::info!(run = run.name, uid = run.uid, reason = reason.as_str(), "{}", status.message);
                self.metrics.run_ended(Mode::Execute, reason);
            }
        }
        Turn::AtOnce
    }

    /// Makes a picture of the cluster where the last one is too old.
    fn look(&mut self, now: Instant) -> Result<(), String> {
        let generation = self.state.generation();
        let fresh = self
            .last_look
            .as_ref()
            .is_some_and(|last| last.generation == generation || now < last.at + last.took * WORTH);
        if fresh {
            return Ok(());
        }
        let picture = self.state.picture()?;
        let at = Instant::now();
        self.last_look = Some(Last { picture, generation, at, took: at - now });
        Ok(())
    }

    /// Label and finalizer of runs that have ended, or go before they were carried out.
    async fn close_leftovers(&self, reign: i32, runs: &mut Runs) -> Option<Turn> {
        let left = runs.in_order().into_iter().find_map(|entry| {
            let run = &entry.run;
            let over = matches!(run.recorded, Recorded::Finished { .. }) || run.deleting;
            let command = if run.active { Command::ActiveLabel(false) } else { Command::Finalizer(false) };
            (is_ours(run) && over && (run.active || run.finalizer)).then(|| (run.clone(), command))
        });
        let (run, command) = left?;
        let named = RunRef { name: run.name.clone(), uid: run.uid.clone() };
        let mut object = DynamicObject::new(&run.name, &super::ownership::resource());
        let read = self.carrier.carry(reign, &named, &mut object, &Command::ReadRun).await;
        match read {
            Answer::Run(Some(found)) if found.uid == run.uid => {
                let answer = self.carrier.carry(reign, &named, &mut object, &command).await;
                tell(&named, &command, &answer);
                if matches!(answer, Answer::Done) {
                    runs.keep(object);
                    return Some(Turn::AtOnce);
                }
                Some(Turn::At(Instant::now() + Duration::from_secs(2)))
            }
            Answer::Run(_) => {
                runs.forget(&run.name, &run.uid);
                Some(Turn::AtOnce)
            }
            _ => Some(Turn::At(Instant::now() + Duration::from_secs(2))),
        }
    }

    /// What no run works on any more: the webhook's namespaces, gates, leases.
    async fn tidy(&mut self, reign: i32, runs: &Runs, now: Instant) -> Turn {
        if let Some(at) = self.strays_at.filter(|at| now < *at) {
            return Turn::At(at);
        }
        let first = self.strays_at.is_none();
        self.strays_at = Some(now + STRAYS);
        let nobody = RunRef { name: String::new(), uid: String::new() };
        let mut object = DynamicObject::new("", &super::ownership::resource());
        if first {
            // Installed without a namespace, so that a run has only to name its own.
            let command = Command::Webhooks { namespaces: Vec::new() };
            let answer = self.carrier.carry(reign, &nobody, &mut object, &command).await;
            tell(&nobody, &command, &answer);
        }
        if self.look(now).is_err() {
            return Turn::At(now + STRAYS);
        }
        let Some(last) = &self.last_look else { return Turn::At(now + STRAYS) };
        let working: Vec<String> = runs
            .in_order()
            .into_iter()
            .filter(|entry| matches!(&entry.run.recorded, Recorded::Open(status) if is_carried_out(status)))
            .map(|entry| RunRef { name: entry.run.name.clone(), uid: entry.run.uid.clone() }.tag())
            .collect();
        let commands = {
            let pod =
                |namespace: &str, name: &str| (last.picture.pod)(namespace, name).map(|pod| Seen::of(&pod));
            let works = |tag: &str| working.iter().any(|known| known == tag);
            strays(&Sight { snapshot: &last.picture.snapshot, pod: &pod, works: &works })
        };
        for command in commands {
            let answer = self.carrier.carry(reign, &nobody, &mut object, &command).await;
            tell(&nobody, &command, &answer);
        }
        Turn::At(now + STRAYS)
    }
}

/// A run that this controller carries out.
fn is_ours(run: &Run) -> bool {
    run.mode == Mode::Execute && run.manager.as_deref().is_none_or(|name| name == MANAGER)
}

/// Logs what was done: what went wrong as a warning.
fn tell(run: &RunRef, command: &Command, answer: &Answer) {
    let what = command.what();
    match answer {
        Answer::Refused(refusal) => {
            let (code, message) = (refusal.code, &refusal.message);
            tracing::warn!(run = run.name, uid = run.uid, code, "cannot {what}: {message}");
        }
        Answer::Lost(why) => tracing::warn!(run = run.name, uid = run.uid, "cannot {what}: {why}"),
        _ => match command {
            Command::ReadPod(_) | Command::ReadRun | Command::WriteStatus(_) | Command::Tell { .. } => {
                tracing::debug!(run = run.name, uid = run.uid, "{what}");
            }
            _ => tracing::info!(run = run.name, uid = run.uid, "{what}"),
        },
    }
}

/// Counts the placements that a written status closed.
fn count(metrics: &Metrics, before: Option<&[crate::api::Relocation]>, status: &crate::api::RepackRunStatus) {
    let word = |phase| match phase {
        PlacementPhase::Placed => Some("Placed"),
        PlacementPhase::TimedOut => Some("TimedOut"),
        PlacementPhase::NotNeeded => Some("NotNeeded"),
        _ => None,
    };
    let pairs = before.unwrap_or_default().iter().zip(status.relocations.iter().flatten());
    for (_, new) in pairs.filter(|(old, new)| old.placement.phase != new.placement.phase) {
        if let Some(word) = word(new.placement.phase) {
            metrics.placed(word);
        }
    }
}
