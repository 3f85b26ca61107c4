//! From bytes to API objects: readers push every object they meet into a [`Sink`].
//!
//! [`read_all`] takes what `kubectl get -o json|yaml` prints (a `List`, a `PodList`, one object), JSON lines, several
//! documents after another, our own snapshot file, and each of these compressed by gzip. JSON is read as a stream:
//! memory is a window of about a mebibyte plus the largest object, whatever the size of the input.
//!
//! May import: snapshot

mod error;
mod explain;
mod feed;
mod files;
mod head;
mod header;
mod inspect;
mod json;
#[cfg(test)]
mod tests;
mod window;
mod yaml;

use std::io::{Cursor, Read};

pub use error::{InputError, Origin};
pub use feed::ReadStats;
pub use files::{folder_entries, is_input_file};
pub use header::{API_VERSION, Header, KIND, LeftOut, VERSION};
use serde_json::{Map, Value};
pub use yaml::beyond_limits;

use self::feed::{Feed, Target};
use self::window::Window;
use super::view::object::{Kind, Object};

/// Takes the objects of an input, one by one, in input order.
pub trait Sink {
    /// Takes one object. It borrows from the reader's buffer: what is kept must be copied. Objects of unknown kinds
    /// come too (without content) and can be ignored: the reader counts them.
    fn object(&mut self, object: Object<'_>, origin: &Origin) -> Result<(), InputError>;
}

/// Takes objects reduced to the fields that planning reads, one by one, in input order.
pub trait ReducedSink {
    /// Takes the fields of one object; `apiVersion` and `kind` are not among them.
    fn object(&mut self, kind: Kind, api_version: &str, fields: Map<String, Value>)
    -> Result<(), InputError>;
}

/// Reads everything from `reader` into `sink`. `file` is the name for messages, `-` for standard input.
///
/// Errors: the input is empty, cut off, no text, neither JSON nor YAML, or an object has a field of the wrong type;
/// also whatever the sink refuses. Objects before the fault have reached the sink.
pub fn read_all(reader: impl Read, file: &str, sink: &mut dyn Sink) -> Result<ReadStats, InputError> {
    read_into(reader, file, Target::Views(sink))
}

/// Like [`read_all`], for a sink that takes reduced objects. Objects with a field of the wrong type are refused here,
/// too.
pub fn reduce_all(
    reader: impl Read,
    file: &str,
    sink: &mut dyn ReducedSink,
) -> Result<ReadStats, InputError> {
    read_into(reader, file, Target::Reduced(sink))
}

/// One object reduced to the fields that planning reads; `file` says where it comes from, for messages.
///
/// # Errors
/// A field has the wrong type.
pub fn reduce_one(kind: Kind, value: &Value, file: &str) -> Result<Map<String, Value>, InputError> {
    inspect::inspect(kind, value).map(|inspected| inspected.taken).map_err(|fault| {
        let origin = Origin { file: file.to_owned(), item: 0 };
        explain::wrong_type(kind, &explain::Name::of(value), &fault).at(&origin)
    })
}

fn read_into(mut reader: impl Read, file: &str, target: Target<'_>) -> Result<ReadStats, InputError> {
    let start = first_bytes(&mut reader, file)?;
    let gzip = start.starts_with(&[0x1f, 0x8b]);
    let reader = Cursor::new(start).chain(reader);
    if !gzip {
        return read_text(reader, file, target);
    }
    let mut unpacked = flate2::read::MultiGzDecoder::new(reader);
    let start = first_bytes(&mut unpacked, file)?;
    read_text(Cursor::new(start).chain(unpacked), file, target)
}

/// The first bytes, without a byte order mark: enough to recognise the format.
fn first_bytes(reader: &mut impl Read, file: &str) -> Result<Vec<u8>, InputError> {
    let mut start = Vec::new();
    if let Err(error) = reader.take(3).read_to_end(&mut start) {
        return Err(Window::new(reader).fault(file, &window::Fault::Io(error)));
    }
    if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        return Err(InputError::file(file, "is UTF-16 text, save it as UTF-8"));
    }
    if start == [0xef, 0xbb, 0xbf] {
        start.clear();
    }
    Ok(start)
}

fn read_text(reader: impl Read, file: &str, target: Target<'_>) -> Result<ReadStats, InputError> {
    let mut feed = Feed::new(file, target);
    let mut window = Window::new(reader);
    match window.peek().map_err(|fault| window.fault(file, &fault))? {
        None => return Err(InputError::file(file, "is empty")),
        Some(b'{' | b'[') => json::read(&mut window, &mut feed)?,
        Some(_) => {
            window.fill_whole().map_err(|fault| window.fault(file, &fault))?;
            yaml::read(window.rest(), &mut feed)?;
        }
    }
    if feed.origin.item == 0 && feed.stats.objects == 0 && !feed.list {
        return Err(InputError::file(file, "holds no object"));
    }
    feed.stats.bytes = window.bytes();
    Ok(feed.stats)
}
