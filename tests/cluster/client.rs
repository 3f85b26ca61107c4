//! Plain requests by a user's token, answered with code and body whatever they are: what a test says about 403 and
//! 429 is said about the server's own answer.

use std::path::Path;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use kube::client::Body;
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::Cluster;
use super::config::User;

/// Requests of [`Cluster::create_all`] that are under way at the same time.
const AT_ONCE: usize = 32;

/// What the server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP code.
    pub code: u16,
    /// The object, the list, or the `Status` of a refusal; a text where the server sends no JSON.
    pub body: Value,
}

impl Answer {
    /// `message` of a `Status`.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The body of an answer that has to be a success.
    ///
    /// # Panics
    /// When it is none.
    pub fn ok(self) -> Value {
        assert!((200..300).contains(&self.code), "{}: {}", self.code, self.body);
        self.body
    }
}

/// Connections to one API server.
pub struct Http {
    runtime: Runtime,
    client: Client,
}

impl Http {
    /// The certificate is the authority that the server's own is checked with.
    pub fn new(server: &str, authority: &Path) -> Result<Self, String> {
        let told = |error: &dyn std::fmt::Display| format!("a client of {server}: {error}");
        let authority = std::fs::read(authority).map_err(|error| told(&error))?;
        let authority = pem::parse_many(authority).map_err(|error| told(&error))?;
        let mut config = Config::new(server.parse().map_err(|error| told(&error))?);
        config.root_cert = Some(authority.into_iter().map(pem::Pem::into_contents).collect());
        config.read_timeout = Some(Duration::from_mins(1));
        // A refusal with 429 is an answer, and not for this client to ask again.
        config.default_retry = false;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| told(&error))?;
        let client = {
            let _inside = runtime.enter();
            Client::try_from(config).map_err(|error| told(&error))?
        };
        Ok(Self { runtime, client })
    }

    /// True when the path is answered with a success; a server that is not there yet is none.
    pub fn is_ok(&self, user: &User, path: &str) -> bool {
        let answer = self.runtime.block_on(self.send(user, "GET", path, "", None));
        answer.is_ok_and(|answer| (200..300).contains(&answer.code))
    }

    async fn send(
        &self,
        user: &User,
        method: &str,
        path: &str,
        kind: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let told = |error: &dyn std::fmt::Display| format!("{method} {path}: {error}");
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(AUTHORIZATION, format!("Bearer {}", user.token()))
            .header(ACCEPT, "application/json");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, kind);
        }
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(Body::from(bytes)).map_err(|error| told(&error))?;
        let response = self.client.send(request).await.map_err(|error| told(&error))?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.map_err(|error| told(&error))?;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok(Answer { code, body })
    }
}

impl Cluster {
    /// `GET` of a path with its query.
    ///
    /// # Panics
    /// When the server does not answer, as all of these do.
    pub fn get(&self, user: &str, path: &str) -> Answer {
        self.send(user, "GET", path, "", None)
    }

    /// `DELETE`.
    pub fn delete(&self, user: &str, path: &str) -> Answer {
        self.send(user, "DELETE", path, "", None)
    }

    /// `POST` of an object.
    pub fn post(&self, user: &str, path: &str, object: &Value) -> Answer {
        self.send(user, "POST", path, "application/json", Some(object))
    }

    /// `PUT` of an object.
    pub fn put(&self, user: &str, path: &str, object: &Value) -> Answer {
        self.send(user, "PUT", path, "application/json", Some(object))
    }

    /// `PATCH`: a list is a JSON patch, an object a merge patch.
    pub fn patch(&self, user: &str, path: &str, patch: &Value) -> Answer {
        let kind = if patch.is_array() { "application/json-patch+json" } else { MERGE_PATCH };
        self.send(user, "PATCH", path, kind, Some(patch))
    }

    /// Evicts a pod.
    pub fn evict(&self, user: &str, namespace: &str, pod: &str) -> Answer {
        let eviction = serde_json::json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"namespace": namespace, "name": pod},
        });
        self.post(user, &format!("/api/v1/namespaces/{namespace}/pods/{pod}/eviction"), &eviction)
    }

    /// Creates an object as `admin`, with its status where it has one; what the server made of it.
    pub fn create(&self, object: &Value) -> Value {
        self.http.runtime.block_on(self.created(object))
    }

    /// Creates objects as `admin`, many at a time; the answers in their order.
    pub fn create_all(&self, objects: &[Value]) -> Vec<Value> {
        let all = stream::iter(objects).map(|object| self.created(object)).buffered(AT_ONCE);
        self.http.runtime.block_on(all.collect())
    }

    fn send(&self, user: &str, method: &str, path: &str, kind: &str, body: Option<&Value>) -> Answer {
        let answer = self.http.send(self.user(user), method, path, kind, body);
        self.http.runtime.block_on(answer).unwrap_or_else(|fault| panic!("{fault}\n{}", self.last_words()))
    }

    /// Most types ignore the status of what is created; it is written after that.
    async fn created(&self, object: &Value) -> Value {
        let admin = self.user("admin");
        let path = collection(object);
        let request = self.http.send(admin, "POST", &path, "application/json", Some(object));
        let answer = request.await.unwrap_or_else(|fault| panic!("{fault}\n{}", self.last_words())).ok();
        let status = &object["status"];
        if status.is_null() || *status == answer["status"] {
            return answer;
        }
        let path = format!("{path}/{}/status", answer["metadata"]["name"].as_str().unwrap());
        let patch = serde_json::json!({ "status": status });
        let request = self.http.send(admin, "PATCH", &path, MERGE_PATCH, Some(&patch));
        request.await.unwrap_or_else(|fault| panic!("{fault}\n{}", self.last_words())).ok()
    }
}

const MERGE_PATCH: &str = "application/merge-patch+json";

/// The path of an object's collection. The plural is guessed as apimachinery's `UnsafeGuessKindToResource` does it.
///
/// # Panics
/// When the object has no `apiVersion` or `kind`.
pub fn collection(object: &Value) -> String {
    let text = |value: &Value| {
        value.as_str().unwrap_or_else(|| panic!("no apiVersion or kind: {object}")).to_owned()
    };
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
    let root = if version.contains('/') { "apis" } else { "api" };
    let namespace = object["metadata"]["namespace"].as_str().map(|name| format!("/namespaces/{name}"));
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    };
    format!("/{root}/{version}{}/{plural}", namespace.unwrap_or_default())
}
