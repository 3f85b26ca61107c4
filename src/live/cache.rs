//! Every kind that planning reads, kept up to date by watches: what a controller plans on.
//!
//! Each kind is listed once and watched from there on; objects are kept as the text that a snapshot file has of them, about
//! 1 KB per pod, and become a model when one is asked for. So a controller reads what a file would say, and nothing
//! that planning does not need stays in memory. Kinds that appear later (a CRD is installed) are found within a minute.
//!
//! A kind that may not be read is told apart from one without objects, and asked for again and again. While a watch is
//! broken nothing is planned, since what is known of its kind may be of yesterday; after a minute the kind is unknown.
//!
//! May import: live, snapshot

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{self, DefaultBackoff, Event, InitialListStrategy, watcher};
use tokio::task::JoinSet;

use super::served::{Served, catalogue};
use super::{Connected, LiveError};
use crate::snapshot::read::{LeftOut, read_all};
use crate::snapshot::view::object::Kind;
use crate::snapshot::write::reduced;
use crate::snapshot::{BuildOptions, Builder, Snapshot};

/// How long a kind that can not be followed is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Longest wait between two attempts at a watch: runs wait for it.
const LONGEST_BACKOFF: Duration = Duration::from_secs(8);

/// Time after which the server is asked again which kinds it serves.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// The name of a kind, and the JSON list of its objects.
type Text = (Kind, String);

/// By namespace and name: the reduced object, or why it can not be used.
pub type Items = BTreeMap<(String, String), Result<Arc<str>, String>>;

/// The cache. Cheap to clone: clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    store: Arc<RwLock<Store>>,
}

#[derive(Debug, Default)]
struct Store {
    kinds: BTreeMap<Kind, Objects>,
    /// Which kinds there are is known.
    known: bool,
    silent: Vec<Kind>,
    /// Grows with every change.
    generation: u64,
}

/// The objects of one kind.
#[derive(Debug, Default)]
struct Objects {
    items: Items,
    /// A list that is on its way; it takes the place of `items` when it is whole.
    arriving: Option<Items>,
    /// A list has arrived once.
    synced: bool,
    /// Why it can not be read at the moment.
    fault: Option<Fault>,
}

#[derive(Clone, Debug)]
struct Fault {
    sentence: String,
    missing_right: bool,
    since: Instant,
}

/// What is known of a kind.
enum Known<'o> {
    /// All of it.
    Whole,
    /// Nothing, and why.
    Nothing(&'o str),
    /// It is on its way, for the first time or again.
    Soon,
}

impl Objects {
    fn known(&self, now: Instant) -> Known<'_> {
        match &self.fault {
            None if self.synced => Known::Whole,
            Some(fault) if fault.missing_right || now >= fault.since + PATIENCE => {
                Known::Nothing(&fault.sentence)
            }
            _ => Known::Soon,
        }
    }
}

