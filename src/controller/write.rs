//! Every request that changes something, the lease aside: status of runs, deletion of runs, events.
//!
//! Each asks the leader's token right before it is sent, ends within the limit that the lease allows for, and carries a
//! precondition: a status the resource version, a deletion the UID and the resource version.
//!
//! May import: api

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::core::DynamicObject;
use kube::{Api, Client};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::timeout;

use super::event::{self, Happened};
use super::lease::LeaderToken;
use super::metrics::Metrics;
use super::object::Run;
use super::ownership::resource;
use crate::api::RepackRunStatus;

/// Why nothing was written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// This process does not lead, or no longer under the reign in which the work began.
    #[error("this process does not lead any more")]
    NotLeader,
    /// The object changed since it was read.
    #[error("the object has changed")]
    Conflict,
    /// There is no such object any more.
    #[error("the object is gone")]
    Gone,
    /// The server takes no object like this, however often it is asked.
    #[error("{0}")]
    Refused(String),
    /// The server refused for now, or its answer is not known.
    #[error("{0}")]
    Failed(String),
}

/// The writer.
pub struct Writer {
    runs: Api<DynamicObject>,
    events: Api<Event>,
    tokens: watch::Receiver<Option<LeaderToken>>,
    limit: Duration,
    metrics: Arc<Metrics>,
    identity: String,
}

impl Writer {
    /// A writer whose requests end within `limit`.
    pub fn new(
        client: &Client,
        tokens: watch::Receiver<Option<LeaderToken>>,
        limit: Duration,
        metrics: Arc<Metrics>,
        identity: String,
    ) -> Self {
        Self {
            runs: Api::all_with(client.clone(), &resource()),
            events: Api::namespaced(client.clone(), event::NAMESPACE),
            tokens,
            limit,
            metrics,
            identity,
        }
    }

    /// An object with a status in it; nothing is sent.
    ///
    /// # Errors
    /// The status can not be written as JSON.
    pub fn with_status(
        object: &DynamicObject,
        status: &RepackRunStatus,
    ) -> Result<DynamicObject, WriteError> {
        let mut object = object.clone();
        let status = serde_json::to_value(status).map_err(|fault| WriteError::Failed(fault.to_string()))?;
        if let Some(data) = object.data.as_object_mut() {
            data.insert("status".to_owned(), status);
        }
        Ok(object)
    }

    /// Replaces the status of a run at the version the object has; returns the object as it is stored then.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn status(&self, reign: i32, object: &DynamicObject) -> Result<DynamicObject, WriteError> {
        let name = object.metadata.name.clone().unwrap_or_default();
        let params = PostParams::default();
        let request = self.runs.replace_status(&name, &params, object);
        self.guarded(reign, "update", "repackruns/status", request).await
    }

    /// Deletes a run if it is still the one that was read.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn delete(&self, reign: i32, run: &Run) -> Result<(), WriteError> {
        let preconditions =
            Preconditions { uid: Some(run.uid.clone()), resource_version: Some(run.version.clone()) };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let request = self.runs.delete(&run.name, &params);
        self.guarded(reign, "delete", "repackruns", request).await.map(|_| ())
    }

    /// Tells of something; a failure is logged and is no reason to do anything again.
    pub async fn event(&self, reign: i32, run: &Run, happened: &Happened) {
        let event = event::event(run, happened, &self.identity, Timestamp::now(), event::sequence());
        let params = PostParams::default();
        let request = self.events.create(&params, &event);
        if let Err(fault) = self.guarded(reign, "create", "events", request).await {
            tracing::warn!(reason = happened.reason, "cannot create the event: {fault}");
        }
    }

    /// Sends a request if this process may, and only for as long as it may.
    async fn guarded<T>(
        &self,
        reign: i32,
        verb: &'static str,
        resource: &'static str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        let token = *self.tokens.borrow();
        if !token.is_some_and(|token| token.permits(reign, Instant::now())) {
            return Err(WriteError::NotLeader);
        }
        let failed = |code, sentence: String| {
            self.metrics.failed(verb, resource, code);
            let sentence = format!("cannot {verb} {resource}: {sentence}");
            // Bad request, too large, invalid.
            if matches!(code, 400 | 413 | 422) {
                WriteError::Refused(sentence)
            } else {
                WriteError::Failed(sentence)
            }
        };
        match timeout(self.limit, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) => match status.code {
                404 => Err(WriteError::Gone),
                409 => Err(WriteError::Conflict),
                code => Err(failed(code, status.message)),
            },
            Ok(Err(fault)) => Err(failed(0, fault.to_string())),
            Err(_) => Err(failed(0, format!("no answer within {} s", self.limit.as_secs_f64()))),
        }
    }
}
