//! `RepackRun` objects on an API server.
//!
//! May import: live, api

use futures::{StreamExt, TryStreamExt};
use http::Request;
use kube::core::WatchEvent;
use serde::Deserialize;
use serde_json::Value;

use super::pages::{chain, get};
use super::{Connected, LiveError};
use crate::api::names::{CANCEL_ANNOTATION, FINALIZER, PLACEMENT_ACTIVE_LABEL};
use crate::api::{API_VERSION, RepackRun};

const RUNS: &str = "/apis/repack.volcano.sh/v1alpha1/repackruns";
const RESOURCE: &str = "repackruns.repack.volcano.sh";

/// Whether the server knows runs at all.
///
/// # Errors
/// The server does not answer or refuses.
pub async fn are_served(connected: &Connected) -> Result<bool, LiveError> {
    match get(connected, &format!("/apis/{API_VERSION}"), None, "discover", RESOURCE).await {
        Ok(text) => Ok(text.contains("\"repackruns\"")),
        Err(fault) if fault.code() == Some(404) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Creates a run; the server names it when it has only a `generateName`.
///
/// # Errors
/// The server refuses it, with its own words.
pub async fn create(connected: &Connected, run: &RepackRun) -> Result<RepackRun, LiveError> {
    let body = serde_json::to_vec(run)
        .map_err(|fault| LiveError::Config(format!("cannot write the run: {fault}")))?;
    let request = Request::post(RUNS).header(http::header::CONTENT_TYPE, "application/json").body(body);
    let request = request.map_err(|fault| LiveError::Config(format!("cannot make the request: {fault}")))?;
    let text = super::pages::send(connected, request, "create", RESOURCE).await?;
    parse(connected, "create", &text)
}

/// Asks a run to stop.
///
/// # Errors
/// The server does not answer or refuses.
pub async fn cancel(connected: &Connected, name: &str) -> Result<(), LiveError> {
    let patch = serde_json::json!({"metadata": {"annotations": {CANCEL_ANNOTATION: "true"}}});
    let request = Request::patch(format!("{RUNS}/{name}"))
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(patch.to_string().into_bytes());
    let request = request.map_err(|fault| LiveError::Config(format!("cannot make the request: {fault}")))?;
    super::pages::send(connected, request, "patch", RESOURCE).await.map(|_| ())
}

/// One run; none when there is none of that name.
///
/// # Errors
/// The server does not answer or refuses.
pub async fn find(connected: &Connected, name: &str) -> Result<Option<RepackRun>, LiveError> {
    match get(connected, &format!("{RUNS}/{name}"), None, "get", RESOURCE).await {
        Ok(text) => parse(connected, "get", &text).map(Some),
        Err(fault) if fault.code() == Some(404) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Returns once nothing on the run says any more that somebody works on it, or it is gone.
///
/// # Errors
/// The server refuses, or does not answer.
pub async fn until_tidy(connected: &Connected, name: &str) -> Result<(), LiveError> {
    loop {
        let text = match get(connected, &format!("{RUNS}/{name}"), None, "get", RESOURCE).await {
            Err(fault) if fault.code() == Some(404) => return Ok(()),
            other => other?,
        };
        let run: Value = parse(connected, "get", &text)?;
        let metadata = &run["metadata"];
        let mut finalizers = metadata["finalizers"].as_array().into_iter().flatten();
        if metadata["labels"][PLACEMENT_ACTIVE_LABEL].is_null() && finalizers.all(|name| name != FINALIZER) {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

/// All runs, oldest first.
///
/// # Errors
/// The server does not answer or refuses.
pub async fn all(connected: &Connected) -> Result<Vec<RepackRun>, LiveError> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Value>,
    }
    let text = get(connected, RUNS, None, "list", RESOURCE).await?;
    let list: List = parse(connected, "list", &text)?;
    let mut runs = Vec::new();
    for item in list.items {
        runs.push(serde_json::from_value(item).map_err(|fault| broken(connected, "list", &fault))?);
    }
    let age = |run: &RepackRun| (run.metadata.creation_timestamp.clone(), run.metadata.name.clone());
    runs.sort_by_key(age);
    Ok(runs)
}

/// Follows one run: calls `see` with it as it is and whenever it changes, until `see` returns an answer. `None` comes
/// when the run is deleted.
///
/// # Errors
/// The server does not answer or refuses. A watch that ends is begun again.
pub async fn follow<T>(
    connected: &Connected,
    name: &str,
    mut see: impl FnMut(Option<&RepackRun>) -> Option<T>,
) -> Result<T, LiveError> {
    loop {
        let run = find(connected, name).await?;
        if let Some(answer) = see(run.as_ref()) {
            return Ok(answer);
        }
        let Some(run) = run else {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            continue;
        };
        let version = run.metadata.resource_version.as_deref().unwrap_or("0");
        let path = format!(
            "{RUNS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=240&resourceVersion={version}&fieldSelector=metadata.name%3D{name}"
        );
        let request = Request::get(path).body(Vec::new());
        let request =
            request.map_err(|fault| LiveError::Config(format!("cannot make the request: {fault}")))?;
        let events = connected.client.request_events::<Value>(request).await;
        let mut events = events.map_err(|fault| failed(connected, "watch", fault))?.boxed();
        // An expired version or a lost connection: look again from the start.
        while let Ok(Some(event)) = events.try_next().await {
            let seen = match event {
                WatchEvent::Added(value) | WatchEvent::Modified(value) => {
                    let run: RepackRun =
                        serde_json::from_value(value).map_err(|fault| broken(connected, "watch", &fault))?;
                    see(Some(&run))
                }
                WatchEvent::Deleted(_) => see(None),
                WatchEvent::Bookmark(_) => None,
                WatchEvent::Error(_) => break,
            };
            if let Some(answer) = seen {
                return Ok(answer);
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

fn parse<T: for<'a> Deserialize<'a>>(
    connected: &Connected,
    verb: &'static str,
    text: &str,
) -> Result<T, LiveError> {
    serde_json::from_str(text).map_err(|fault| broken(connected, verb, &fault))
}

fn broken(connected: &Connected, verb: &'static str, fault: &serde_json::Error) -> LiveError {
    LiveError::Connection {
        verb,
        resource: RESOURCE.to_owned(),
        server: connected.server.clone(),
        fault: format!("the server speaks of runs in another way than this program: {fault}"),
    }
}

fn failed(connected: &Connected, verb: &'static str, fault: kube::Error) -> LiveError {
    match fault {
        kube::Error::Api(status) => LiveError::Refused { verb, resource: RESOURCE.to_owned(), status },
        other => LiveError::Connection {
            verb,
            resource: RESOURCE.to_owned(),
            server: connected.server.clone(),
            fault: chain(&other),
        },
    }
}
