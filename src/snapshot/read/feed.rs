//! Hands objects to the sink and keeps the books.
//!
//! May import: snapshot

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{InputError, Origin};
use super::explain::{self, Name};
use super::header::{Header, LeftOut};
use super::inspect::{Inspected, inspect};
use super::{ReducedSink, Sink};
use crate::snapshot::view::basic::Text;
use crate::snapshot::view::object::{Kind, Object};

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Objects of known kinds.
    pub objects: u64,
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Objects of unknown kinds, per `kind`.
    pub skipped: BTreeMap<String, u64>,
    /// What the writer of a snapshot file said is missing from it; empty for other inputs.
    pub left_out: Vec<LeftOut>,
    /// When a snapshot file was taken, RFC 3339, as far as it says.
    pub taken_at: Option<String>,
    /// A snapshot file was read whose names are pseudonyms.
    pub anonymized: bool,
}

impl ReadStats {
    /// Adds what another input gave.
    pub fn merge(&mut self, other: Self) {
        self.objects += other.objects;
        self.bytes += other.bytes;
        for (kind, count) in other.skipped {
            *self.skipped.entry(kind).or_default() += count;
        }
        self.left_out.extend(other.left_out);
        self.anonymized |= other.anonymized;
        // Several files are as old as the oldest of them.
        self.taken_at = match (self.taken_at.take(), other.taken_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// Who takes the objects.
pub(super) enum Target<'s> {
    /// As views, for the model.
    Views(&'s mut dyn Sink),
    /// Reduced to the fields that views read, for a snapshot file.
    Reduced(&'s mut dyn ReducedSink),
}

/// The target, with the position in the input and the counts.
pub(super) struct Feed<'s> {
    target: Target<'s>,
    pub(super) stats: ReadStats,
    pub(super) origin: Origin,
    /// A list was met, so an input without objects is a cluster without them.
    pub(super) list: bool,
}

/// Why an object was not handed over.
pub(super) enum Failure {
    /// It is no JSON, ends too early, or has a field of the wrong type.
    Parser(serde_json::Error),
    /// It was refused.
    Object(InputError),
    /// It is itself a list.
    List,
}

impl<'s> Feed<'s> {
    pub(super) fn new(file: &str, target: Target<'s>) -> Self {
        let origin = Origin { file: file.to_owned(), item: 0 };
        Self { target, stats: ReadStats::default(), origin, list: false }
    }

    /// Hands over the object of a known kind that `text` starts with; says how many bytes it took.
    pub(super) fn json(&mut self, kind: Kind, api_version: &str, text: &str) -> Result<usize, Failure> {
        let (object, used) = kind.read_prefix(text).map_err(Failure::Parser)?;
        match &mut self.target {
            Target::Views(sink) => {
                self.stats.objects += 1;
                sink.object(object, &self.origin).map_err(|e| Failure::Object(e.at(&self.origin)))?;
            }
            Target::Reduced(_) => {
                let value = serde_json::from_str(&text[..used]).map_err(Failure::Parser)?;
                self.value(kind, api_version, &value).map_err(Failure::Object)?;
            }
        }
        Ok(used)
    }

    /// Hands over one object of a known kind.
    pub(super) fn value(&mut self, kind: Kind, api_version: &str, value: &Value) -> Result<(), InputError> {
        let done = match inspect(kind, value) {
            Ok(Inspected { object, taken }) => {
                self.stats.objects += 1;
                match &mut self.target {
                    Target::Views(sink) => sink.object(object, &self.origin),
                    Target::Reduced(sink) => sink.object(kind, api_version, taken),
                }
            }
            Err(fault) => Err(explain::wrong_type(kind, &Name::of(value), &fault)),
        };
        done.map_err(|e| e.at(&self.origin))
    }

    /// Counts one object of a kind that no rule reads.
    pub(super) fn unknown(&mut self, api_version: &str, kind: &str) -> Result<(), InputError> {
        if let Some(count) = self.stats.skipped.get_mut(kind) {
            *count += 1;
        } else {
            self.stats.skipped.insert(kind.to_owned(), 1);
        }
        let Target::Views(sink) = &mut self.target else { return Ok(()) };
        let object = Object::Unknown { api_version: Text::from(api_version), kind: Text::from(kind) };
        sink.object(object, &self.origin).map_err(|e| e.at(&self.origin))
    }

    /// Takes over what a snapshot file says of itself.
    pub(super) fn header(&mut self, header: Header) -> Result<(), InputError> {
        header.check(&self.origin.file)?;
        self.stats.left_out.extend(header.left_out);
        self.stats.taken_at = header.taken_at;
        self.stats.anonymized |= header.anonymized;
        Ok(())
    }

    /// A fault of the item as a whole.
    pub(super) fn item_error(&self, problem: &str) -> InputError {
        InputError::file(&self.origin.file, format!("item {} {problem}", self.origin.item))
    }
}
