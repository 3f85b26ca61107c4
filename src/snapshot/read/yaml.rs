//! YAML: several documents, lists item by item.
//!
//! A document is parsed from memory. Its items become JSON values one at a time and then views, so that no more than
//! one object exists twice. YAML is for what people write; bulk data comes as JSON, which is read 20 times faster.
//!
//! May import: snapshot

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Budget, Error, Options};

use super::error::InputError;
use super::explain;
use super::feed::Feed;
use super::header::{self, Header};
use crate::snapshot::view::object::{Kind, group_of};

/// Nesting that no real object comes near, and that fits the stack of a small thread.
const MAX_DEPTH: usize = 64;

/// Reads all documents of `text` into `feed`.
pub(super) fn read(text: &str, feed: &mut Feed<'_>) -> Result<(), InputError> {
    for (first_line, document) in documents(text) {
        let mut failure = None;
        let parsed =
            serde_saphyr::with_deserializer_from_str_with_options(document, options(document.len()), |d| {
                Document { feed, failure: &mut failure }.deserialize(d)
            });
        if let Some(error) = failure {
            return Err(error);
        }
        parsed.map_err(|error| syntax(&error, &feed.origin.file, first_line))?;
    }
    Ok(())
}

/// Limits that grow with the input: every event takes at least a byte, so text never fails on its size, while
/// aliases and nesting stay bounded.
fn options(length: usize) -> Options {
    let mut budget = Budget::default();
    budget.max_events = budget.max_events.max(length.saturating_mul(2));
    budget.max_nodes = budget.max_nodes.max(length);
    budget.max_total_scalar_bytes = budget.max_total_scalar_bytes.max(length.saturating_mul(2));
    budget.max_depth = MAX_DEPTH;
    budget.flow_nesting_limit = MAX_DEPTH;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.with_snippet = false;
    options
}

/// The documents of a stream with the number of lines before each. A line that starts with `---` always separates:
/// YAML allows it nowhere else.
fn documents(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marker = line.strip_prefix("---").is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n']));
        if at > 0 && (marker || line == "---") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    let mut lines = 0;
    starts.into_iter().zip(ends).filter_map(move |(start, end)| {
        let (document, first_line) = (&text[start..end], lines);
        lines += document.bytes().filter(|&b| b == b'\n').count();
        let blank = |line: &str| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#') || line == "---" || line == "..."
        };
        (!document.lines().all(blank)).then_some((first_line, document))
    })
}

fn syntax(error: &serde_saphyr::Error, file: &str, first_line: usize) -> InputError {
    let problem = if let Some(sentence) = beyond_limits(error) {
        sentence.to_owned()
    } else {
        let problem = innermost(error).to_string();
        explain::plain(problem.lines().next().unwrap_or_default())
    };
    let line = error.location().map(|at| first_line + usize::try_from(at.line()).unwrap_or_default());
    match line {
        Some(line) => InputError::file(file, format!("line {line}: {problem}")),
        None => InputError::file(file, problem),
    }
}

/// The fault itself, without the aliases that led to it.
fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } = error {
        error = inner;
    }
    error
}

/// Half a sentence where a limit on nesting, size or aliases was passed, and the parser only has its name.
pub fn beyond_limits(error: &Error) -> Option<&'static str> {
    match innermost(error) {
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => Some("it nests too deeply"),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            Some("it holds too much, or its aliases expand to too much")
        }
        _ => None,
    }
}

/// One document: a list whose items are handed over as they come, or one object.
struct Document<'f, 's> {
    feed: &'f mut Feed<'s>,
    /// An error of an object; parsers can only carry text.
    failure: &'f mut Option<InputError>,
}

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an API object or a list of them")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        Items { feed: self.feed, failure: self.failure, item_type: None, waiting: &mut Vec::new() }
            .visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut object = Map::new();
        let mut is_list = false;
        // Items that do not name their kind, before the list has named its own.
        let mut waiting = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
            if key == "items" && (kind.is_empty() || is_list_kind(kind)) {
                is_list = true;
                self.feed.list = true;
                let item_type = item_type(&object);
                map.next_value_seed(Items {
                    feed: &mut *self.feed,
                    failure: &mut *self.failure,
                    item_type,
                    waiting: &mut waiting,
                })?;
            } else {
                let value = map.next_value()?;
                object.insert(key, value);
            }
        }
        let done = if is_list {
            list_end(self.feed, &object, waiting)
        } else {
            push(self.feed, &object.into(), None)
        };
        done.map_err(|error| carry(self.failure, error))
    }
}

/// `items` of a list.
struct Items<'f, 's> {
    feed: &'f mut Feed<'s>,
    failure: &'f mut Option<InputError>,
    item_type: Option<(String, String)>,
    waiting: &'f mut Vec<Value>,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of API objects")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.feed.list = true;
        while let Some(item) = seq.next_element::<Value>()? {
            if self.item_type.is_none() && item.is_object() && item.get("kind").is_none() {
                self.waiting.push(item);
            } else {
                push(self.feed, &item, self.item_type.as_ref())
                    .map_err(|error| carry(self.failure, error))?;
            }
        }
        Ok(())
    }
}

fn carry<E: serde::de::Error>(failure: &mut Option<InputError>, error: InputError) -> E {
    *failure = Some(error);
    E::custom("an object is at fault")
}

fn is_list_kind(kind: &str) -> bool {
    kind.ends_with("List") || kind == header::KIND
}

/// `apiVersion` and `kind` of the items of a typed list.
fn item_type(list: &Map<String, Value>) -> Option<(String, String)> {
    let text = |key: &str| list.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = text("kind").strip_suffix("List").filter(|kind| !kind.is_empty())?;
    Some((text("apiVersion").to_owned(), kind.to_owned()))
}

/// The list is complete: its type is known now.
fn list_end(feed: &mut Feed<'_>, list: &Map<String, Value>, waiting: Vec<Value>) -> Result<(), InputError> {
    let item_type = item_type(list);
    for item in waiting {
        push(feed, &item, item_type.as_ref())?;
    }
    if list.get("kind").and_then(Value::as_str) == Some(header::KIND) {
        let header: Header = serde_json::from_value(Value::Object(list.clone()))
            .map_err(|error| InputError::file(&feed.origin.file, explain::plain(&error.to_string())))?;
        feed.header(header)?;
    }
    Ok(())
}

/// Hands over one object.
fn push(feed: &mut Feed<'_>, item: &Value, inherited: Option<&(String, String)>) -> Result<(), InputError> {
    feed.origin.item += 1;
    if !item.is_object() {
        return Err(feed.item_error("is not an object"));
    }
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let inherited = inherited.map(|(api_version, kind)| (api_version.as_str(), kind.as_str())).unzip();
    let Some(name) = text("kind").or(inherited.1) else { return Err(feed.item_error("has no kind")) };
    let Some(api_version) = text("apiVersion").or(inherited.0) else {
        return Err(feed.item_error("has no apiVersion"));
    };
    if is_list_kind(name) {
        let nested = item.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let item_type = item.as_object().and_then(item_type);
        feed.origin.item -= 1;
        return nested.iter().try_for_each(|item| push(feed, item, item_type.as_ref()));
    }
    let Some(kind) = Kind::of(group_of(api_version), name) else { return feed.unknown(api_version, name) };
    feed.value(kind, api_version, item)
}
