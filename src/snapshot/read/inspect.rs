//! Reads a view from a JSON value and notes what it takes: for snapshot files, for YAML and for error messages.
//!
//! The view itself is the allow-list of a snapshot file: it is read through [`Tee`], which notes every value that the
//! view takes and nothing that it passes over. A field that planning starts to read is kept from then on, and nothing
//! else can slip in. (A view must not use `serde(flatten)` beside fields that could hold secrets: flattening takes all
//! fields of the object.) What a view only asks for presence (`emptyDir`) is kept as `{}`.
//!
//! When a field has the wrong type, the path to it is noted on the way out.
//!
//! Bulk JSON does not come this way: it is read from text straight into views.
//!
//! May import: snapshot

use std::cell::RefCell;
use std::fmt::{self, Write};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::snapshot::view::object::{Kind, Object};

/// A view, and the fields of the object that it took.
pub(super) struct Inspected<'v> {
    pub(super) object: Object<'v>,
    pub(super) taken: Map<String, Value>,
}

/// A field that has the wrong type.
pub(super) struct WrongType {
    /// Path in the notation `spec.containers[0].ports`, empty for the object itself.
    pub(super) path: String,
    /// What the parser says.
    pub(super) problem: String,
}

/// Reads an object of this kind.
pub(super) fn inspect(kind: Kind, value: &Value) -> Result<Inspected<'_>, WrongType> {
    let (mut taken, trail) = (None, Trail::default());
    match kind.read(Tee { inner: value, out: &mut taken, trail: &trail, presence: false }) {
        Ok(object) => {
            let taken = if let Some(Value::Object(fields)) = taken { fields } else { Map::new() };
            Ok(Inspected { object, taken })
        }
        Err(error) => Err(WrongType { path: render(&trail.into_inner()), problem: error.to_string() }),
    }
}

/// Steps from the fault outwards.
type Trail = RefCell<Vec<Step>>;

enum Step {
    Field(String),
    Item(usize),
}

/// A path in the notation of `kubectl explain`, with keys that hold dots or slashes in brackets.
fn render(trail: &[Step]) -> String {
    let mut path = String::new();
    for step in trail.iter().rev() {
        match step {
            // Writing to a string cannot fail.
            Step::Item(at) => _ = write!(path, "[{at}]"),
            Step::Field(key) if key.contains(['.', '/']) => _ = write!(path, "[\"{key}\"]"),
            Step::Field(key) if path.is_empty() => path += key,
            Step::Field(key) => _ = write!(path, ".{key}"),
        }
    }
    path
}

/// A deserializer that notes in `out` what is taken from `inner`.
struct Tee<'o, D> {
    inner: D,
    out: &'o mut Option<Value>,
    trail: &'o Trail,
    /// Whether a value that is passed over leaves `{}`: only where its presence was asked for.
    presence: bool,
}

/// Forwards methods with a visitor that notes.
macro_rules! forward {
    ($($method:ident($($arg:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($arg,)* Noting { inner: visitor, out: self.out, trail: self.trail })
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tee<'_, D> {
    type Error = D::Error;

    forward! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let value = self.inner.deserialize_ignored_any(visitor)?;
        if self.presence {
            *self.out = Some(Value::Object(Map::new()));
        }
        Ok(value)
    }
}

struct Noting<'o, V> {
    inner: V,
    out: &'o mut Option<Value>,
    trail: &'o Trail,
}

macro_rules! note {
    ($($method:ident($type:ty) $to_value:expr;)*) => {$(
        fn $method<E: Error>(self, v: $type) -> Result<V::Value, E> {
            *self.out = Some($to_value(&v));
            self.inner.$method(v)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Noting<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    note! {
        visit_bool(bool) |v: &bool| Value::Bool(*v);
        visit_i64(i64) |v: &i64| Value::Number((*v).into());
        visit_u64(u64) |v: &u64| Value::Number((*v).into());
        visit_f64(f64) |v: &f64| Number::from_f64(*v).map_or(Value::Null, Value::Number);
        visit_str(&str) |v: &&str| Value::String((*v).to_owned());
        visit_borrowed_str(&'de str) |v: &&str| Value::String((*v).to_owned());
        visit_string(String) |v: &String| Value::String(v.clone());
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Tee { inner: d, out: self.out, trail: self.trail, presence: true })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Tee { inner: d, out: self.out, trail: self.trail, presence: false })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let mut items = Vec::new();
        let value = self.inner.visit_seq(NotingSeq { inner: seq, items: &mut items, trail: self.trail })?;
        *self.out = Some(Value::Array(items));
        Ok(value)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let mut fields = Map::new();
        let value = self.inner.visit_map(NotingMap {
            inner: map,
            key: None,
            fields: &mut fields,
            trail: self.trail,
        })?;
        *self.out = Some(Value::Object(fields));
        Ok(value)
    }
}

struct NotingSeed<'o, S> {
    inner: S,
    out: &'o mut Option<Value>,
    trail: &'o Trail,
    presence: bool,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for NotingSeed<'_, S> {
    type Value = S::Value;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Tee { inner: d, out: self.out, trail: self.trail, presence: self.presence })
    }
}

struct NotingSeq<'o, A> {
    inner: A,
    items: &'o mut Vec<Value>,
    trail: &'o Trail,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for NotingSeq<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let mut item = None;
        let seed = NotingSeed { inner: seed, out: &mut item, trail: self.trail, presence: true };
        let element = self.inner.next_element_seed(seed);
        let element = element.inspect_err(|_| self.trail.borrow_mut().push(Step::Item(self.items.len())))?;
        if element.is_some() {
            self.items.push(item.unwrap_or(Value::Null));
        }
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

struct NotingMap<'o, A> {
    inner: A,
    key: Option<Value>,
    fields: &'o mut Map<String, Value>,
    trail: &'o Trail,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for NotingMap<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.key = None;
        self.inner.next_key_seed(NotingSeed {
            inner: seed,
            out: &mut self.key,
            trail: self.trail,
            presence: false,
        })
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        let mut field = None;
        let seed = NotingSeed { inner: seed, out: &mut field, trail: self.trail, presence: false };
        let value = self.inner.next_value_seed(seed).inspect_err(|_| {
            if let Some(Value::String(key)) = &self.key {
                self.trail.borrow_mut().push(Step::Field(key.clone()));
            }
        })?;
        if let (Some(Value::String(key)), Some(field)) = (self.key.take(), field) {
            self.fields.insert(key, field);
        }
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}
