//! JSON as a stream: lists item by item, single objects, JSON lines, one document after another.
//!
//! One pass: an item is parsed from the window straight into its view. When it is cut off by the end of the window,
//! more is read and the item is tried again, so only the window's last item is parsed twice.
//!
//! May import: snapshot

use std::io::Read;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::error::InputError;
use super::explain::{self, Name};
use super::feed::{Failure, Feed};
use super::head::{self, TypeMeta};
use super::header::{self, Header};
use super::inspect::{WrongType, inspect};
use super::window::Window;
use crate::snapshot::view::object::{Kind, group_of, read_prefix};

/// Reads all documents of `window` into `feed`.
pub(super) fn read<R: Read>(window: &mut Window<R>, feed: &mut Feed<'_>) -> Result<(), InputError> {
    let mut json = Json { window, feed, depth: 0 };
    while let Some(byte) = json.peek()? {
        match byte {
            b'{' if json.starts_list()? => json.list()?,
            b'[' => {
                json.feed.list = true;
                json.items(None)?;
            }
            _ => json.item(None)?,
        }
    }
    Ok(())
}

struct Json<'w, 's, R> {
    window: &'w mut Window<R>,
    feed: &'w mut Feed<'s>,
    /// Lists around the one being read.
    depth: u32,
}

/// Lists may hold lists (`jq -s` makes such files), but nobody nests them deeply.
const MAX_DEPTH: u32 = 8;

/// `apiVersion` and `kind` that the items of a typed list have.
struct ItemType {
    api_version: String,
    kind: String,
}

impl<R: Read> Json<'_, '_, R> {
    fn peek(&mut self) -> Result<Option<u8>, InputError> {
        self.window.peek().map_err(|fault| self.window.fault(&self.feed.origin.file, &fault))
    }

    fn fill(&mut self) -> Result<(), InputError> {
        self.window.fill().map_err(|fault| self.window.fault(&self.feed.origin.file, &fault))
    }

    /// True when the parser only ran out of text and there is more: then the window has been filled.
    fn more(&mut self, error: &serde_json::Error) -> Result<bool, InputError> {
        let more = error.is_eof() && !self.window.ended();
        if more {
            self.fill()?;
        }
        Ok(more)
    }

    /// Whether the object that comes next is a list.
    fn starts_list(&mut self) -> Result<bool, InputError> {
        loop {
            let text = self.window.rest();
            let scanned = head::find(text).map(|meta| meta.items || is_list(&meta));
            match scanned {
                Ok(list) => return Ok(list),
                Err(error) if self.more(&error)? => {}
                Err(_) => return Ok(false),
            }
        }
    }

    /// A list: its keys in any order.
    fn list(&mut self) -> Result<(), InputError> {
        let (mut api_version, mut kind) = (String::new(), String::new());
        let mut header = Header::default();
        self.feed.list = true;
        self.window.advance(1);
        if self.peek()? == Some(b'}') {
            self.window.advance(1);
            return Ok(());
        }
        loop {
            let key: String = self.value()?;
            self.expect(b':')?;
            match key.as_str() {
                "apiVersion" => api_version = self.value()?,
                "kind" => kind = self.value()?,
                "version" => header.version = self.value()?,
                "takenAt" => header.taken_at = self.value()?,
                "anonymized" => header.anonymized = self.value()?,
                "leftOut" => header.left_out = self.value()?,
                "items" if self.peek()? == Some(b'[') => {
                    if kind == header::KIND && header.version > 0 {
                        header.check(&self.feed.origin.file)?;
                    }
                    if kind.is_empty() {
                        (api_version, kind) = self.type_behind_items()?;
                    }
                    let item = item_type(&api_version, &kind);
                    self.items(item.as_ref())?;
                }
                _ => {
                    self.value::<IgnoredAny>()?;
                }
            }
            match self.peek()? {
                Some(b',') => self.window.advance(1),
                Some(b'}') => break,
                _ => return Err(self.unexpected("`,` or `}`")),
            }
            self.peek()?;
        }
        self.window.advance(1);
        if kind == header::KIND && group_of(&api_version) == group_of(header::API_VERSION) {
            self.feed.header(header)?;
        }
        Ok(())
    }

