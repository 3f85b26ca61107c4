//! Writes a snapshot file: every object reduced to the fields that planning reads, sorted, one a line.
//!
//! The envelope is described in [`super::read::Header`]. Environment, commands, arguments, images, secrets and foreign
//! annotations never get here: the reader passes on only what a view reads. Equal clusters give equal bytes, whatever
//! the order and format of the input.
//!
//! May import: snapshot

use std::io::{self, Read, Write};

use serde_json::{Map, Value};

use super::anonymize;
use super::read::{
    API_VERSION, InputError, KIND, LeftOut, ReadStats, ReducedSink, VERSION, reduce_all, reduce_one,
};
use super::view::object::Kind;

/// Collects objects and writes them as one snapshot file. Holds the reduced objects as text: about 1 KB per pod.
#[derive(Debug, Default)]
pub struct SnapshotWriter {
    items: Vec<Item>,
    stats: ReadStats,
}

/// One reduced object.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The object as one line of JSON.
    pub(super) json: String,
}

impl Item {
    pub(super) fn new(kind: Kind, api_version: &str, fields: &Map<String, Value>) -> Self {
        let meta = |key: &str| fields.get("metadata").and_then(|m| m.get(key)?.as_str()).unwrap_or_default();
        let mut json = format!("{{\"apiVersion\":{},\"kind\":\"{}\"", quoted(api_version), kind.name());
        for (key, value) in fields {
            json += ",";
            json += &quoted(key);
            json += ":";
            json += &value.to_string();
        }
        json.push('}');
        Self { kind, namespace: meta("namespace").to_owned(), name: meta("name").to_owned(), json }
    }
}

/// One object as a snapshot file has it: a line of JSON with the fields that planning reads. `file` says where it comes
/// from, for messages.
///
/// # Errors
/// A field has the wrong type.
pub fn reduced(kind: Kind, api_version: &str, value: &Value, file: &str) -> Result<String, InputError> {
    Ok(Item::new(kind, api_version, &reduce_one(kind, value, file)?).json)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

impl ReducedSink for SnapshotWriter {
    fn object(
        &mut self,
        kind: Kind,
        api_version: &str,
        fields: Map<String, Value>,
    ) -> Result<(), InputError> {
        self.items.push(Item::new(kind, api_version, &fields));
        Ok(())
    }
}

impl SnapshotWriter {
    /// Takes all objects of an input. `file` is its name for messages.
    pub fn read(&mut self, reader: impl Read, file: &str) -> Result<(), InputError> {
        let stats = reduce_all(reader, file, self)?;
        self.stats.merge(stats);
        Ok(())
    }

    /// Says that something could not be read.
    pub fn left_out(&mut self, what: LeftOut) {
        self.stats.left_out.push(what);
    }

    /// What was read so far.
    pub const fn stats(&self) -> &ReadStats {
        &self.stats
    }

    /// Replaces names, UIDs and label values by pseudonyms; see the module `anonymize`.
    pub fn anonymize(&mut self) {
        anonymize::anonymize(&mut self.items);
        self.stats.anonymized = true;
    }

    /// Writes the file. `taken_at` (RFC 3339) stands in it when given; a snapshot file that was read keeps its own.
    pub fn write(mut self, out: &mut impl Write, taken_at: Option<&str>) -> io::Result<()> {
        self.items.sort_unstable();
        writeln!(out, "{{\n\"apiVersion\":\"{API_VERSION}\",\n\"kind\":\"{KIND}\",\n\"version\":{VERSION},")?;
        if let Some(time) = taken_at.or(self.stats.taken_at.as_deref()) {
            writeln!(out, "\"takenAt\":{},", quoted(time))?;
        }
        if self.stats.anonymized {
            writeln!(out, "\"anonymized\":true,")?;
        }
        writeln!(out, "\"leftOut\":{},\n\"items\":[", serde_json::to_string(&self.missing())?)?;
        for (at, item) in self.items.iter().enumerate() {
            let end = if at + 1 < self.items.len() { "," } else { "" };
            writeln!(out, "{}{end}", item.json)?;
        }
        out.write_all(b"]\n}\n")
    }

    /// What the inputs lacked, and the kinds that nothing reads.
    fn missing(&self) -> Vec<LeftOut> {
        let mut missing = self.stats.left_out.clone();
        for (kind, &count) in &self.stats.skipped {
            let reason = "no rule reads this kind".to_owned();
            match missing.iter_mut().find(|m| m.kind == *kind && m.reason == reason) {
                Some(known) => known.count = Some(known.count.unwrap_or(0) + count),
                None => missing.push(LeftOut { kind: kind.clone(), count: Some(count), reason }),
            }
        }
        missing.sort_by(|a, b| (&a.kind, &a.reason, a.count).cmp(&(&b.kind, &b.reason, b.count)));
        missing
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
