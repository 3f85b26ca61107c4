//! Walks the tree. `&&`, `||`, `all` and `exists` ignore errors of the operands that do not decide.
//!
//! May import: (nothing of this crate)

use std::rc::Rc;

use super::Error;
use super::ast::{Expr, Fold};
use super::device::Device;
use super::functions;
use super::operators::{self, limit};
use super::value::{Outcome, Value};

/// Nodes visited per evaluation. Kubernetes limits the cost of a selector to the same order.
const MAX_STEPS: usize = 1_000_000;
/// Bytes or elements made per evaluation.
const MAX_GROWTH: usize = 1 << 22;

/// A local: nothing yet, a value that is computed on first use (`cel.bind`), or a value.
#[derive(Clone)]
enum Slot<'a> {
    Empty,
    Pending(&'a Expr),
    Known(Outcome<'a>),
}

struct Evaluator<'a> {
    device: &'a Device,
    slots: Vec<Slot<'a>>,
    steps: usize,
    growth: usize,
}

/// Evaluates a compiled expression for one device; the result has to be a bool.
pub(super) fn evaluate(root: &Expr, slots: usize, device: &Device) -> Result<bool, Error> {
    let mut evaluator = Evaluator { device, slots: vec![Slot::Empty; slots], steps: 0, growth: 0 };
    match evaluator.eval(root)? {
        Value::Bool(result) => Ok(result),
        other => Err(Error::Runtime(format!("the result is {}, not bool", other.kind()))),
    }
}

