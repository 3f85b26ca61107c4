//! Carries out the steps of the election on the API server and publishes the right to act.
//!
//! May import: api

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{sleep_until, timeout};

use super::lease::{Claim, Election, LeaderToken, Record, Step, Timing};
use super::metrics::Metrics;
use crate::api::names::{CONTROLLER_LEASE, VERSION_ANNOTATION};

/// Requests that giving the lease back may take: it runs out by itself if none gets through.
const LAST_REQUESTS: u32 = 3;

/// The process's part in the election.
pub struct Elector {
    leases: Api<Lease>,
    election: Election,
    limit: Duration,
    /// The object as it was last read or written; what others wrote into it stays.
    stored: Option<Lease>,
    tokens: watch::Sender<Option<LeaderToken>>,
    stop: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
    /// The last fault and the last holder that were told, so that neither fills the log.
    told_fault: String,
    told_holder: Option<String>,
}

impl Elector {
    /// A candidate for the lease of a namespace. It gives the lease back once `stop` holds true.
    pub fn new(
        client: Client,
        namespace: &str,
        identity: &str,
        timing: Timing,
        stop: watch::Receiver<bool>,
        metrics: Arc<Metrics>,
    ) -> (Self, watch::Receiver<Option<LeaderToken>>) {
        let (tokens, receiver) = watch::channel(None);
        let elector = Self {
            leases: Api::namespaced(client, namespace),
            election: Election::new(identity.to_owned(), timing, Instant::now()),
            limit: timing.request,
            stored: None,
            tokens,
            stop,
            metrics,
            told_fault: String::new(),
            told_holder: None,
        };
        (elector, receiver)
    }

    /// Takes part until the process stops.
    pub async fn run(mut self) {
        let mut last_requests = None;
        loop {
            if last_requests.is_none() && (*self.stop.borrow() || self.stop.has_changed().is_err()) {
                self.election.leave();
                last_requests = Some(LAST_REQUESTS);
            }
            let step = self.election.step(Instant::now());
            self.publish();
            if let (Some(left), false) = (&mut last_requests, matches!(step, Step::Wait(_))) {
                if *left == 0 {
                    return;
                }
                *left -= 1;
            }
            match step {
                Step::Done => return,
                Step::Read => self.read().await,
                Step::Create(claim) => self.write(&claim, true).await,
                Step::Replace(claim) => self.write(&claim, false).await,
                Step::Wait(until) => {
                    tokio::select! {
                        () = sleep_until(until.into()) => {}
                        _ = self.stop.changed() => {}
                    }
                }
            }
            self.publish();
        }
    }

    fn publish(&mut self) {
        let token = self.election.token(Instant::now());
        self.metrics.leads(token.is_some());
        let reign = |token: &Option<LeaderToken>| token.as_ref().map(|token| token.transitions);
        let before = reign(&self.tokens.borrow());
        self.tokens.send_if_modified(|known| std::mem::replace(known, token) != token);
        match (before, reign(&token)) {
            (before, Some(now)) if before != Some(now) => {
                tracing::info!(transitions = now, "this process leads");
            }
            (Some(_), None) => tracing::warn!("this process no longer leads and writes nothing any more"),
            _ => {}
        }
        let holder = self.election.holder().map(str::to_owned);
        if holder != self.told_holder && token.is_none() {
            if let Some(holder) = &holder {
                tracing::info!(holder, "another process holds the lease");
            }
            self.told_holder = holder;
        }
    }

    async fn read(&mut self) {
        match timeout(self.limit, self.leases.get_opt(CONTROLLER_LEASE)).await {
            Ok(Ok(found)) => {
                self.election.read(found.as_ref().map(record), Instant::now());
                self.stored = found;
            }
            Ok(Err(fault)) => self.failed("get", &fault),
            Err(_) => self.late("get"),
        }
    }

