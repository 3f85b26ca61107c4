//! One list, page by page, as text.
//!
//! May import: live

use std::fmt::Write as _;

use http::Request;
use serde::Deserialize;

use super::served::Served;
use super::{Connected, LiveError};

/// Objects of a page: 500 is what kubectl and the API server's own clients use; a page of pods is about 2 MB.
const PAGE: u32 = 500;

/// The end of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct End {
    /// The version of the whole list.
    pub resource_version: String,
    /// Where the next page begins; empty after the last.
    pub next: String,
    /// Objects after this page, where the server says it.
    pub remaining: Option<u64>,
}

/// One page: from the start at a resource version (none: the newest), or where another ended.
pub(super) async fn page(
    connected: &Connected,
    served: &Served,
    at: Option<&str>,
    next: &str,
) -> Result<(String, End), LiveError> {
    let mut path = format!("{}?limit={PAGE}", served.path());
    if !next.is_empty() {
        path += "&continue=";
        path += &escaped(next);
    } else if let Some(version) = at {
        path += "&resourceVersionMatch=Exact&resourceVersion=";
        path += &escaped(version);
    }
    let text = get(connected, &path, None, "list", &served.resource()).await?;
    let list: List = serde_json::from_str(&text).map_err(|fault| LiveError::Connection {
        verb: "list",
        resource: served.resource(),
        server: connected.server.clone(),
        fault: format!("the answer is no list: {fault}"),
    })?;
    let end = End {
        resource_version: list.metadata.resource_version,
        next: list.metadata.next,
        remaining: list.metadata.remaining_item_count,
    };
    Ok((text, end))
}

#[derive(Deserialize)]
struct List {
    metadata: Meta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
    #[serde(default)]
    remaining_item_count: Option<u64>,
}

/// Gets a path as text. `verb` and `resource` are for messages.
pub(super) async fn get(
    connected: &Connected,
    path: &str,
    accept: Option<&str>,
    verb: &'static str,
    resource: &str,
) -> Result<String, LiveError> {
    let mut request = Request::get(path);
    if let Some(accept) = accept {
        request = request.header(http::header::ACCEPT, accept);
    }
    let request = request.body(Vec::new());
    let request = request.map_err(|fault| LiveError::Config(format!("cannot make the request: {fault}")))?;
    send(connected, request, verb, resource).await
}

/// Sends a request and takes the answer as text. `verb` and `resource` are for messages.
pub(super) async fn send(
    connected: &Connected,
    request: Request<Vec<u8>>,
    verb: &'static str,
    resource: &str,
) -> Result<String, LiveError> {
    let failed = |fault: String| LiveError::Connection {
        verb,
        resource: resource.to_owned(),
        server: connected.server.clone(),
        fault,
    };
    let answer = connected.client.request_text(request);
    let answer = match connected.request_timeout {
        None => answer.await,
        Some(limit) => tokio::time::timeout(limit, answer).await.map_err(|_| LiveError::TimedOut {
            verb,
            resource: resource.to_owned(),
            seconds: limit.as_secs(),
        })?,
    };
    answer.map_err(|fault| match fault {
        kube::Error::Api(status) => LiveError::Refused { verb, resource: resource.to_owned(), status },
        other => failed(chain(&other)),
    })
}

/// A fault with its causes, each said once.
pub(super) fn chain(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(next) = cause {
        let sentence = next.to_string();
        if !text.contains(&sentence) {
            text += ": ";
            text += &sentence;
        }
        cause = next.source();
    }
    text
}

/// A value of a query; tokens are base64 and may end in `=`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_page_is_found_wherever_it_stands() {
        let text = r#"{"apiVersion":"v1","items":[{"metadata":{"resourceVersion":"1"}}],"kind":"List","metadata":
                       {"continue":"abc==","remainingItemCount":12,"resourceVersion":"77"}}"#;
        let list: List = serde_json::from_str(text).unwrap();
        assert_eq!(
            (
                list.metadata.resource_version.as_str(),
                list.metadata.next.as_str(),
                list.metadata.remaining_item_count
            ),
            ("77", "abc==", Some(12))
        );
        assert_eq!(escaped("abc=+/~"), "abc%3D%2B%2F~");
    }
}
