//! The functions: which names exist with how many arguments, and what they do.
//!
//! May import: (nothing of this crate)

use std::borrow::Cow;
use std::rc::Rc;

use super::Error;
use super::ast::Function;
use super::operators::limit;
use super::pattern::Pattern;
use super::quantity::{Quantity, QuantityError};
use super::value::{Outcome, Value};
use super::version::Version;

/// Elements that `includes` looks at before it gives up, as in Kubernetes.
const INCLUDES_LIMIT: usize = 64;

/// The function called `name` without a target.
pub(super) fn global(name: &str, arguments: usize) -> Option<Function> {
    Some(match (name, arguments) {
        ("size", 1) => Function::Size,
        ("int", 1) => Function::ToInt,
        ("uint", 1) => Function::ToUint,
        ("double", 1) => Function::ToDouble,
        ("string", 1) => Function::ToString,
        ("bool", 1) => Function::ToBool,
        ("dyn", 1) => Function::ToDyn,
        ("matches", 2) => Function::Matches,
        ("quantity", 1) => Function::Quantity,
        ("isQuantity", 1) => Function::IsQuantity,
        ("semver", 1 | 2) => Function::Semver,
        ("isSemver", 1 | 2) => Function::IsSemver,
        ("sign", 1) => Function::Sign,
        _ => return None,
    })
}

/// The method called `name`, with `arguments` besides the target.
pub(super) fn method(name: &str, arguments: usize) -> Option<Function> {
    Some(match (name, arguments) {
        ("size", 0) => Function::Size,
        ("startsWith", 1) => Function::StartsWith,
        ("endsWith", 1) => Function::EndsWith,
        ("contains", 1) => Function::Contains,
        ("matches", 1) => Function::Matches,
        ("lowerAscii", 0) => Function::LowerAscii,
        ("upperAscii", 0) => Function::UpperAscii,
        ("trim", 0) => Function::Trim,
        ("split", 1) => Function::Split,
        ("replace", 2) => Function::Replace,
        ("compareTo", 1) => Function::CompareTo,
        ("isGreaterThan", 1) => Function::IsGreaterThan,
        ("isLessThan", 1) => Function::IsLessThan,
        ("add", 1) => Function::Add,
        ("sub", 1) => Function::Sub,
        ("sign", 0) => Function::Sign,
        ("asInteger", 0) => Function::AsInteger,
        ("isInteger", 0) => Function::IsInteger,
        ("major", 0) => Function::Major,
        ("minor", 0) => Function::Minor,
        ("patch", 0) => Function::Patch,
        ("includes", 1) => Function::Includes,
        ("hasValue", 0) => Function::HasValue,
        ("value", 0) => Function::OptionalValue,
        _ => return None,
    })
}

/// The function `optional.NAME`.
pub(super) fn of_optional(name: &str, arguments: usize) -> Option<Function> {
    Some(match (name, arguments) {
        ("none", 0) => Function::OptionalNone,
        ("of", 1) => Function::OptionalOf,
        _ => return None,
    })
}

