//! What a cluster says about itself: version, rights of the one who asks, the CRD of runs, the controller's Lease.
//!
//! May import: live, api

use std::time::Duration;

use http::Request;
use serde::Deserialize;
use serde_json::{Value, json};

use super::pages::{get, send};
use super::{Connected, LiveError};
use crate::api::names::{CONTROLLER_LEASE, MANAGER, VERSION_ANNOTATION, VOLCANO_ENGINE};

/// The server's version: major and minor.
///
/// # Errors
/// The server does not answer, or its version is no pair of numbers.
pub async fn version(connected: &Connected) -> Result<(u32, u32), LiveError> {
    #[derive(Deserialize)]
    struct Version {
        major: String,
        minor: String,
    }
    let text = get(connected, "/version", None, "get", "the server's version").await?;
    let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().ok();
    let version: Option<Version> = serde_json::from_str(&text).ok();
    version.and_then(|v| Some((number(&v.major)?, number(&v.minor)?))).ok_or_else(|| LiveError::Connection {
        verb: "get",
        resource: "the server's version".to_owned(),
        server: connected.server.clone(),
        fault: format!("the answer is no version: {text}"),
    })
}

/// Whether the one who asks may do this, cluster wide or in a namespace.
///
/// # Errors
/// The server does not answer or refuses to say.
pub async fn may(
    connected: &Connected,
    verb: &str,
    group: &str,
    resource: &str,
    namespace: Option<&str>,
) -> Result<bool, LiveError> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "verb": verb, "group": group, "resource": resource, "subresource": subresource,
            "namespace": namespace.unwrap_or_default(),
        }},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let request = Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes())
        .map_err(|fault| LiveError::Config(format!("cannot make the request: {fault}")))?;
    let text = send(connected, request, "create", "selfsubjectaccessreviews.authorization.k8s.io").await?;
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false))
}

/// The CRD of runs as far as it matters: who manages it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// There is none.
    Absent,
    /// It is ours.
    Ours,
    /// Another manager's, or nobody's.
    Foreign(Option<String>),
}

/// Looks the CRD of runs up.
///
/// # Errors
/// The server does not answer or refuses.
pub async fn definition(connected: &Connected) -> Result<Definition, LiveError> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/repackruns.repack.volcano.sh";
    let text = match get(connected, path, None, "get", "customresourcedefinitions.apiextensions.k8s.io").await
    {
        Ok(text) => text,
        Err(fault) if fault.code() == Some(404) => return Ok(Definition::Absent),
        Err(fault) => return Err(fault),
    };
    let object: Value = serde_json::from_str(&text).unwrap_or_default();
    let manager = object.pointer("/metadata/labels/app.kubernetes.io~1managed-by").and_then(Value::as_str);
    Ok(match manager {
        Some(MANAGER) => Definition::Ours,
        other => Definition::Foreign(other.map(str::to_owned)),
    })
}

/// Namespaces in which a Deployment of Volcano's own repack engine runs.
///
/// # Errors
/// The server does not answer or refuses.
pub async fn other_engines(connected: &Connected) -> Result<Vec<String>, LiveError> {
    let path = format!("/apis/apps/v1/deployments?fieldSelector=metadata.name%3D{VOLCANO_ENGINE}");
    let text = get(connected, &path, None, "list", "deployments.apps").await?;
    let list: Value = serde_json::from_str(&text).unwrap_or_default();
    let runs = |found: &&Value| found["status"]["readyReplicas"].as_i64().is_some_and(|ready| ready > 0);
    let found = list["items"].as_array().into_iter().flatten().filter(runs);
    Ok(found.filter_map(|found| found["metadata"]["namespace"].as_str().map(str::to_owned)).collect())
}

/// Who leads now: the holder of the Lease, if its last renewal still counts or another one comes. A clock that differs
/// from the holder's does not matter: where the renewal looks too old, another one is waited for.
///
/// # Errors
/// As for [`holder`].
pub async fn leader(connected: &Connected, namespace: &str) -> Result<Option<Holder>, LiveError> {
    let Some(found) = holder(connected, namespace).await? else { return Ok(None) };
    let seconds = u64::try_from(found.seconds).unwrap_or(0);
    let renewed: Option<jiff::Timestamp> = found.renewed.parse().ok();
    let age = renewed.map(|renewed| jiff::Timestamp::now().duration_since(renewed));
    if age.is_some_and(|age| age.unsigned_abs().as_secs() < seconds) {
        return Ok(Some(found));
    }
    renewing(connected, namespace, found).await
}

/// Like [`leader`], but only a renewal that comes now counts: a leader that died a moment ago does not.
///
/// # Errors
/// As for [`holder`].
pub async fn living_leader(connected: &Connected, namespace: &str) -> Result<Option<Holder>, LiveError> {
    match holder(connected, namespace).await? {
        None => Ok(None),
        Some(found) => renewing(connected, namespace, found).await,
    }
}

/// The holder, once it renews the Lease; none where it does not for as long as a renewal counts.
async fn renewing(
    connected: &Connected,
    namespace: &str,
    first: Holder,
) -> Result<Option<Holder>, LiveError> {
    let seconds = u64::try_from(first.seconds).unwrap_or(0);
    let until = std::time::Instant::now() + Duration::from_secs(seconds);
    while std::time::Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(250)).await;
        match holder(connected, namespace).await? {
            None => return Ok(None),
            Some(again) if again.renewed != first.renewed => return Ok(Some(again)),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Who holds the controller's Lease, and when it was renewed last (RFC 3339).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub identity: String,
    /// RFC 3339.
    pub renewed: String,
    /// Seconds for which a renewal counts.
    pub seconds: i64,
    /// Version of the controller, where it says so.
    pub version: Option<String>,
}

/// Looks the Lease up; none when nobody holds it.
///
/// # Errors
/// The server does not answer or refuses.
pub async fn holder(connected: &Connected, namespace: &str) -> Result<Option<Holder>, LiveError> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{CONTROLLER_LEASE}");
    let text = match get(connected, &path, None, "get", "leases.coordination.k8s.io").await {
        Ok(text) => text,
        Err(fault) if fault.code() == Some(404) => return Ok(None),
        Err(fault) => return Err(fault),
    };
    let object: Value = serde_json::from_str(&text).unwrap_or_default();
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let identity = text("/spec/holderIdentity");
    if identity.is_empty() {
        return Ok(None);
    }
    let seconds = object.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(0);
    let version = object["metadata"]["annotations"][VERSION_ANNOTATION].as_str().map(str::to_owned);
    Ok(Some(Holder { identity, renewed: text("/spec/renewTime"), seconds, version }))
}
