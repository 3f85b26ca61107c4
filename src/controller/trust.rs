//! What the API server trusts when it calls the webhooks: the certificate of every replica that lives. Each notes its own
//! on the Lease and renews it in time; whoever leads brings the notes into the webhook configuration.
//!
//! A note is a time and certificates: until then the replica can be counted on. A certificate is served only after it
//! has been noted for a while, and the one before stays noted until then, so that no call meets a stranger.
//!
//! May import: api, controller

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, header};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

use super::webhook::Certificate;
use crate::api::names::{TRUST_ANNOTATION_PREFIX, WEBHOOKS};

/// How long a note counts, and how long before its end it is written again.
const NOTED_FOR: SignedDuration = SignedDuration::from_hours(1);
const NOTED_AGAIN: SignedDuration = SignedDuration::from_mins(40);
/// Between two looks at the own note: somebody may have made the Lease anew.
const LOOK: Duration = Duration::from_secs(10);
/// Longest wait for a leader to bring a new certificate into the configuration.
const TAKEN_UP: Duration = Duration::from_mins(1);
/// Longest time for which a replica is not ready because it is not trusted: the leader may not serve webhooks at all.
const PATIENCE: Duration = Duration::from_mins(1);

/// Keeps the certificate of this replica.
pub struct Keeper {
    /// For requests.
    pub client: Client,
    /// Path of the Lease.
    pub lease: String,
    /// This process.
    pub identity: String,
    /// Names that the certificate is for.
    pub names: Vec<String>,
    /// How long one is good.
    pub lifetime: Duration,
    /// What is served.
    pub served: watch::Sender<Arc<ServerConfig>>,
    /// What has to be trusted, as PEM.
    pub pem: watch::Sender<String>,
}

impl Keeper {
    /// Notes and renews until the task is ended.
    pub async fn keep(self) {
        let mut renewed = Instant::now();
        loop {
            self.note().await;
            tokio::time::sleep(LOOK.min(self.lifetime / 8)).await;
            if renewed.elapsed() >= self.lifetime / 2 {
                renewed = Instant::now();
                self.renew().await;
            }
        }
    }

    async fn renew(&self) {
        let next = match Certificate::new(self.names.clone(), self.lifetime) {
            Ok(next) => next,
            Err(why) => {
                tracing::warn!("{why}; the one before is kept");
                return;
            }
        };
        self.pem.send_modify(|pem| pem.push_str(&next.pem));
        self.note().await;
        tokio::time::sleep(TAKEN_UP.min(self.lifetime / 4)).await;
        self.served.send_replace(next.config);
        self.pem.send_replace(next.pem);
        tracing::info!("the certificate of the webhooks is renewed");
    }

    /// Writes the note where it is not the right one, and takes those away that do not count any more.
    async fn note(&self) {
        let lease: Value = match self.client.request(get(&self.lease)).await {
            Ok(lease) => lease,
            Err(fault) => {
                tracing::debug!("cannot read the Lease: {fault}");
                return;
            }
        };
        let now = Timestamp::now();
        let Some(notes) = missing(&lease, &own(&self.identity), &self.pem.borrow().clone(), now) else {
            return;
        };
        let body = json!({"metadata": {"annotations": notes}}).to_string().into_bytes();
        let request =
            Request::patch(&self.lease).header(header::CONTENT_TYPE, "application/merge-patch+json");
        let Ok(request) = request.body(body) else { return };
        if let Err(fault) = self.client.request::<Value>(request).await {
            tracing::debug!("cannot note the certificate of the webhooks: {fault}");
        }
    }
}

