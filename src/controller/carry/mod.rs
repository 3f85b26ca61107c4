//! Carries out the commands of an execution: each is one request that ends within the limit of the lease, asks the
//! leader's token right before, and carries a precondition.
//!
//! Raw requests: kube's own eviction drops UID and grace period.
//!
//! May import: api, execute, controller

mod hooks;
mod pods;
mod reviews;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, header};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use self::pods::pod_path;
use super::event::{self, Happened};
use super::install::Reach;
use super::lease::LeaderToken;
use super::metrics::Metrics;
use super::object::Run;
use crate::api::names::{
    CONTROLLER_LEASE, FINALIZER, LAST_EXECUTION_ANNOTATION, PLACEMENT_ACTIVE_LABEL,
    PLACEMENT_LEASE_ANNOTATION,
};
use crate::api::{API_VERSION, Phase, RepackRunStatus};
use crate::execute::command::RunSeen;
use crate::execute::{About, Answer, Command, GroupRef, Refusal, RunRef, Seen};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";

/// The carrier.
pub struct Carrier {
    client: Client,
    tokens: watch::Receiver<Option<LeaderToken>>,
    limit: Duration,
    metrics: Arc<Metrics>,
    identity: String,
    lease_namespace: String,
    /// None: this controller has no webhooks.
    reach: Option<Reach>,
    /// What the API server has to trust to reach this replica; others tell on the Lease.
    pem: watch::Receiver<String>,
    /// The namespaces and certificates of the webhook configuration, as this process wrote it last.
    applied: Mutex<Option<(Vec<String>, String)>>,
}

/// What is needed to make a carrier.
pub struct Parts {
    /// For requests.
    pub client: Client,
    /// The right to act.
    pub tokens: watch::Receiver<Option<LeaderToken>>,
    /// Limit of one request.
    pub limit: Duration,
    /// Where it counts.
    pub metrics: Arc<Metrics>,
    /// This process.
    pub identity: String,
    /// Where the Lease is.
    pub lease_namespace: String,
    /// How the webhooks are reached.
    pub reach: Option<Reach>,
    /// The certificates of this replica's webhooks.
    pub pem: watch::Receiver<String>,
}

impl Carrier {
    /// A carrier.
    pub fn new(parts: Parts) -> Self {
        Self {
            client: parts.client,
            tokens: parts.tokens,
            limit: parts.limit,
            metrics: parts.metrics,
            identity: parts.identity,
            lease_namespace: parts.lease_namespace,
            reach: parts.reach,
            pem: parts.pem,
            applied: Mutex::new(None),
        }
    }

