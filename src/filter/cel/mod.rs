//! Evaluates the CEL expressions of device selectors: `DeviceClass.spec.selectors[].cel` and those of requests.
//!
//! The rules are those of Kubernetes' device selectors: one variable `device` (driver, attributes, capacity,
//! allowMultipleAllocations), the domain of an attribute without one is the driver's, an unknown domain is an empty
//! map, a missing attribute is a runtime error. kube-scheduler ends the whole scheduling cycle of the pod on such an
//! error, so callers report it as unknown, never as "does not match".
//!
//! Why not a crate: the published CEL interpreters bring a parser runtime and a time library of some 45 crates for a
//! language that device selectors use a corner of. Everything outside the corner (time, messages, optional elements of
//! lists and maps, the formatting and network libraries) is [`Error::Unsupported`]: the answer is then unknown, never wrong.
//! Types are checked while evaluating only: the API server has checked stored expressions already.
//!
//! Invariants: no panic and no unbounded work for any text and any device (nesting, steps and sizes are limited);
//! equal input gives equal results. Units: quantities are exact, in billionths (see [`Quantity`]).
//!
//! May import: (nothing of this crate)

mod ast;
mod device;
mod eval;
mod functions;
mod lexer;
mod names;
mod operators;
mod parser;
mod pattern;
mod quantity;
#[cfg(test)]
mod tests;
mod value;
mod version;

pub use device::{Attribute, Device};
pub use quantity::{Quantity, QuantityError};
pub use version::Version;

/// Why an expression gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is no expression of the language, or names something that is not there.
    #[error("CEL compile error: {0}")]
    Compile(String),
    /// Evaluating failed for this device, for instance because an attribute is missing.
    #[error("CEL runtime error: {0}")]
    Runtime(String),
    /// The language has it, this evaluator does not, or the expression is too large for it.
    #[error("CEL not supported: {0}")]
    Unsupported(String),
}

/// A compiled selector. Compile once, evaluate for many devices.
#[derive(Debug)]
pub struct Program {
    root: ast::Expr,
    slots: usize,
}

impl Program {
    /// Parses an expression; the errors are `Compile` and `Unsupported`.
    pub fn compile(text: &str) -> Result<Self, Error> {
        parser::parse(text).map(|(root, slots)| Self { root, slots })
    }

    /// Whether the device is selected; the errors are `Runtime` and `Unsupported`.
    pub fn matches(&self, device: &Device) -> Result<bool, Error> {
        if let Some(reason) = device.invalid() {
            return Err(Error::Runtime(reason.to_owned()));
        }
        eval::evaluate(&self.root, self.slots, device)
    }
}