/// Calls a function; a method's target comes first.
pub(super) fn call<'a>(function: Function, arguments: &[Value<'a>]) -> Outcome<'a> {
    let int = |value: usize| Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
    Ok(match (function, arguments) {
        (Function::Size, [of]) => int(of.size()?),
        (Function::ToDyn, [of]) => of.clone(),
        (
            Function::ToInt | Function::ToUint | Function::ToDouble | Function::ToString | Function::ToBool,
            [of],
        ) => convert(function, of)?,
        (Function::StartsWith, [Value::Str(text), Value::Str(part)]) => {
            Value::Bool(text.starts_with(&**part))
        }
        (Function::EndsWith, [Value::Str(text), Value::Str(part)]) => Value::Bool(text.ends_with(&**part)),
        (Function::Contains, [Value::Str(text), Value::Str(part)]) => Value::Bool(text.contains(&**part)),
        (Function::Matches, [Value::Str(text), Value::Str(pattern)]) => {
            Value::Bool(Pattern::compile(pattern)?.is_match(text)?)
        }
        (Function::LowerAscii, [Value::Str(text)]) => Value::Str(text.to_ascii_lowercase().into()),
        (Function::UpperAscii, [Value::Str(text)]) => Value::Str(text.to_ascii_uppercase().into()),
        (Function::Trim, [Value::Str(text)]) => Value::Str(text.trim().to_owned().into()),
        (Function::Split, [Value::Str(text), Value::Str(separator)]) if !separator.is_empty() => {
            let parts = text.split(&**separator);
            Value::list(parts.map(|part| Value::Str(Cow::Owned(part.to_owned()))).collect())
        }
        (Function::Replace, [Value::Str(text), Value::Str(from), Value::Str(to)]) if !from.is_empty() => {
            limit(text.len() + text.matches(&**from).count() * to.len())?;
            Value::Str(text.replace(&**from, to).into())
        }
        (Function::Split | Function::Replace, _) => {
            return Err(Error::Unsupported("split or replace of an empty text".to_owned()));
        }
        (Function::Quantity, [Value::Str(text)]) => {
            Value::Quantity(Quantity::parse(text).map_err(|error| {
                let message = format!("{text:?}: {error}");
                if error == QuantityError::Range {
                    Error::Unsupported(message)
                } else {
                    Error::Runtime(message)
                }
            })?)
        }
        (Function::IsQuantity, [Value::Str(text)]) => {
            Value::Bool(Quantity::parse(text) != Err(QuantityError::Invalid))
        }
        (Function::Semver, _) => match version(arguments)? {
            Some(version) => Value::Version(Rc::new(version)),
            None => return Err(Error::Runtime("not a semantic version".to_owned())),
        },
        (Function::IsSemver, _) => Value::Bool(version(arguments)?.is_some()),
        (Function::CompareTo | Function::IsGreaterThan | Function::IsLessThan, [left, right]) => {
            let order = match (left, right) {
                (Value::Quantity(left), Value::Quantity(right)) => left.cmp(right),
                (Value::Version(left), Value::Version(right)) => left.cmp(right),
                _ => return Err(mismatch(function, arguments)),
            };
            match function {
                Function::CompareTo => Value::Int(order as i64),
                Function::IsGreaterThan => Value::Bool(order.is_gt()),
                _ => Value::Bool(order.is_lt()),
            }
        }
        (Function::Add | Function::Sub, [Value::Quantity(left), right]) => {
            let right = match right {
                Value::Quantity(right) => *right,
                Value::Int(right) => Quantity::from_integer(*right),
                _ => return Err(mismatch(function, arguments)),
            };
            let result =
                if function == Function::Add { left.checked_add(right) } else { left.checked_sub(right) };
            Value::Quantity(
                result.ok_or_else(|| Error::Unsupported("a quantity leaves the range".to_owned()))?,
            )
        }
        (Function::Sign, [Value::Quantity(of)]) => Value::Int(of.sign()),
        (Function::IsInteger, [Value::Quantity(of)]) => Value::Bool(of.as_integer().is_some()),
        (Function::AsInteger, [Value::Quantity(of)]) => match of.as_integer() {
            Some(value) => Value::Int(value),
            None => return Err(Error::Runtime("cannot convert value to integer".to_owned())),
        },
        (Function::Major, [Value::Version(of)]) => Value::Int(of.major.cast_signed()),
        (Function::Minor, [Value::Version(of)]) => Value::Int(of.minor.cast_signed()),
        (Function::Patch, [Value::Version(of)]) => Value::Int(of.patch.cast_signed()),
        (Function::Includes, [Value::List(values), element]) => {
            let found = values.iter().take(INCLUDES_LIMIT).any(|own| own.equals(element) == Ok(true));
            if !found && values.len() > INCLUDES_LIMIT {
                return Err(Error::Runtime("includes: the list is too long".to_owned()));
            }
            Value::Bool(found)
        }
        (Function::Includes, [of, element]) => Value::Bool(of.equals(element) == Ok(true)),
        (Function::OptionalNone, []) => Value::Optional(None),
        (Function::OptionalOf, [value]) => Value::optional(Some(value.clone())),
        (Function::HasValue, [Value::Optional(value)]) => Value::Bool(value.is_some()),
        (Function::OptionalValue, [Value::Optional(value)]) => match value {
            Some(value) => (**value).clone(),
            None => return Err(Error::Runtime("optional.none() has no value".to_owned())),
        },
        _ => return Err(mismatch(function, arguments)),
    })
}

