//! The tree the parser builds: names are resolved, macros expanded, literal patterns compiled.
//!
//! May import: (nothing of this crate)

use super::pattern::Pattern;

/// A constant of the text.
#[derive(Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Str(Box<str>),
}

/// Operators of two operands that evaluate both; `&&`, `||` and `?:` are nodes of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
}

/// Macros over the elements of a list or the keys of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

/// Functions; a method's target is its first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    ToInt,
    ToUint,
    ToDouble,
    ToString,
    ToBool,
    ToDyn,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
    LowerAscii,
    UpperAscii,
    Trim,
    Split,
    Replace,
    Quantity,
    IsQuantity,
    Semver,
    IsSemver,
    CompareTo,
    IsGreaterThan,
    IsLessThan,
    Add,
    Sub,
    Sign,
    AsInteger,
    IsInteger,
    Major,
    Minor,
    Patch,
    Includes,
    OptionalNone,
    OptionalOf,
    HasValue,
    OptionalValue,
}

/// One node. Locals live in slots; no two binders of a program share one.
#[derive(Debug)]
pub(super) enum Expr {
    Literal(Literal),
    Device,
    Local(usize),
    Select {
        of: Box<Expr>,
        field: Box<str>,
    },
    Has {
        of: Box<Expr>,
        field: Box<str>,
    },
    Index {
        of: Box<Expr>,
        key: Box<Expr>,
    },
    /// `of.?field` and `of[?key]`.
    Maybe {
        of: Box<Expr>,
        key: Box<Expr>,
    },
    /// `of.orValue(otherwise)`; with `optional`, `of.or(otherwise)`.
    OrElse {
        of: Box<Expr>,
        otherwise: Box<Expr>,
        optional: bool,
    },
    /// `of.optMap(slot, body)`; with `flat`, `of.optFlatMap(slot, body)`.
    OptMap {
        slot: usize,
        of: Box<Expr>,
        body: Box<Expr>,
        flat: bool,
    },
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary {
        operator: Operator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Conditional {
        test: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Call {
        function: Function,
        arguments: Vec<Expr>,
    },
    Matches {
        text: Box<Expr>,
        pattern: Pattern,
    },
    Fold {
        fold: Fold,
        slot: usize,
        range: Box<Expr>,
        keep: Option<Box<Expr>>,
        body: Box<Expr>,
    },
    Bind {
        slot: usize,
        value: Box<Expr>,
        body: Box<Expr>,
    },
}