    /// Carries a command out for a run. `object` is the run as it was last read or written, and follows what is written.
    pub async fn carry(
        &self,
        reign: i32,
        run: &RunRef,
        object: &mut DynamicObject,
        command: &Command,
    ) -> Answer {
        match command {
            Command::ReadRun => self.read_run(reign, run, object).await,
            Command::WriteStatus(status) => self.write_status(reign, run, object, status).await,
            Command::Finalizer(on) => {
                let others = object.metadata.finalizers.iter().flatten().filter(|name| *name != FINALIZER);
                let mut all: Vec<&str> = others.map(String::as_str).collect();
                all.extend(on.then_some(FINALIZER));
                let version = object.metadata.resource_version.clone();
                let body = json!({"metadata": {"finalizers": all, "resourceVersion": version}});
                self.patch_run(reign, run, object, &body).await
            }
            Command::ActiveLabel(on) => {
                let value = on.then_some("true");
                let body = json!({"metadata": {"uid": run.uid, "labels": {PLACEMENT_ACTIVE_LABEL: value}}});
                self.patch_run(reign, run, object, &body).await
            }
            Command::Lease { group, held } => self.lease(reign, run, group, *held).await,
            Command::Webhooks { namespaces } => self.webhooks(reign, namespaces).await,
            Command::Review { namespace, right, of } => {
                self.review(reign, namespace, *right, of.as_deref()).await
            }
            Command::Probe { namespace } => self.probe(reign, run, namespace).await,
            Command::ReadPod(pod) => {
                let answer = self.send(reign, "GET", &pod_path(pod, ""), None, "get pods").await;
                match answer {
                    Ok(found) => Answer::Pod(Some(Box::new(Seen::of(&found)))),
                    Err(Answer::Refused(Refusal { code: 404, .. })) => Answer::Pod(None),
                    Err(answer) => answer,
                }
            }
            Command::Evict { pod, grace } => self.evict(reign, pod, *grace).await,
            Command::Nominate { pod, node } => {
                let body = json!({"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}});
                let body = Some((MERGE, body));
                done(self.send(reign, "PATCH", &pod_path(pod, "/status"), body, "patch pods/status").await)
            }
            Command::Ungate(pod) => self.ungate(reign, pod).await,
            Command::Anchor(time) => {
                let note =
                    json!({LAST_EXECUTION_ANNOTATION: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
                let body = Some((MERGE, json!({"metadata": {"annotations": note}})));
                done(self.send(reign, "PATCH", &self.lease_path(), body, "patch leases").await)
            }
            Command::Tell { about, reason, message, warning } => {
                self.tell(reign, run, object, about, reason, message, *warning).await
            }
            // The cluster's state answers it, with the pods that are listed for it.
            Command::ListPods => Answer::Lost("pods are listed elsewhere".to_owned()),
        }
    }

    /// When the last run that evicted something ended, as the Lease has it.
    ///
    /// # Errors
    /// The server does not answer or refuses.
    pub async fn last_execution(&self, reign: i32) -> Result<Option<Timestamp>, String> {
        match self.send(reign, "GET", &self.lease_path(), None, "get leases").await {
            Ok(lease) => {
                let annotations = &lease["metadata"]["annotations"];
                Ok(annotations[LAST_EXECUTION_ANNOTATION].as_str().and_then(|time| time.parse().ok()))
            }
            Err(Answer::Refused(refusal)) if refusal.code == 404 => Ok(None),
            Err(answer) => Err(format!("cannot get the lease: {answer:?}")),
        }
    }

    async fn read_run(&self, reign: i32, run: &RunRef, object: &mut DynamicObject) -> Answer {
        match self.send(reign, "GET", &run_path(run, ""), None, "get repackruns").await {
            Ok(found) => match serde_json::from_value::<DynamicObject>(found) {
                Ok(found) => {
                    let seen = seen(&found);
                    *object = found;
                    Answer::Run(Some(Box::new(seen)))
                }
                Err(fault) => Answer::Lost(fault.to_string()),
            },
            Err(Answer::Refused(Refusal { code: 404, .. })) => Answer::Run(None),
            Err(answer) => answer,
        }
    }

    async fn write_status(
        &self,
        reign: i32,
        run: &RunRef,
        object: &mut DynamicObject,
        status: &RepackRunStatus,
    ) -> Answer {
        let mut body = serde_json::to_value(&*object).unwrap_or_default();
        body["status"] = serde_json::to_value(status).unwrap_or_default();
        let body = Some((JSON, body));
        let answer =
            self.send(reign, "PUT", &run_path(run, "/status"), body, "update repackruns/status").await;
        keep(answer, object)
    }

    async fn patch_run(&self, reign: i32, run: &RunRef, object: &mut DynamicObject, body: &Value) -> Answer {
        let body = Some((MERGE, body.clone()));
        keep(self.send(reign, "PATCH", &run_path(run, ""), body, "patch repackruns").await, object)
    }

    async fn lease(&self, reign: i32, run: &RunRef, group: &GroupRef, held: bool) -> Answer {
        let GroupRef { namespace, name, uid } = group;
        let path = format!("/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups/{name}");
        let value = held.then(|| run.tag());
        let note = json!({"uid": uid, "annotations": {PLACEMENT_LEASE_ANNOTATION: value}});
        let body = Some((MERGE, json!({"metadata": note})));
        done(self.send(reign, "PATCH", &path, body, "patch podgroups").await)
    }

    #[expect(clippy::too_many_arguments, reason = "an event is made of these")]
    async fn tell(
        &self,
        reign: i32,
        run: &RunRef,
        object: &DynamicObject,
        about: &About,
        reason: &str,
        message: &str,
        warning: bool,
    ) -> Answer {
        let happened = Happened { reason: reason.to_owned(), message: message.to_owned(), warning };
        let mut event =
            event::event(&Run::of(object), &happened, &self.identity, Timestamp::now(), event::sequence());
        let mut namespace = event::NAMESPACE.to_owned();
        if let About::Pod(pod) = about {
            namespace.clone_from(&pod.namespace);
            event.metadata.namespace = Some(namespace.clone());
            event.involved_object = ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                namespace: Some(pod.namespace.clone()),
                name: Some(pod.name.clone()),
                uid: Some(pod.uid.clone()),
                ..ObjectReference::default()
            };
        }
        let body = Some((JSON, serde_json::to_value(&event).unwrap_or_default()));
        let path = format!("/api/v1/namespaces/{namespace}/events");
        let answer = self.send(reign, "POST", &path, body, "create events").await;
        if let Err(answer) = &answer {
            tracing::warn!(run = run.name, reason, "cannot create the event: {answer:?}");
        }
        done(answer)
    }

    fn lease_path(&self) -> String {
        lease_path(&self.lease_namespace)
    }

    /// One request.
    async fn send(
        &self,
        reign: i32,
        method: &'static str,
        path: &str,
        body: Option<(&'static str, Value)>,
        what: &'static str,
    ) -> Result<Value, Answer> {
        let token = *self.tokens.borrow();
        if !token.is_some_and(|token| token.permits(reign, Instant::now())) {
            return Err(Answer::Lost("this process does not lead any more".to_owned()));
        }
        let mut request = Request::builder().method(method).uri(path);
        if let Some((kind, _)) = &body {
            request = request.header(header::CONTENT_TYPE, *kind);
        }
        let body = body.map(|(_, body)| body.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(body).map_err(|fault| Answer::Lost(fault.to_string()))?;
        let (verb, resource) = what.split_once(' ').unwrap_or((what, ""));
        match timeout(self.limit, self.client.request::<Value>(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) => {
                if status.code >= 500 || status.code == 403 {
                    self.metrics.failed(verb, resource, status.code);
                }
                let details = status.details.as_ref();
                let causes = details.map(|details| details.causes.as_slice()).unwrap_or_default();
                let retry_after = details.map_or(0, |details| details.retry_after_seconds);
                Err(Answer::Refused(Refusal {
                    code: status.code,
                    budget: causes.iter().any(|cause| cause.reason == "DisruptionBudget"),
                    retry_after: Some(u64::from(retry_after)).filter(|seconds| *seconds > 0),
                    message: status.message.clone(),
                }))
            }
            Ok(Err(fault)) => {
                self.metrics.failed(verb, resource, 0);
                Err(Answer::Lost(fault.to_string()))
            }
            Err(_) => {
                self.metrics.failed(verb, resource, 0);
                Err(Answer::Lost(format!("no answer within {} s", self.limit.as_secs_f64())))
            }
        }
    }
}

/// What execution reads of the run's object.
pub fn seen(object: &DynamicObject) -> RunSeen {
    let run = Run::of(object);
    RunSeen {
        uid: run.uid,
        status: serde_json::from_value(object.data["status"].clone()).ok(),
        deleting: run.deleting,
        cancelled: run.cancelled,
        finalizer: run.finalizer,
        active: run.active,
    }
}

/// Whether a status is that of a run that is being carried out.
pub fn is_carried_out(status: &RepackRunStatus) -> bool {
    status.phase == Phase::Running && status.relocations.is_some()
}

/// Path of the Lease in a namespace.
pub fn lease_path(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{CONTROLLER_LEASE}")
}

fn run_path(run: &RunRef, sub: &str) -> String {
    format!("/apis/{API_VERSION}/repackruns/{}{sub}", run.name)
}

fn done(answer: Result<Value, Answer>) -> Answer {
    answer.map_or_else(|answer| answer, |_| Answer::Done)
}

/// Takes the object that the server answered with.
fn keep(answer: Result<Value, Answer>, object: &mut DynamicObject) -> Answer {
    match answer {
        Ok(value) => {
            if let Ok(stored) = serde_json::from_value(value) {
                *object = stored;
            }
            Answer::Done
        }
        Err(answer) => answer,
    }
}
