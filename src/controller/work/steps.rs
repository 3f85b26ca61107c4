//! One step of one run: what is written, planned and told, and what a failure comes to.
//!
//! May import: api, controller, plan, execute

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::core::DynamicObject;

use super::{Wake, Worker};
use crate::api::{Mode, Phase, Reason, RepackRunSpec, RepackRunStatus};
use crate::controller::Picture;
use crate::controller::event::of_end;
use crate::controller::object::{Recorded, Run};
use crate::controller::planning::{self, sentence, too_large};
use crate::controller::run::{Outcome, Queue, Step, ended, next, reason_of};
use crate::controller::write::{WriteError, Writer};
use crate::execute::Seen as SeenPod;
use crate::plan::request::Request;

/// Wait after a run changed under a write.
const SHORT: Duration = Duration::from_millis(100);

/// Longest wait between two attempts.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// Attempts at a snapshot before the run ends: about half a minute.
const SNAPSHOTS: u32 = 5;

impl Worker {
    pub(super) async fn carry_out(
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
            (Step::Wait(status), Some(object)) => {
                let object = Writer::with_status(&object, &status)?;
                self.runs.keep(self.writer.status(reign, &object).await?);
                tracing::info!("{}", status.message);
            }
            (Step::End(status), Some(object)) => self.end(reign, run, &object, *status).await?,
            (Step::Plan(mut request), Some(object)) => {
                request.max_object_bytes = Some(planning::room(&object));
                let spec = run.spec.clone().ok().filter(|_| run.mode == Mode::Execute);
                let Some(outcome) = self.plan(reign, *request, spec).await? else { return Ok(()) };
                // Cancelled, deleted or changed in the meantime: then the next turn knows what to do.
                let latest = self.runs.get(&run.name).filter(|entry| entry.run.uid == run.uid).cloned();
                if let Some(entry) = latest
                    && let Some(object) = entry.object
                    && matches!(
                        next(&entry.run, &self.rules, &Queue::default(), Timestamp::now()),
                        Step::Plan(_)
                    )
                {
                    let status = ended(&entry.run, outcome, Timestamp::now());
                    self.end(reign, &entry.run, &object, status).await?;
                }
            }
            (Step::Wait(_) | Step::Start(_) | Step::End(_) | Step::Plan(_), None)
            | (Step::Leave(_) | Step::Later(_), _) => {}
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
        let mut stored = self.writer.status(reign, &object).await;
        if let Err(WriteError::Refused(why)) = &stored {
            let why = format!("the API server does not take the status that this run would end with: {why}");
            status = ended(run, Outcome::Fault(Reason::ReconcileFailed, sentence(&why)), Timestamp::now());
            object = Writer::with_status(&object, &status)?;
            stored = self.writer.status(reign, &object).await;
        }
        if matches!(stored, Err(WriteError::Failed(_))) {
            self.unsure = Some((run.clone(), status));
            return stored.map(|_| ());
        }
        self.runs.keep(stored?);
        self.unsure = None;
        self.tell(reign, run, &status).await;
        Ok(())
    }

    /// Tells of the end of a run whose last write had no answer that is known, once the watch shows that it arrived.
    pub(super) async fn settle(&mut self, reign: i32) {
        let Some((run, status)) = self.unsure.take() else { return };
        let found = self.runs.get(&run.name).map(|entry| &entry.run).filter(|found| found.uid == run.uid);
        match found.map(|found| &found.recorded) {
            None => {}
            Some(Recorded::Finished { completed }) => {
                let ours = status.completion_time.as_ref().and_then(|time| time.parse().ok());
                if *completed == ours {
                    self.tell(reign, &run, &status).await;
                }
            }
            // It is planned again, and written.
            Some(_) => self.unsure = Some((run, status)),
        }
    }

    /// Log, metric and events of an end that is written, or of a plan that begins to be carried out.
    async fn tell(&mut self, reign: i32, run: &Run, status: &RepackRunStatus) {
        if status.phase == Phase::Running {
            tracing::info!("the execution begins: {}", status.message);
            if let Some(plan) = of_end(status).first() {
                self.writer.event(reign, run, plan).await;
            }
            return;
        }
        if let Some(reason) = reason_of(status) {
            tracing::info!(reason = reason.as_str(), "the run has ended: {}", status.message);
            self.metrics.run_ended(run.mode, reason);
        }
        for happened in of_end(status) {
            self.writer.event(reign, run, &happened).await;
        }
    }

    /// Plans on another thread while listening. None: the work is not to be finished here.
    async fn plan(
        &mut self,
        reign: i32,
        request: Request,
        spec: Option<RepackRunSpec>,
    ) -> Result<Option<Outcome>, WriteError> {
        let state = Arc::clone(&self.state);
        let begun = Instant::now();
        let work = move || {
            let Some(spec) = spec else {
                let (snapshot, left_out) = state.snapshot()?;
                return Ok::<_, String>((planning::answer(&snapshot, &request, &left_out), left_out));
            };
            let Picture { snapshot, left_out, pod } = state.picture()?;
            let seen = |at| {
                let facts = snapshot.pod(at);
                let found = pod(snapshot.namespace_name(facts.namespace), snapshot.text(facts.name));
                found.map(|pod| SeenPod::of(&pod))
            };
            let now = Timestamp::now();
            Ok((planning::execution(&snapshot, &request, &spec, &left_out, seen, now), left_out))
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
        match answer {
            Ok(Ok((answer, left_out))) => {
                self.metrics.planned(begun.elapsed(), answer.candidates, &answer.prunings);
                for sentence in answer.noticed {
                    tracing::warn!("{sentence}");
                }
                for left in left_out {
                    tracing::warn!(kind = left.kind, "planned without it: {}", left.reason);
                }
                Ok(Some(answer.outcome))
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
    pub(super) fn after(&mut self, run: &Run, done: Result<(), WriteError>) -> Wake {
        let now = Instant::now();
        match done {
            Ok(()) => {
                (self.attempts, self.conflicts) = (0, 0);
                return Wake::AtOnce;
            }
            Err(WriteError::NotLeader) => tracing::warn!("not written: this process does not lead any more"),
            // The watch brings what changed.
            Err(WriteError::Conflict) => {
                let wait = SHORT * (1 << self.conflicts.min(8));
                self.conflicts += 1;
                self.not_before = now + wait.min(LONGEST_BACKOFF);
            }
            Err(WriteError::Gone) => self.runs.forget(&run.name, &run.uid),
            Err(WriteError::Refused(why)) => {
                tracing::error!("{why}; the run is left as it is until it changes");
                self.runs.give_up(&run.name, &run.uid);
            }
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