    async fn write(&mut self, claim: &Claim, create: bool) {
        let sent = Instant::now();
        let object = lease(self.stored.as_ref().filter(|_| !create), claim, Timestamp::now());
        let params = PostParams::default();
        let request = async {
            if create {
                self.leases.create(&params, &object).await
            } else {
                self.leases.replace(CONTROLLER_LEASE, &params, &object).await
            }
        };
        let verb = if create { "create" } else { "update" };
        match timeout(self.limit, request).await {
            Ok(Ok(stored)) => {
                self.election.written(record(&stored), sent, Instant::now());
                self.stored = Some(stored);
                self.told_fault.clear();
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => self.election.conflict(),
            Ok(Err(fault)) => self.failed(verb, &fault),
            Err(_) => self.late(verb),
        }
    }

    fn failed(&mut self, verb: &'static str, fault: &kube::Error) {
        let code = match fault {
            kube::Error::Api(status) => status.code,
            _ => 0,
        };
        self.missed(verb, code, format!("cannot {verb} lease {CONTROLLER_LEASE}: {fault}"));
    }

    fn late(&mut self, verb: &'static str) {
        let limit = self.limit.as_secs_f64();
        let sentence = format!("cannot {verb} lease {CONTROLLER_LEASE}: no answer within {limit} s");
        self.missed(verb, 0, sentence);
    }

    fn missed(&mut self, verb: &str, code: u16, sentence: String) {
        self.metrics.failed(verb, "leases", code);
        self.election.failed(Instant::now());
        if sentence != self.told_fault {
            tracing::warn!("{sentence}");
            self.told_fault = sentence;
        }
    }
}

/// What the election reads of an object. Absent numbers are those of a lease that nobody holds.
fn record(lease: &Lease) -> Record {
    let empty = LeaseSpec::default();
    let spec = lease.spec.as_ref().unwrap_or(&empty);
    let seconds = spec.lease_duration_seconds.unwrap_or(0);
    Record {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        duration: Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
        renewed: spec.renew_time.as_ref().map(|time| time.0),
        transitions: spec.lease_transitions.unwrap_or(0),
    }
}

/// The object that says a claim: the stored one with its resource version and what others wrote, or a new one.
fn lease(stored: Option<&Lease>, claim: &Claim, now: Timestamp) -> Lease {
    let mut lease = stored.cloned().unwrap_or_default();
    lease.metadata.name = Some(CONTROLLER_LEASE.to_owned());
    let version = (VERSION_ANNOTATION.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    lease.metadata.annotations.get_or_insert_default().extend([version]);
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(claim.holder.clone());
    spec.lease_duration_seconds = Some(i32::try_from(claim.duration.as_secs()).unwrap_or(i32::MAX));
    spec.lease_transitions = Some(claim.transitions);
    spec.renew_time = Some(MicroTime(now));
    if claim.acquired {
        spec.acquire_time = Some(MicroTime(now));
    }
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_read_back_as_what_it_says_and_the_rest_of_the_object_stays() {
        let mut stored = Lease::default();
        stored.metadata.resource_version = Some("7".to_owned());
        let note = ("repack.volcano.sh/note".to_owned(), "x".to_owned());
        stored.metadata.annotations = Some([note].into());
        let now: Timestamp = "2026-07-30T10:00:00Z".parse().unwrap();
        let holder = "a".to_owned();
        let claim = Claim { holder, duration: Duration::from_secs(20), transitions: 3, acquired: true };
        let object = lease(Some(&stored), &claim, now);
        assert_eq!(object.metadata.resource_version.as_deref(), Some("7"));
        let annotations = object.metadata.annotations.as_ref().unwrap();
        assert_eq!(annotations["repack.volcano.sh/note"], "x");
        assert_eq!(annotations["repack.volcano.sh/version"], env!("CARGO_PKG_VERSION"));
        let read = record(&object);
        assert_eq!((read.holder.as_str(), read.duration, read.transitions), ("a", claim.duration, 3));
        assert_eq!(read.renewed, Some(now));
        let renewed = lease(Some(&object), &Claim { acquired: false, ..claim }, now + Duration::from_secs(9));
        let spec = renewed.spec.unwrap();
        assert_eq!(spec.acquire_time.map(|time| time.0), Some(now), "a renewal is no take-over");
        assert_eq!(record(&Lease::default()), Record::default());
    }
}
