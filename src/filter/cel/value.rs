//! The values expressions work on. Strings and maps of the device are borrowed, nothing is copied to look at it.
//!
//! May import: (nothing of this crate)

use std::borrow::Cow;
use std::ops::Deref;
use std::rc::Rc;

use super::Error;
use super::ast::Literal;
use super::device::{Attribute, Device, Names};
use super::quantity::Quantity;
use super::version::Version;

/// A value; lists and maps are shared, so copies are cheap.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Str(Cow<'a, str>),
    Quantity(Quantity),
    Version(Rc<Version>),
    List(Rc<Items<Value<'a>>>),
    Map(Rc<Items<(Value<'a>, Value<'a>)>>),
    /// A value that may be missing.
    Optional(Option<Rc<Value<'a>>>),
    Device(&'a Device),
    /// `device.attributes`: a domain that is not there is an empty map.
    Attributes(&'a Names<Names<Attribute>>),
    /// `device.capacity`, likewise.
    Capacity(&'a Names<Names<Quantity>>),
    /// The attributes of one domain; none is the empty map.
    Domain(Option<&'a Names<Attribute>>),
    /// The capacities of one domain.
    DomainCapacity(Option<&'a Names<Quantity>>),
}

/// Elements or entries, with how many there are on all levels below: what comparing them may cost.
#[derive(Debug)]
pub(super) struct Items<T> {
    items: Vec<T>,
    weight: usize,
}

impl<'a> Items<Value<'a>> {
    fn of(items: Vec<Value<'a>>) -> Rc<Self> {
        let weight = items.iter().map(|value| 1 + value.weight()).sum();
        Rc::new(Self { items, weight })
    }
}

impl<T> Deref for Items<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

pub(super) type Outcome<'a> = Result<Value<'a>, Error>;

impl<'a> Value<'a> {
    pub(super) fn literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Uint(value) => Self::Uint(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::Str(text) => Self::Str(Cow::Borrowed(text)),
        }
    }

    pub(super) fn list(values: Vec<Self>) -> Self {
        Self::List(Items::of(values))
    }

    pub(super) fn map(entries: Vec<(Self, Self)>) -> Self {
        let weight = entries.iter().map(|(key, value)| 1 + key.weight() + value.weight()).sum();
        Self::Map(Rc::new(Items { items: entries, weight }))
    }

    /// Bytes of a text, elements and entries of all levels; what working on the value costs.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Str(text) => text.len(),
            Self::List(values) => values.weight,
            Self::Map(entries) => entries.weight,
            Self::Optional(Some(value)) => 1 + value.weight(),
            Self::Attributes(domains) => domains.values().map(|names| 1 + names.len()).sum(),
            Self::Capacity(domains) => domains.values().map(|names| 1 + names.len()).sum(),
            Self::Domain(Some(names)) => names.len(),
            Self::DomainCapacity(Some(names)) => names.len(),
            _ => 0,
        }
    }

    /// The word for the type in messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Str(_) => "string",
            Self::Quantity(_) => "quantity",
            Self::Version(_) => "semver",
            Self::List(_) => "list",
            Self::Optional(_) => "optional",
            Self::Device(_) => "device",
            Self::Map(_)
            | Self::Attributes(_)
            | Self::Capacity(_)
            | Self::Domain(_)
            | Self::DomainCapacity(_) => "map",
        }
    }

    pub(super) fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(Rc::new))
    }

    /// `of.?field` and `of[?key]`, and plain selections of an optional value: nothing where the key is absent.
    pub(super) fn maybe(&self, key: &Value<'a>) -> Outcome<'a> {
        let of = match self {
            Self::Optional(None) => return Ok(Self::Optional(None)),
            Self::Optional(Some(value)) => value,
            other => other,
        };
        let found = match (of, key) {
            (Self::List(_), Value::Int(_) | Value::Uint(_)) | (Self::Map(_), _) => of.index(key).ok(),
            (_, Value::Str(field)) => of.find(field)?,
            _ => return Err(Error::Runtime(format!("no such overload: {}[{}]", of.kind(), key.kind()))),
        };
        Ok(Self::optional(found))
    }

    /// `of.field`; an absent key is a runtime error.
    pub(super) fn select(&self, field: &str) -> Outcome<'a> {
        if matches!(self, Self::Optional(_)) {
            return self.maybe(&Value::Str(Cow::Owned(field.to_owned())));
        }
        match self.find(field)? {
            Some(value) => Ok(value),
            None => Err(Error::Runtime(format!("no such key: {field}"))),
        }
    }

    /// `has(of.field)`.
    pub(super) fn has(&self, field: &str) -> Result<bool, Error> {
        match self {
            Self::Optional(None) => Ok(false),
            Self::Optional(Some(value)) => value.has(field),
            _ => Ok(self.find(field)?.is_some()),
        }
    }

    fn find(&self, field: &str) -> Result<Option<Value<'a>>, Error> {
        Ok(match self {
            Self::Device(device) => Some(match field {
                "driver" => Value::Str(Cow::Borrowed(device.driver())),
                "attributes" => Value::Attributes(device.attributes()),
                "capacity" => Value::Capacity(device.capacity()),
                "allowMultipleAllocations" => Value::Bool(device.allows_multiple_allocations()),
                _ => return Err(Error::Runtime(format!("no such field: {field}"))),
            }),
            Self::Attributes(domains) => Some(Value::Domain(domains.get(field))),
            Self::Capacity(domains) => Some(Value::DomainCapacity(domains.get(field))),
            Self::Domain(names) => match names.and_then(|names| names.get(field)) {
                Some(attribute) => Some(attribute_value(attribute)?),
                None => None,
            },
            Self::DomainCapacity(names) => names.and_then(|n| n.get(field)).map(|q| Value::Quantity(*q)),
            Self::Map(entries) => {
                let same = |key: &Value<'_>| matches!(key, Value::Str(text) if text == field);
                entries.iter().find(|(key, _)| same(key)).map(|(_, value)| value.clone())
            }
            _ => return Err(Error::Runtime(format!("no such overload: field {field} of {}", self.kind()))),
        })
    }

    /// `of[key]`.
    pub(super) fn index(&self, key: &Value<'a>) -> Outcome<'a> {
        match (self, key) {
            (Self::Optional(_), _) => self.maybe(key),
            (Self::List(values), _) => {
                let at = match key {
                    Value::Int(at) => usize::try_from(*at).ok(),
                    Value::Uint(at) => usize::try_from(*at).ok(),
                    _ => return Err(Error::Runtime(format!("a list is indexed by int, not {}", key.kind()))),
                };
                let value = at.and_then(|at| values.get(at)).cloned();
                value.ok_or_else(|| Error::Runtime("index out of bounds".to_owned()))
            }
            (Self::Map(entries), _) => {
                let value = entries
                    .iter()
                    .find(|(own, _)| own.equals(key) == Ok(true))
                    .map(|(_, value)| value.clone());
                value.ok_or_else(|| Error::Runtime("no such key".to_owned()))
            }
            (Self::Device(_), _) => Err(Error::Runtime("no such overload: index of device".to_owned())),
            (_, Value::Str(field)) => self.select(field),
            _ => Err(Error::Runtime(format!("no such overload: {}[{}]", self.kind(), key.kind()))),
        }
    }

    /// Elements of a list or keys of a map, in a fixed order.
    pub(super) fn elements(&self) -> Result<Rc<Items<Value<'a>>>, Error> {
        fn keys<T>(names: Option<&Names<T>>) -> Rc<Items<Value<'_>>> {
            let keys = names.into_iter().flat_map(|names| names.keys());
            Items::of(keys.map(|key| Value::Str(Cow::Borrowed(&**key))).collect())
        }
        Ok(match self {
            Self::List(values) => Rc::clone(values),
            Self::Map(entries) => Items::of(entries.iter().map(|(key, _)| key.clone()).collect()),
            Self::Attributes(domains) => keys(Some(domains)),
            Self::Capacity(domains) => keys(Some(domains)),
            Self::Domain(names) => keys(*names),
            Self::DomainCapacity(names) => keys(*names),
            _ => return Err(Error::Runtime(format!("no such overload: {} has no elements", self.kind()))),
        })
    }

    /// Elements, or characters.
    pub(super) fn size(&self) -> Result<usize, Error> {
        match self {
            Self::Str(text) => Ok(text.chars().count()),
            Self::List(values) => Ok(values.len()),
            Self::Map(entries) => Ok(entries.len()),
            _ => self.elements().map(|elements| elements.len()),
        }
    }
}

fn attribute_value(attribute: &Attribute) -> Outcome<'_> {
    fn text(text: &str) -> Value<'_> {
        Value::Str(Cow::Borrowed(text))
    }
    fn version<'a>(text: &str) -> Outcome<'a> {
        let version = Version::parse(text).map(|version| Value::Version(Rc::new(version)));
        version.ok_or_else(|| Error::Runtime(format!("{text:?} is no semantic version")))
    }
    Ok(match attribute {
        Attribute::Int(value) => Value::Int(*value),
        Attribute::Bool(value) => Value::Bool(*value),
        Attribute::String(value) => text(value),
        Attribute::Version(value) => version(value)?,
        Attribute::Ints(values) => Value::list(values.iter().map(|value| Value::Int(*value)).collect()),
        Attribute::Bools(values) => Value::list(values.iter().map(|value| Value::Bool(*value)).collect()),
        Attribute::Strings(values) => Value::list(values.iter().map(|value| text(value)).collect()),
        Attribute::Versions(values) => {
            Value::list(values.iter().map(|value| version(value)).collect::<Result<_, _>>()?)
        }
    })
}