    /// `apiVersion` and `kind` of a list whose items come first and do not name their own, for example after
    /// `jq -S`. Only then the whole input is read before the first item is parsed.
    fn type_behind_items(&mut self) -> Result<(String, String), InputError> {
        let first_names_kind = loop {
            let first = self.window.rest()[1..].trim_start();
            if first.starts_with(']') {
                break true;
            }
            match head::find(first).map(|meta| meta.kind.is_some()) {
                Ok(named) => break named,
                Err(error) if self.more(&error)? => {}
                Err(_) => break true,
            }
        };
        if first_names_kind {
            return Ok(Default::default());
        }
        while !self.window.ended() {
            self.fill()?;
        }
        let text = self.window.rest();
        let Ok((_, used)) = read_prefix::<IgnoredAny>(text) else { return Ok(Default::default()) };
        let Some(behind) = text[used..].trim_start().strip_prefix(',') else { return Ok(Default::default()) };
        let behind = format!("{{{behind}");
        let meta = head::scan(&behind).unwrap_or_default();
        let owned = |text: Option<_>| text.map(std::borrow::Cow::into_owned).unwrap_or_default();
        Ok((owned(meta.api_version), owned(meta.kind)))
    }

    /// The array that comes next, item by item.
    fn items(&mut self, inherited: Option<&ItemType>) -> Result<(), InputError> {
        self.window.advance(1);
        if self.peek()? == Some(b']') {
            self.window.advance(1);
            return Ok(());
        }
        loop {
            self.item(inherited)?;
            match self.peek()? {
                Some(b',') => self.window.advance(1),
                Some(b']') => break,
                _ => return Err(self.unexpected("`,` or `]`")),
            }
            self.peek()?;
        }
        self.window.advance(1);
        Ok(())
    }

    /// One object.
    fn item(&mut self, inherited: Option<&ItemType>) -> Result<(), InputError> {
        self.feed.origin.item += 1;
        match self.window.rest().as_bytes().first() {
            Some(b'{') => {}
            None => return Err(self.unexpected("an object")),
            Some(_) if self.feed.origin.item == 1 => return Err(self.unexpected("a JSON object")),
            Some(_) => return Err(self.feed.item_error("is not an object")),
        }
        loop {
            match hand_over(self.window.rest(), inherited, self.feed) {
                Ok(used) => {
                    self.window.advance(used);
                    return Ok(());
                }
                Err(Failure::Object(error)) => return Err(error),
                Err(Failure::List) if self.depth < MAX_DEPTH => {
                    self.feed.origin.item -= 1;
                    self.depth += 1;
                    self.list()?;
                    self.depth -= 1;
                    return Ok(());
                }
                Err(Failure::List) => return Err(self.feed.item_error("is a list inside too many lists")),
                Err(Failure::Parser(error)) => {
                    if !self.more(&error)? {
                        return Err(self.explain(&error, inherited));
                    }
                }
            }
        }
    }

