//! The API server's audit log: every request that anyone made, as a test asks about it.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use serde::Deserialize;
use serde_json::Value;

use super::Cluster;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// Who asked.
    pub user: String,
    /// API group; empty for the core and for paths that are no resource.
    pub group: String,
    /// Plural of the resource, with `/status` or another subresource; empty for paths that are none.
    pub resource: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object; empty for lists and creations.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// The answer's HTTP code; of a watch that is still open, that of its beginning.
    pub code: u16,
    /// What the client calls itself.
    pub agent: String,
    /// UID of the pod that an eviction is bound to; empty for all other requests.
    pub evicted: String,
}

/// A place in the log: what follows it was asked later.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

impl Cluster {
    /// The end of the log as it is now.
    pub fn audit_mark(&self) -> Mark {
        Mark(std::fs::metadata(self.audit_log()).map_or(0, |about| about.len()))
    }

    /// Path of the log, a JSON object per line.
    pub fn audit_log(&self) -> std::path::PathBuf {
        self.folder.join("audit.log")
    }

    /// Every request that was answered, in the order of the first answers.
    pub fn audit(&self) -> Vec<Call> {
        self.audit_since(Mark(0))
    }

    /// Every request that was answered after the mark.
    ///
    /// # Panics
    /// When the log can not be read or a line is no event.
    pub fn audit_since(&self, mark: Mark) -> Vec<Call> {
        let mut log = std::fs::File::open(self.audit_log()).unwrap();
        log.seek(SeekFrom::Start(mark.0)).unwrap();
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        // The server may be writing the last line.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut calls: Vec<Call> = Vec::new();
        for line in whole.lines() {
            let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let place = *places.entry(event.audit_id.clone()).or_insert(calls.len());
            if place == calls.len() {
                calls.push(event.into());
            } else {
                calls[place] = event.into();
            }
        }
        calls
    }
}

/// The part of an `audit.k8s.io/v1` event that is used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "auditID")]
    audit_id: String,
    verb: String,
    user: EventUser,
    #[serde(default)]
    impersonated_user: Option<EventUser>,
    #[serde(rename = "requestURI")]
    uri: String,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: Object,
    #[serde(default)]
    response_status: Status,
    #[serde(default)]
    request_object: Value,
}

#[derive(Deserialize)]
struct EventUser {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Object {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
}

impl From<Event> for Call {
    fn from(event: Event) -> Self {
        let Object { api_group, mut resource, subresource, namespace, name } = event.object_ref;
        if !subresource.is_empty() {
            resource.extend(["/", subresource.as_str()]);
        }
        Self {
            verb: event.verb,
            user: event.impersonated_user.unwrap_or(event.user).username,
            group: api_group,
            resource,
            namespace,
            name,
            uri: event.uri,
            code: event.response_status.code,
            agent: event.user_agent,
            evicted: event.request_object["deleteOptions"]["preconditions"]["uid"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        }
    }
}
