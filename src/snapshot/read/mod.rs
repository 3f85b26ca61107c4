//! From bytes to API objects: readers push every object they meet into a [`Sink`].
//!
//! May import: snapshot

mod error;

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;

pub use error::{InputError, Origin};

use super::view::basic::Text;
use super::view::object::{Kind, Object, group_of};

/// Takes the objects of an input, one by one, in input order.
pub trait Sink {
    /// Takes one object. It borrows from the reader's buffer: what is kept must be copied. Objects of unknown kinds
    /// come too (without content) and can be ignored: the reader counts them.
    fn object(&mut self, object: Object<'_>, origin: &Origin) -> Result<(), InputError>;
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Objects of known kinds.
    pub objects: u64,
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Objects of unknown kinds, per `kind`.
    pub skipped: BTreeMap<String, u64>,
}

/// Reads everything from `reader` into `sink`. `file` is the name for messages.
pub fn read_all(mut reader: impl Read, file: &str, sink: &mut dyn Sink) -> Result<ReadStats, InputError> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|e| InputError::file(file, e.to_string()))?;
    let mut stats = ReadStats { bytes: bytes.len() as u64, ..ReadStats::default() };
    let mut origin = Origin { file: file.to_owned(), item: 0 };
    for document in serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>() {
        let document = document.map_err(|e| InputError::file(file, e.to_string()))?;
        let items = document.get("items").and_then(Value::as_array);
        for item in items.map_or(std::slice::from_ref(&document), Vec::as_slice) {
            origin.item += 1;
            push(item, &mut stats, &origin, sink).map_err(|e| e.at(&origin))?;
        }
    }
    Ok(stats)
}

fn push(item: &Value, stats: &mut ReadStats, origin: &Origin, sink: &mut dyn Sink) -> Result<(), InputError> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, name) = (text("apiVersion"), text("kind"));
    let object = if let Some(kind) = Kind::of(group_of(api_version), name) {
        stats.objects += 1;
        kind.read(item).map_err(|e| InputError::file(&origin.file, e.to_string()))?
    } else {
        *stats.skipped.entry(name.to_owned()).or_default() += 1;
        Object::Unknown { api_version: Text::from(api_version), kind: Text::from(name) }
    };
    sink.object(object, origin)
}
