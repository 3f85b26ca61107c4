//! The webhook configuration: for which namespaces it asks, and whom the API server trusts.
//!
//! May import: api, execute, controller

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Carrier, MERGE, done};
use crate::api::names::{MANAGER, WEBHOOKS};
use crate::controller::install::{configuration, no_namespace};
use crate::controller::trust::trusted_on;
use crate::execute::{Answer, Refusal};

const APPLY: &str = "application/apply-patch+yaml";
const PATCHES: &str = "patch mutatingwebhookconfigurations";

fn path() -> String {
    format!("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{WEBHOOKS}")
}

impl Carrier {
    /// Installs the webhooks for these namespaces. With none they select no namespace.
    pub(super) async fn webhooks(&self, reign: i32, namespaces: &[String]) -> Answer {
        let Some(reach) = &self.reach else {
            if namespaces.is_empty() {
                return self.select_nothing(reign).await;
            }
            let message = "this controller serves no webhooks".to_owned();
            return Answer::Refused(Refusal { code: 404, message, ..Refusal::default() });
        };
        let trusted = match self.trusted(reign).await {
            Some(trusted) => trusted,
            None => self.pem.borrow().clone(),
        };
        let body = configuration(reach, &trusted, namespaces);
        let path = format!("{}?fieldManager={MANAGER}&force=true", path());
        let answer = done(self.send(reign, "PATCH", &path, Some((APPLY, body)), PATCHES).await);
        if matches!(answer, Answer::Done) {
            *self.applied.lock().await = Some((namespaces.to_vec(), trusted));
        }
        answer
    }

    /// The certificates of all replicas that live; none: the Lease can not be read.
    async fn trusted(&self, reign: i32) -> Option<String> {
        let lease = self.send(reign, "GET", &self.lease_path(), None, "get leases").await.ok()?;
        let own = self.pem.borrow().clone();
        let others =
            trusted_on(&lease, Timestamp::now()).into_iter().filter(|pem| !own.contains(pem.as_str()));
        Some(own.clone() + &others.collect::<String>())
    }

    /// Brings the webhook configuration up to date where replicas came or went.
    pub async fn trust_who_lives(&self, reign: i32) {
        let applied = self.applied.lock().await.clone();
        let Some((namespaces, before)) = applied else { return };
        if self.trusted(reign).await.is_some_and(|now| now != before) {
            let answer = self.webhooks(reign, &namespaces).await;
            tracing::info!("the webhook configuration trusts other replicas than before: {answer:?}");
        }
    }

    /// A process without webhooks of its own clears the namespaces of those that others installed.
    async fn select_nothing(&self, reign: i32) -> Answer {
        let found = self.send(reign, "GET", &path(), None, "get mutatingwebhookconfigurations").await;
        let mut found = match found {
            Ok(found) => found,
            Err(Answer::Refused(Refusal { code: 404, .. })) => return Answer::Done,
            Err(answer) => return answer,
        };
        let mut changed = false;
        for webhook in found["webhooks"].as_array_mut().into_iter().flatten() {
            if webhook["namespaceSelector"]["matchExpressions"][0]["operator"] == "In" {
                webhook["namespaceSelector"] = no_namespace();
                changed = true;
            }
        }
        if !changed {
            return Answer::Done;
        }
        let version = &found["metadata"]["resourceVersion"];
        let body: Value = json!({"metadata": {"resourceVersion": version}, "webhooks": found["webhooks"]});
        done(self.send(reign, "PATCH", &path(), Some((MERGE, body)), PATCHES).await)
    }
}