    /// A value of the envelope.
    fn value<T: DeserializeOwned>(&mut self) -> Result<T, InputError> {
        self.peek()?;
        loop {
            let rest = self.window.rest();
            match read_prefix::<T>(rest) {
                // A number that ends where the window ends may go on.
                Ok((_, used)) if used == rest.len() && !self.window.ended() => self.fill()?,
                Ok((value, used)) => {
                    self.window.advance(used);
                    return Ok(value);
                }
                Err(error) => {
                    if !self.more(&error)? {
                        return Err(self.syntax(&error));
                    }
                }
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), InputError> {
        if self.peek()? != Some(byte) {
            return Err(self.unexpected(&format!("`{}`", char::from(byte))));
        }
        self.window.advance(1);
        Ok(())
    }

    /// The error where something else than `wanted` comes next.
    fn unexpected(&self, wanted: &str) -> InputError {
        let file = &self.feed.origin.file;
        match self.window.rest().chars().next() {
            Some(found) => self.window.error(file, 0, &format!("expected {wanted}, found `{found}`")),
            None => InputError::file(file, format!("is cut off after item {}", self.feed.origin.item)),
        }
    }

    /// A syntax error, or the end of the input, in the envelope.
    fn syntax(&self, error: &serde_json::Error) -> InputError {
        let file = &self.feed.origin.file;
        if error.is_eof() {
            return InputError::file(file, format!("is cut off after item {}", self.feed.origin.item));
        }
        let offset = offset_of(error, self.window.rest());
        self.window.error(file, offset, &explain::plain(&error.to_string()))
    }

    /// An error inside an item.
    fn explain(&self, error: &serde_json::Error, inherited: Option<&ItemType>) -> InputError {
        let text = self.window.rest();
        let name = Name::of(&mut serde_json::Deserializer::from_str(text));
        let meta = type_of(text, inherited).unwrap_or_default();
        let kind = meta.kind.as_deref().unwrap_or("object");
        if error.is_eof() {
            return InputError::object(
                kind,
                &name.namespace,
                &name.name,
                "is cut off, the input ends inside",
            )
            .at(&self.feed.origin);
        }
        let known = Kind::of(group_of(meta.api_version.as_deref().unwrap_or_default()), kind);
        // Reading it the slow way finds the field.
        if let (true, Some(kind), Ok((value, _))) = (error.is_data(), known, read_prefix::<Value>(text)) {
            let fault = inspect(kind, &value).err();
            let fault = fault.unwrap_or(WrongType { path: String::new(), problem: error.to_string() });
            return explain::wrong_type(kind, &name, &fault).at(&self.feed.origin);
        }
        let problem = format!("{} (item {})", explain::plain(&error.to_string()), self.feed.origin.item);
        self.window.error(&self.feed.origin.file, offset_of(error, text), &problem)
    }
}

/// Parses the object that `text` starts with and hands it over; says how many bytes it took.
fn hand_over(text: &str, inherited: Option<&ItemType>, feed: &mut Feed<'_>) -> Result<usize, Failure> {
    let meta = type_of(text, inherited).map_err(Failure::Parser)?;
    if meta.items || is_list(&meta) {
        return Err(Failure::List);
    }
    let (Some(api_version), Some(name)) = (&meta.api_version, &meta.kind) else {
        let missing = if meta.kind.is_none() { "has no kind" } else { "has no apiVersion" };
        return Err(Failure::Object(feed.item_error(missing)));
    };
    if let Some(kind) = Kind::of(group_of(api_version), name) {
        return feed.json(kind, api_version, text);
    }
    let (_, used) = read_prefix::<IgnoredAny>(text).map_err(Failure::Parser)?;
    feed.unknown(api_version, name).map_err(Failure::Object)?;
    Ok(used)
}

/// The type of the object that `text` starts with; items of a typed list that do not begin with their own have the
/// list's.
fn type_of<'a>(text: &'a str, inherited: Option<&'a ItemType>) -> Result<TypeMeta<'a>, serde_json::Error> {
    match (head::peek(text), inherited) {
        (Some(meta), _) => Ok(meta),
        (None, Some(item)) => Ok(TypeMeta {
            api_version: Some((&*item.api_version).into()),
            kind: Some((&*item.kind).into()),
            items: false,
        }),
        (None, None) => head::find(text),
    }
}

fn is_list(meta: &TypeMeta<'_>) -> bool {
    let kind = meta.kind.as_deref().unwrap_or_default();
    kind.ends_with("List") || kind == header::KIND
}

/// `Pod` for the items of a `PodList`; nothing for the items of a plain `List` or a snapshot file.
fn item_type(api_version: &str, kind: &str) -> Option<ItemType> {
    let kind = kind.strip_suffix("List").filter(|k| !k.is_empty())?;
    Some(ItemType { api_version: api_version.to_owned(), kind: kind.to_owned() })
}

/// Where in `text` the parser stopped.
fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    before + error.column().saturating_sub(1)
}