/// Returns once the configuration has the certificate, or nobody can tell, or it was waited for long enough.
pub async fn until_trusted(client: Client, pem: String) {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client);
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        match api.get_opt(WEBHOOKS).await {
            Ok(found) => {
                let webhooks = found.into_iter().flat_map(|found| found.webhooks.unwrap_or_default());
                let mut bundles = webhooks.filter_map(|webhook| webhook.client_config.ca_bundle).peekable();
                let trusts = |bundle: Vec<u8>| String::from_utf8_lossy(&bundle).contains(&pem);
                if bundles.peek().is_some() && bundles.all(|bundle| trusts(bundle.0)) {
                    return;
                }
            }
            // Without the right to see it this replica executes nothing either.
            Err(kube::Error::Api(status)) if status.code == 403 => return,
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The name of a note: the end of an identity differs between any two processes and fits behind the prefix.
fn own(identity: &str) -> String {
    identity.rsplit('_').next().unwrap_or_default().to_owned()
}

/// The annotations to write: the own note and removals of those whose time is over. None: all is well.
fn missing(lease: &Value, own: &str, pem: &str, now: Timestamp) -> Option<Value> {
    let notes = notes(lease);
    let good = notes.get(own).is_some_and(|(until, noted)| {
        until.is_some_and(|until| now + (NOTED_FOR - NOTED_AGAIN) < until) && noted == pem
    });
    let mut wanted = BTreeMap::new();
    if !good {
        let until = (now + NOTED_FOR).strftime("%Y-%m-%dT%H:%M:%SZ");
        wanted.insert(format!("{TRUST_ANNOTATION_PREFIX}{own}"), json!(format!("{until}\n{pem}")));
    }
    let over =
        notes.iter().filter(|(name, (until, _))| *name != own && until.is_none_or(|until| until < now));
    wanted.extend(over.map(|(name, _)| (format!("{TRUST_ANNOTATION_PREFIX}{name}"), Value::Null)));
    (!wanted.is_empty()).then(|| json!(wanted))
}

/// Time and certificates of each note; a note without a time never counted.
fn notes(lease: &Value) -> BTreeMap<String, (Option<Timestamp>, String)> {
    let annotations = lease["metadata"]["annotations"].as_object();
    let notes = annotations.into_iter().flatten().filter_map(|(key, value)| {
        let replica = key.strip_prefix(TRUST_ANNOTATION_PREFIX)?;
        let (until, pem) = value.as_str()?.split_once('\n').unwrap_or_default();
        Some((replica.to_owned(), (until.parse().ok(), pem.to_owned())))
    });
    notes.collect()
}

/// The certificates of the replicas that live, by replica.
pub fn trusted_on(lease: &Value, now: Timestamp) -> Vec<String> {
    let counts =
        |(until, pem): (Option<Timestamp>, String)| until.is_some_and(|until| now < until).then_some(pem);
    notes(lease).into_values().filter_map(counts).collect()
}

fn get(path: &str) -> Request<Vec<u8>> {
    let mut request = Request::new(Vec::new());
    if let Ok(path) = path.parse() {
        *request.uri_mut() = path;
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn a_replica_that_is_not_heard_of_is_not_trusted_and_its_note_goes() {
        let now = at("2026-07-30T10:00:00Z");
        let noted = |pem: &str, now: Timestamp, before: &Value| {
            let notes = missing(before, pem, pem, now).unwrap();
            let mut lease = before.clone();
            for (key, value) in notes.as_object().unwrap() {
                let all = lease["metadata"]["annotations"].as_object_mut().unwrap();
                if value.is_null() {
                    all.remove(key);
                } else {
                    all.insert(key.clone(), value.clone());
                }
            }
            lease
        };
        let lease = json!({"metadata": {"annotations": {"other": "x", "ca.repack.volcano.sh/old": "PEM"}}});
        let lease = noted("a", now, &lease);
        assert_eq!(trusted_on(&lease, now), ["a"]);
        assert!(lease["metadata"]["annotations"]["ca.repack.volcano.sh/old"].is_null(), "{lease}");
        assert_eq!(missing(&lease, "a", "a", now + SignedDuration::from_mins(10)), None);
        let later = now + SignedDuration::from_mins(59);
        let lease = noted("b", later, &lease);
        assert_eq!(trusted_on(&lease, later), ["a", "b"]);
        let much_later = now + SignedDuration::from_mins(61);
        assert_eq!(trusted_on(&lease, much_later), ["b"]);
        let lease = noted("c", much_later, &lease);
        assert_eq!(notes(&lease).keys().collect::<Vec<_>>(), ["b", "c"]);
        assert!(missing(&lease, "c", "another", much_later).is_some(), "a new certificate is noted");
    }
}