impl Cache {
    /// Follows the cluster until the future is dropped. Never ends by itself: whatever fails is tried again.
    pub async fn follow(&self, connected: &Connected) {
        let mut watches = JoinSet::new();
        loop {
            // A server that does not answer now keeps what is known of it.
            if let Ok(found) = catalogue(connected).await {
                let fresh = self.note(&found.served, found.silent);
                for served in fresh {
                    watches.spawn(self.clone().watch(connected.clone(), served));
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            } else {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }

    /// Which of the served kinds are not watched yet.
    fn note(&self, served: &[Served], silent: Vec<Kind>) -> Vec<Served> {
        let mut store = self.write();
        store.known = true;
        store.silent = silent;
        let mut fresh = Vec::new();
        for served in served {
            if let Entry::Vacant(place) = store.kinds.entry(served.kind) {
                place.insert(Objects::default());
                fresh.push(served.clone());
            }
        }
        fresh
    }

    /// Watches one kind. Old servers do not send lists through a watch; then they are listed.
    async fn watch(self, connected: Connected, served: Served) {
        let mut backoff = DefaultBackoff::default();
        let mut strategy = InitialListStrategy::StreamingList;
        loop {
            let config =
                watcher::Config { initial_list_strategy: strategy.clone(), ..watcher::Config::default() };
            let api: Api<DynamicObject> = Api::all_with(connected.client.clone(), &resource(&served));
            let mut events = std::pin::pin!(watcher(api, config));
            // The stream repeats by itself; it is left only to wait or to list in another way.
            let fault = loop {
                match events.try_next().await {
                    Ok(Some(event)) => {
                        // An attempt begins with one that the server has no part in.
                        if !matches!(event, Event::Init) {
                            backoff = DefaultBackoff::default();
                        }
                        self.take(&served, event);
                    }
                    Ok(None) => break None,
                    Err(fault) => break Some(fault),
                }
            };
            if let Some(fault) = fault {
                if refuses_streaming(&fault) && strategy == InitialListStrategy::StreamingList {
                    strategy = InitialListStrategy::ListWatch;
                    continue;
                }
                if code(&fault) == Some(404) {
                    // Uninstalled: it has no objects, and is noted again when it is served again.
                    self.write().kinds.remove(&served.kind);
                    return;
                }
                self.failed(&served, &fault, Instant::now());
            }
            tokio::time::sleep(backoff.next().unwrap_or(LONGEST_BACKOFF).min(LONGEST_BACKOFF)).await;
        }
    }

    fn take(&self, served: &Served, event: Event<DynamicObject>) {
        let mut store = self.write();
        store.generation += 1;
        let objects = store.kinds.entry(served.kind).or_default();
        match event {
            Event::Init => objects.arriving = Some(BTreeMap::new()),
            Event::InitApply(object) => {
                let (key, text) = text(served, &object);
                objects.arriving.get_or_insert_default().insert(key, text);
            }
            Event::InitDone => {
                objects.items = objects.arriving.take().unwrap_or_default();
                objects.synced = true;
                if objects.fault.take().is_some() {
                    tracing::info!("{} are followed again", served.resource());
                }
            }
            Event::Apply(object) => {
                let (key, text) = text(served, &object);
                objects.items.insert(key, text);
            }
            Event::Delete(object) => {
                objects.items.remove(&key(&object));
            }
        }
    }

    fn failed(&self, served: &Served, fault: &watcher::Error, now: Instant) {
        let missing_right = matches!(code(fault), Some(401 | 403));
        let sentence = format!("cannot watch {}: {fault}", served.resource());
        let mut store = self.write();
        let objects = store.kinds.entry(served.kind).or_default();
        if missing_right {
            // What was known before the right was taken away is not what is there now.
            *objects = Objects::default();
        }
        let before = objects.fault.as_ref();
        if before.is_none_or(|before| before.sentence != sentence) {
            tracing::warn!("{sentence}");
        }
        let since = before.map_or(now, |before| before.since);
        objects.fault = Some(Fault { sentence, missing_right, since });
    }

    /// Whether every kind is known as a whole, or known to be unknown.
    pub fn synced(&self) -> bool {
        self.synced_at(Instant::now())
    }

    fn synced_at(&self, now: Instant) -> bool {
        let store = self.read();
        store.known && store.kinds.values().all(|objects| !matches!(objects.known(now), Known::Soon))
    }

    /// The objects held, of all kinds.
    pub fn len(&self) -> usize {
        self.read().kinds.values().map(|objects| objects.items.len()).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A running pod, `namespace/name`, whose name says that a Deployment of this name made it.
    pub fn running_pod_of(&self, deployment: &str) -> Option<String> {
        let is_of = |name: &str| name.strip_prefix(deployment).is_some_and(|rest| rest.starts_with('-'));
        let store = self.read();
        let mut pods = store.kinds.get(&Kind::Pod)?.items.iter().filter(|((_, name), _)| is_of(name));
        let found = pods.find(|(_, text)| text.as_ref().is_ok_and(|text| is_running(text)));
        found.map(|((namespace, name), _)| format!("{namespace}/{name}"))
    }

    /// The cluster now, as a model, and the kinds that could not be read.
    ///
    /// # Errors
    /// Nodes or pods are unknown, or an object can not be used: a sentence that names it.
    pub fn snapshot(&self) -> Result<(Snapshot, Vec<LeftOut>), LiveError> {
        self.snapshot_at(Instant::now())
    }

    fn snapshot_at(&self, now: Instant) -> Result<(Snapshot, Vec<LeftOut>), LiveError> {
        let (texts, left_out) = self.read().texts(now)?;
        Ok((model(&texts)?, left_out))
    }

    /// The cluster with these pods instead of those that watches told of, as far as the rest goes.
    ///
    /// # Errors
    /// As for [`Cache::snapshot`].
    pub fn snapshot_with(&self, pods: &[DynamicObject]) -> Result<Snapshot, LiveError> {
        let (mut texts, _) = self.read().texts(Instant::now())?;
        let mut items = Vec::with_capacity(pods.len());
        for pod in pods {
            let value = serde_json::to_value(pod).map_err(|fault| LiveError::Config(fault.to_string()))?;
            items.push(reduced(Kind::Pod, "v1", &value, "cluster")?);
        }
        texts.retain(|(kind, _)| *kind != Kind::Pod);
        texts.push((Kind::Pod, list(items.iter().map(String::as_str))));
        model(&texts)
    }

    /// The same as [`Cache::snapshot`] with the pods of that moment.
    ///
    /// # Errors
    /// As for [`Cache::snapshot`].
    pub fn picture(&self) -> Result<(Snapshot, Vec<LeftOut>, Items), LiveError> {
        let (texts, left_out, pods) = {
            let store = self.read();
            let pods = store.kinds.get(&Kind::Pod).map(|pods| pods.items.clone()).unwrap_or_default();
            let (texts, left_out) = store.texts(Instant::now())?;
            (texts, left_out, pods)
        };
        Ok((model(&texts)?, left_out, pods))
    }

    /// Grows with every change.
    pub fn generation(&self) -> u64 {
        self.read().generation
    }

    fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// One JSON list per kind, and what is missing.
    fn texts(&self, now: Instant) -> Result<(Vec<Text>, Vec<LeftOut>), LiveError> {
        let mut texts = Vec::new();
        let mut left_out = Vec::new();
        for &kind in &self.silent {
            let reason = "its API server does not answer".to_owned();
            left_out.push(LeftOut { kind: kind.name().to_owned(), count: None, reason });
        }
        for (&kind, objects) in &self.kinds {
            let unknown =
                |why: &str| LiveError::Config(format!("{} objects are unknown: {why}", kind.name()));
            match objects.known(now) {
                Known::Whole => {}
                // A plan without it would be another one.
                Known::Soon => return Err(unknown("its list has not arrived yet")),
                Known::Nothing(why) if matches!(kind, Kind::Node | Kind::Pod) => return Err(unknown(why)),
                Known::Nothing(why) => {
                    let kind = kind.name().to_owned();
                    left_out.push(LeftOut { kind, count: None, reason: why.to_owned() });
                    continue;
                }
            }
            let items: Result<Vec<&str>, &String> =
                objects.items.values().map(|item| item.as_ref().map(AsRef::as_ref)).collect();
            let items = items.map_err(|fault| LiveError::Config(fault.clone()))?;
            texts.push((kind, list(items.into_iter())));
        }
        Ok((texts, left_out))
    }
}

/// A JSON list of objects.
fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
    for (at, item) in items.enumerate() {
        text += if at == 0 { "" } else { "," };
        text += item;
    }
    text += "]}";
    text
}

/// The model of lists.
fn model(texts: &[Text]) -> Result<Snapshot, LiveError> {
    let mut builder = Builder::new(BuildOptions::default());
    builder.of_cluster();
    for (kind, text) in texts {
        builder.kind_listed(*kind);
        read_all(text.as_bytes(), kind.name(), &mut builder)?;
    }
    Ok(builder.finish()?)
}

fn resource(served: &Served) -> ApiResource {
    let kind = GroupVersionKind::gvk(served.kind.group(), &served.version, served.kind.name());
    ApiResource::from_gvk_with_plural(&kind, &served.plural)
}

fn is_running(pod: &str) -> bool {
    let pod: serde_json::Value = serde_json::from_str(pod).unwrap_or_default();
    pod["status"]["phase"] == "Running"
}

fn key(object: &DynamicObject) -> (String, String) {
    let meta = &object.metadata;
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

/// Where an object belongs, and its text.
fn text(served: &Served, object: &DynamicObject) -> ((String, String), Result<Arc<str>, String>) {
    let api_version = match served.kind.group() {
        "" => served.version.clone(),
        group => format!("{group}/{}", served.version),
    };
    let text = serde_json::to_value(object).map_err(|fault| fault.to_string()).and_then(|value| {
        reduced(served.kind, &api_version, &value, "cluster")
            .map(Arc::from)
            .map_err(|fault| fault.to_string())
    });
    (key(object), text)
}

/// A list through a watch came with Kubernetes 1.32 (`WatchList`); older servers call the request invalid.
fn refuses_streaming(fault: &watcher::Error) -> bool {
    matches!(code(fault), Some(400 | 422))
}

fn code(fault: &watcher::Error) -> Option<u16> {
    match fault {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status.code),
        _ => None,
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