impl<'a> Evaluator<'a> {
    fn eval(&mut self, expr: &'a Expr) -> Outcome<'a> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Error::Unsupported("the expression takes too many steps".to_owned()));
        }
        match expr {
            Expr::Literal(literal) => Ok(Value::literal(literal)),
            Expr::Device => Ok(Value::Device(self.device)),
            Expr::Local(slot) => self.local(*slot),
            Expr::Select { of, field } => self.eval(of)?.select(field),
            Expr::Has { of, field } => Ok(Value::Bool(self.eval(of)?.has(field)?)),
            Expr::Index { of, key } => {
                let of = self.eval(of)?;
                of.index(&self.eval(key)?)
            }
            Expr::Maybe { of, key } => {
                let of = self.eval(of)?;
                of.maybe(&self.eval(key)?)
            }
            Expr::OrElse { of, otherwise, optional } => match self.optional(of, "or")? {
                // What stands for a missing value is looked at only where the value is missing.
                None => self.eval(otherwise),
                Some(value) if *optional => Ok(Value::Optional(Some(value))),
                Some(value) => Ok((*value).clone()),
            },
            Expr::OptMap { slot, of, body, flat } => match self.optional(of, "optMap")? {
                None => Ok(Value::Optional(None)),
                Some(value) => {
                    self.slots[*slot] = Slot::Known(Ok((*value).clone()));
                    let value = self.eval(body)?;
                    if *flat { Ok(value) } else { self.grow(Value::optional(Some(value))) }
                }
            },
            Expr::Not(of) => Ok(Value::Bool(!self.bool(of)?)),
            Expr::Negate(of) => match self.eval(of)? {
                Value::Int(value) => value.checked_neg().map(Value::Int).ok_or_else(|| overflow("-")),
                Value::Double(value) => Ok(Value::Double(-value)),
                other => Err(Error::Runtime(format!("no such overload: -{}", other.kind()))),
            },
            Expr::Binary { operator, left, right } => {
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                self.steps += left.weight() + right.weight();
                let result = operators::apply(*operator, &left, &right)?;
                self.grow(result)
            }
            Expr::And(operands) => self.decide(operands, false),
            Expr::Or(operands) => self.decide(operands, true),
            Expr::Conditional { test, then, otherwise } => {
                if self.bool(test)? {
                    self.eval(then)
                } else {
                    self.eval(otherwise)
                }
            }
            Expr::List(elements) => {
                let values = elements.iter().map(|element| self.eval(element)).collect::<Result<_, _>>()?;
                self.grow(Value::list(values))
            }
            Expr::Map(entries) => self.map(entries),
            Expr::Call { function, arguments } => {
                let values = arguments.iter().map(|a| self.eval(a)).collect::<Result<Vec<_>, _>>()?;
                self.steps += values.iter().map(Value::weight).sum::<usize>();
                let result = functions::call(*function, &values)?;
                self.grow(result)
            }
            Expr::Matches { text, pattern } => match self.eval(text)? {
                Value::Str(text) => Ok(Value::Bool(pattern.is_match(&text)?)),
                other => Err(Error::Runtime(format!("no such overload: {}.matches", other.kind()))),
            },
            Expr::Fold { fold, slot, range, keep, body } => {
                let elements = self.eval(range)?.elements()?;
                match fold {
                    Fold::All => self.fold_bool(&elements, *slot, body, false),
                    Fold::Exists => self.fold_bool(&elements, *slot, body, true),
                    Fold::ExistsOne => {
                        let mut found = 0_usize;
                        for element in elements.iter() {
                            self.slots[*slot] = Slot::Known(Ok(element.clone()));
                            found += usize::from(self.bool(body)?);
                        }
                        Ok(Value::Bool(found == 1))
                    }
                    Fold::Filter | Fold::Map => self.collect(*fold, &elements, *slot, keep.as_deref(), body),
                }
            }
            Expr::Bind { slot, value, body } => {
                self.slots[*slot] = Slot::Pending(value);
                self.eval(body)
            }
        }
    }

    fn bool(&mut self, expr: &'a Expr) -> Result<bool, Error> {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(value),
            other => {
                Err(Error::Runtime(format!("no such overload: {} where a bool is needed", other.kind())))
            }
        }
    }

    fn optional(&mut self, expr: &'a Expr, what: &str) -> Result<Option<Rc<Value<'a>>>, Error> {
        match self.eval(expr)? {
            Value::Optional(value) => Ok(value),
            other => Err(Error::Runtime(format!("no such overload: {}.{what}", other.kind()))),
        }
    }

    fn local(&mut self, slot: usize) -> Outcome<'a> {
        match self.slots.get(slot).cloned() {
            Some(Slot::Known(outcome)) => outcome,
            Some(Slot::Pending(expr)) => {
                let outcome = self.eval(expr);
                self.slots[slot] = Slot::Known(outcome.clone());
                outcome
            }
            Some(Slot::Empty) | None => Err(Error::Runtime("a variable has no value".to_owned())),
        }
    }

    /// `&&` (decided by false) and `||` (decided by true): an operand that decides wins over errors on either side.
    fn decide(&mut self, operands: &'a [Expr], decisive: bool) -> Outcome<'a> {
        let mut failure = None;
        for operand in operands {
            match self.bool(operand) {
                Ok(value) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn fold_bool(
        &mut self,
        elements: &[Value<'a>],
        slot: usize,
        body: &'a Expr,
        decisive: bool,
    ) -> Outcome<'a> {
        let mut failure = None;
        for element in elements {
            self.slots[slot] = Slot::Known(Ok(element.clone()));
            match self.bool(body) {
                Ok(value) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn collect(
        &mut self,
        fold: Fold,
        elements: &[Value<'a>],
        slot: usize,
        keep: Option<&'a Expr>,
        body: &'a Expr,
    ) -> Outcome<'a> {
        let mut collected = Vec::new();
        for element in elements {
            self.slots[slot] = Slot::Known(Ok(element.clone()));
            if fold == Fold::Filter {
                if self.bool(body)? {
                    collected.push(element.clone());
                }
            } else if keep.map_or(Ok(true), |keep| self.bool(keep))? {
                collected.push(self.eval(body)?);
            }
        }
        self.grow(Value::list(collected))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr)]) -> Outcome<'a> {
        let mut map: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.eval(key)?;
            if !matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Str(_)) {
                return Err(Error::Runtime(format!("{} cannot be a key", key.kind())));
            }
            if map.iter().any(|(own, _)| own.equals(&key) == Ok(true)) {
                return Err(Error::Runtime("a key is there twice".to_owned()));
            }
            map.push((key, self.eval(value)?));
        }
        self.grow(Value::map(map))
    }

    /// Counts what was made, so that no expression can fill the memory.
    fn grow(&mut self, value: Value<'a>) -> Outcome<'a> {
        let size = value.weight();
        limit(size)?;
        self.growth += size;
        if self.growth > MAX_GROWTH {
            return Err(Error::Unsupported("the expression makes too much".to_owned()));
        }
        Ok(value)
    }
}

fn overflow(what: &str) -> Error {
    Error::Runtime(format!("integer overflow in {what}"))
}