fn version(arguments: &[Value<'_>]) -> Result<Option<Version>, Error> {
    match arguments {
        [Value::Str(text)] | [Value::Str(text), Value::Bool(false)] => Ok(Version::parse(text)),
        [Value::Str(text), Value::Bool(true)] => Ok(Version::parse_tolerant(text)),
        _ => Err(mismatch(Function::Semver, arguments)),
    }
}

fn convert<'a>(function: Function, of: &Value<'a>) -> Outcome<'a> {
    let out_of_range = || Error::Runtime(format!("{} out of range in a conversion", of.kind()));
    let malformed = || Error::Runtime("a text does not convert".to_owned());
    Ok(match (function, of) {
        (Function::ToInt, Value::Int(_))
        | (Function::ToUint, Value::Uint(_))
        | (Function::ToDouble, Value::Double(_))
        | (Function::ToString, Value::Str(_))
        | (Function::ToBool, Value::Bool(_)) => of.clone(),
        (Function::ToInt, Value::Uint(value)) => {
            Value::Int(i64::try_from(*value).map_err(|_| out_of_range())?)
        }
        (Function::ToInt, Value::Double(value)) => {
            #[expect(clippy::cast_possible_truncation, reason = "the range is tested first")]
            let whole = (value.abs() < 9.2e18).then(|| value.trunc() as i64);
            Value::Int(whole.ok_or_else(out_of_range)?)
        }
        (Function::ToInt, Value::Str(text)) => Value::Int(text.parse().map_err(|_| malformed())?),
        (Function::ToUint, Value::Int(value)) => {
            Value::Uint(u64::try_from(*value).map_err(|_| out_of_range())?)
        }
        (Function::ToUint, Value::Str(text)) if !text.starts_with('+') => {
            Value::Uint(text.parse().map_err(|_| malformed())?)
        }
        #[expect(clippy::cast_precision_loss, reason = "CEL's conversion rounds")]
        (Function::ToDouble, Value::Int(value)) => Value::Double(*value as f64),
        #[expect(clippy::cast_precision_loss, reason = "CEL's conversion rounds")]
        (Function::ToDouble, Value::Uint(value)) => Value::Double(*value as f64),
        (Function::ToString, Value::Int(value)) => Value::Str(value.to_string().into()),
        (Function::ToString, Value::Uint(value)) => Value::Str(value.to_string().into()),
        (Function::ToString, Value::Bool(value)) => Value::Str(value.to_string().into()),
        (Function::ToBool, Value::Str(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Value::Bool(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Value::Bool(false),
            _ => return Err(malformed()),
        },
        (Function::ToUint | Function::ToString, Value::Double(_))
        | (Function::ToDouble | Function::ToUint, Value::Str(_)) => {
            return Err(Error::Unsupported(format!("this conversion from {}", of.kind())));
        }
        _ => return Err(mismatch(function, std::slice::from_ref(of))),
    })
}

fn mismatch(function: Function, arguments: &[Value<'_>]) -> Error {
    let kinds: Vec<_> = arguments.iter().map(Value::kind).collect();
    Error::Runtime(format!("no such overload: {function:?}({})", kinds.join(", ")))
}
