//! Equality, order and arithmetic. Numbers compare across their types; arithmetic does not mix them.
//!
//! May import: (nothing of this crate)

use std::cmp::Ordering;

use super::Error;
use super::ast::Operator;
use super::value::{Outcome, Value};

/// Longest string, list or map that may be made.
pub(super) const MAX_SIZE: usize = 1 << 16;

impl<'a> Value<'a> {
    /// `==`. Values of different types are unequal, except that a quantity or a version on the left can only be
    /// compared with its like.
    pub(super) fn equals(&self, other: &Value<'a>) -> Result<bool, Error> {
        Ok(match (self, other) {
            // There is only one device.
            (Self::Null, Self::Null) | (Self::Device(_), Self::Device(_)) => true,
            (Self::Null, _) | (_, Self::Null) => false,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Str(left), Self::Str(right)) => left == right,
            (Self::Quantity(left), Self::Quantity(right)) => left == right,
            (Self::Version(left), Self::Version(right)) => left == right,
            (Self::Optional(left), Self::Optional(right)) => match (left, right) {
                (None, None) => true,
                (Some(left), Some(right)) => left.equals(right)?,
                _ => false,
            },
            (Self::Quantity(_) | Self::Version(_), _) => return Err(no_overload("==", self, other)),
            (Self::List(left), Self::List(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (left, right) in left.iter().zip(right.iter()) {
                    if !left.equals(right)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ if self.kind() == "map" && other.kind() == "map" => self.equal_maps(other)?,
            _ => numeric(self, other) == Numeric::Ordered(Ordering::Equal),
        })
    }

    fn equal_maps(&self, other: &Value<'a>) -> Result<bool, Error> {
        let (own, others) = (self.elements()?, other.elements()?);
        if own.len() != others.len() {
            return Ok(false);
        }
        for key in own.iter() {
            if !other.contains(key)? || !self.index(key)?.equals(&other.index(key)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `element in self`.
    pub(super) fn contains(&self, element: &Value<'a>) -> Result<bool, Error> {
        Ok(self.elements()?.iter().any(|own| own.equals(element) == Ok(true)))
    }

    fn order(&self, operator: Operator, other: &Value<'a>) -> Result<Ordering, Error> {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => Ok(left.cmp(right)),
            (Self::Str(left), Self::Str(right)) => Ok(left.cmp(right)),
            _ => match numeric(self, other) {
                Numeric::Ordered(order) => Ok(order),
                Numeric::Unordered => Err(Error::Runtime("NaN values cannot be ordered".to_owned())),
                Numeric::NoNumbers => Err(no_overload(symbol(operator), self, other)),
            },
        }
    }
}

/// How two values compare as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numeric {
    Ordered(Ordering),
    /// One is a NaN.
    Unordered,
    NoNumbers,
}

impl From<Option<Ordering>> for Numeric {
    fn from(order: Option<Ordering>) -> Self {
        order.map_or(Self::Unordered, Self::Ordered)
    }
}

/// The order of two numbers of any types.
fn numeric(left: &Value<'_>, right: &Value<'_>) -> Numeric {
    let integer = |value: &Value<'_>| match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::Uint(value) => Some(i128::from(*value)),
        _ => None,
    };
    match (integer(left), integer(right), left, right) {
        (Some(left), Some(right), ..) => Numeric::Ordered(left.cmp(&right)),
        (None, None, Value::Double(left), Value::Double(right)) => left.partial_cmp(right).into(),
        (Some(left), None, _, Value::Double(right)) => order_mixed(left, *right).into(),
        (None, Some(right), Value::Double(left), _) => {
            order_mixed(right, *left).map(Ordering::reverse).into()
        }
        _ => Numeric::NoNumbers,
    }
}

/// An integer of at most 64 bits against a double, without rounding the integer; none for a NaN.
fn order_mixed(integer: i128, double: f64) -> Option<Ordering> {
    const BEYOND: f64 = 1e20;
    if double.is_nan() {
        None
    } else if double >= BEYOND {
        Some(Ordering::Less)
    } else if double <= -BEYOND {
        Some(Ordering::Greater)
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "bounded just above")]
        let whole = double.trunc() as i128;
        Some(integer.cmp(&whole).then(0.0_f64.partial_cmp(&double.fract())?))
    }
}

/// Applies an operator to two values.
pub(super) fn apply<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    let order = || left.order(operator, right);
    Ok(Value::Bool(match operator {
        Operator::Equal => left.equals(right)?,
        Operator::NotEqual => left.equals(right) != Ok(true),
        Operator::Less => order()?.is_lt(),
        Operator::LessEqual => order()?.is_le(),
        Operator::Greater => order()?.is_gt(),
        Operator::GreaterEqual => order()?.is_ge(),
        Operator::In => right.contains(left)?,
        Operator::Add | Operator::Sub | Operator::Mul | Operator::Div | Operator::Rem => {
            return arithmetic(operator, left, right);
        }
    }))
}

fn arithmetic<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    let overflow = || Error::Runtime(format!("integer overflow or division by zero in {}", symbol(operator)));
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => match operator {
            Operator::Add => left.checked_add(*right),
            Operator::Sub => left.checked_sub(*right),
            Operator::Mul => left.checked_mul(*right),
            Operator::Div => left.checked_div(*right),
            _ => left.checked_rem(*right),
        }
        .map(Value::Int)
        .ok_or_else(overflow),
        (Value::Uint(left), Value::Uint(right)) => match operator {
            Operator::Add => left.checked_add(*right),
            Operator::Sub => left.checked_sub(*right),
            Operator::Mul => left.checked_mul(*right),
            Operator::Div => left.checked_div(*right),
            _ => left.checked_rem(*right),
        }
        .map(Value::Uint)
        .ok_or_else(overflow),
        (Value::Double(left), Value::Double(right)) if operator != Operator::Rem => {
            Ok(Value::Double(match operator {
                Operator::Add => left + right,
                Operator::Sub => left - right,
                Operator::Mul => left * right,
                _ => left / right,
            }))
        }
        (Value::Str(left), Value::Str(right)) if operator == Operator::Add => {
            limit(left.len() + right.len())?;
            Ok(Value::Str([&**left, &**right].concat().into()))
        }
        (Value::List(left), Value::List(right)) if operator == Operator::Add => {
            limit(left.len() + right.len())?;
            Ok(Value::list(left.iter().chain(right.iter()).cloned().collect()))
        }
        _ => Err(no_overload(symbol(operator), left, right)),
    }
}

/// Refuses to make something larger than [`MAX_SIZE`].
pub(super) fn limit(size: usize) -> Result<(), Error> {
    if size > MAX_SIZE { Err(Error::Unsupported("a value becomes too large".to_owned())) } else { Ok(()) }
}

fn no_overload(what: &str, left: &Value<'_>, right: &Value<'_>) -> Error {
    Error::Runtime(format!("no such overload: {} {what} {}", left.kind(), right.kind()))
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Sub => "-",
        Operator::Mul => "*",
        Operator::Div => "/",
        Operator::Rem => "%",
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::Less => "<",
        Operator::LessEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterEqual => ">=",
        Operator::In => "in",
    }
}
