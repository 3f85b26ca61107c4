//! Reads everything that planning needs from an API server.
//!
//! Nodes come first; their list's resource version is asked for in every other list, so that all lists show the cluster
//! at one moment. Where a server no longer has that version it is asked for the newest. A kind that the user may not list is
//! left out and said to be; without nodes and pods there is nothing to plan.
//!
//! May import: live, snapshot

use std::cell::Cell;

use futures::StreamExt;
use tokio::sync::mpsc;

use super::pages::page;
use super::served::{Catalogue, Served, catalogue};
use super::{Connected, LiveError};
use crate::snapshot::read::{InputError, LeftOut};
use crate::snapshot::view::object::Kind;

/// Takes the pages of the lists, in any order of kinds.
pub trait PageSink {
    /// Takes a page: a JSON list of one kind. `name` is the resource, for messages. Returns how many objects it held.
    ///
    /// # Errors
    /// An object can not be used.
    fn page(&mut self, name: &str, text: &str) -> Result<u64, InputError>;

    /// Hears how far reading is: objects taken so far, and how many more are known to come.
    fn progress(&mut self, objects: u64, remaining: u64);
}

/// What was read beside the pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Kinds that exist but could not be read.
    pub left_out: Vec<LeftOut>,
    /// The moment, as the server counts.
    pub resource_version: String,
}

/// Lists on the way at the same time.
const TOGETHER: usize = 4;

/// Reads all lists into the sink.
///
/// # Errors
/// Nodes or pods can not be listed, the server does not answer, or an object can not be used.
pub async fn read_cluster(connected: &Connected, sink: &mut dyn PageSink) -> Result<Gathered, LiveError> {
    let Catalogue { served, silent } = catalogue(connected).await?;
    let mut gathered = Gathered::default();
    for kind in silent {
        let reason = "its API server does not answer".to_owned();
        gathered.left_out.push(LeftOut { kind: kind.name().to_owned(), count: None, reason });
    }
    let (first, others): (Vec<Served>, Vec<Served>) =
        served.into_iter().partition(|served| served.kind == Kind::Node);
    let remaining = Cell::new(0);
    let (pages, mut arriving) = mpsc::channel(2);
    let fetch = async move {
        let mut left_out = Vec::new();
        let mut version = None;
        for nodes in &first {
            version = Some(list(connected, nodes, None, &pages, &remaining).await?);
        }
        let (at, pages, remaining) = (version.clone(), &pages, &remaining);
        let mut lists = futures::stream::iter(&others)
            .map(|served| {
                let at = at.as_deref();
                async move { (served, list(connected, served, at, pages, remaining).await) }
            })
            .buffer_unordered(TOGETHER);
        while let Some((served, listed)) = lists.next().await {
            match listed {
                Err(fault) if fault.is_missing_right() && served.kind != Kind::Pod => {
                    let kind = served.kind.name().to_owned();
                    left_out.push(LeftOut { kind, count: None, reason: fault.to_string() });
                }
                other => {
                    other?;
                }
            }
        }
        Ok::<_, LiveError>((left_out, version))
    };
    let take = async {
        let mut objects = 0;
        while let Some(Page { name, text, remaining }) = arriving.recv().await {
            objects += sink.page(&name, &text)?;
            sink.progress(objects, remaining);
        }
        Ok::<_, LiveError>(())
    };
    let ((left_out, version), ()) = tokio::try_join!(fetch, take)?;
    gathered.left_out.extend(left_out);
    gathered.left_out.sort_by(|a, b| (&a.kind, &a.reason).cmp(&(&b.kind, &b.reason)));
    gathered.resource_version = version.unwrap_or_default();
    Ok(gathered)
}

struct Page {
    name: String,
    text: String,
    /// Objects that are known to come after it, of all kinds.
    remaining: u64,
}

/// Sends all pages of one list; returns the version that it shows.
async fn list(
    connected: &Connected,
    served: &Served,
    at: Option<&str>,
    pages: &mpsc::Sender<Page>,
    remaining: &Cell<u64>,
) -> Result<String, LiveError> {
    let (mut text, mut end) = match page(connected, served, at, "").await {
        // Compacted away, or a server of its own that counts differently.
        Err(fault) if at.is_some() && matches!(fault.code(), Some(400 | 410 | 500 | 504)) => {
            page(connected, served, None, "").await?
        }
        other => other?,
    };
    let mut expected = 0;
    loop {
        let now = end.remaining.unwrap_or(0);
        remaining.set((remaining.get() + now).saturating_sub(expected));
        expected = now;
        let sent = Page { name: served.resource(), text, remaining: remaining.get() };
        if pages.send(sent).await.is_err() || end.next.is_empty() {
            // Who takes the pages has failed and says why.
            return Ok(end.resource_version);
        }
        (text, end) = page(connected, served, None, &end.next).await?;
    }
}
