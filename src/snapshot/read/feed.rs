//! Hands objects to the sink and keeps the books.
//!
//! May import: snapshot

use std::collections::BTreeMap;

use super::Sink;
use super::error::{InputError, Origin};
use super::header::{Header, LeftOut};
use crate::snapshot::view::basic::Text;
use crate::snapshot::view::object::Object;

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
        // Several files are as old as the oldest of them.
        self.taken_at = match (self.taken_at.take(), other.taken_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// The sink, with the position in the input and the counts.
pub(super) struct Feed<'s> {
    sink: &'s mut dyn Sink,
    pub(super) stats: ReadStats,
    pub(super) origin: Origin,
    /// A list was met, so an input without objects is a cluster without them.
    pub(super) list: bool,
}

impl<'s> Feed<'s> {
    pub(super) fn new(file: &str, sink: &'s mut dyn Sink) -> Self {
        Self {
            sink,
            stats: ReadStats::default(),
            origin: Origin { file: file.to_owned(), item: 0 },
            list: false,
        }
    }

    /// Hands over one object of a known kind.
    pub(super) fn known(&mut self, object: Object<'_>) -> Result<(), InputError> {
        self.stats.objects += 1;
        self.sink.object(object, &self.origin).map_err(|e| e.at(&self.origin))
    }

    /// Counts one object of a kind that no rule reads.
    pub(super) fn unknown(&mut self, api_version: &str, kind: &str) -> Result<(), InputError> {
        if let Some(count) = self.stats.skipped.get_mut(kind) {
            *count += 1;
        } else {
            self.stats.skipped.insert(kind.to_owned(), 1);
        }
        let object = Object::Unknown { api_version: Text::from(api_version), kind: Text::from(kind) };
        self.sink.object(object, &self.origin).map_err(|e| e.at(&self.origin))
    }

    /// Takes over what a snapshot file says of itself.
    pub(super) fn header(&mut self, header: Header) -> Result<(), InputError> {
        header.check(&self.origin.file)?;
        self.stats.left_out.extend(header.left_out);
        self.stats.taken_at = header.taken_at;
        Ok(())
    }

    /// A fault of the item as a whole.
    pub(super) fn item_error(&self, problem: &str) -> InputError {
        InputError::file(&self.origin.file, format!("item {} {problem}", self.origin.item))
    }
}
