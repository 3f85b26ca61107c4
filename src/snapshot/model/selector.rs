//! Label sets, label selectors and node selectors over interned strings.
//!
//! Semantics: apimachinery `labels.Selector` and component-helpers `nodeaffinity` (rulebook 1.2).
//!
//! May import: snapshot

use super::ids::Sym;
use super::intern::Symbols;

/// Labels, sorted by symbol, one value per key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels(Box<[(Sym, Sym)]>);

impl Labels {
    /// Makes a label set; the last value of a repeated key wins.
    pub fn new(mut pairs: Vec<(Sym, Sym)>) -> Self {
        pairs.sort_by_key(|&(key, _)| key);
        pairs.reverse();
        pairs.dedup_by_key(|&mut (key, _)| key);
        pairs.reverse();
        Self(pairs.into_boxed_slice())
    }

    /// The value under `key`.
    pub fn get(&self, key: Sym) -> Option<Sym> {
        self.0.binary_search_by_key(&key, |&(k, _)| k).ok().map(|at| self.0[at].1)
    }

    /// All pairs, in no meaningful order.
    pub fn pairs(&self) -> &[(Sym, Sym)] {
        &self.0
    }
}

/// True for texts that the value of a label may be: at most 63 letters, digits, `-`, `_` and `.`, beginning and ending
/// with a letter or digit; or none at all.
pub fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && bytes.first().is_none_or(u8::is_ascii_alphanumeric)
        && bytes.last().is_none_or(u8::is_ascii_alphanumeric)
}

/// What a requirement asks of the value under its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// One of the values.
    In,
    /// None of the values, or no such label.
    NotIn,
    /// Any value.
    Exists,
    /// No such label.
    DoesNotExist,
    /// An integer greater than the single value.
    Gt,
    /// An integer less than the single value.
    Lt,
    /// An operator that does not exist: an error where it is evaluated.
    Invalid,
}

/// One requirement on a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// Label key.
    pub key: Sym,
    /// Operator.
    pub op: Op,
    /// Values of the operator.
    pub values: Box<[Sym]>,
}

impl Requirement {
    /// True when `labels` meet the requirement. `Gt` and `Lt` compare 64-bit integers and need the label.
    pub fn matches(&self, labels: &Labels, symbols: &Symbols) -> bool {
        let value = labels.get(self.key);
        match self.op {
            Op::In => value.is_some_and(|v| self.values.contains(&v)),
            Op::NotIn => value.is_none_or(|v| !self.values.contains(&v)),
            Op::Exists => value.is_some(),
            Op::DoesNotExist => value.is_none(),
            Op::Gt | Op::Lt => {
                let number = |sym| symbols.text(sym).parse::<i64>().ok();
                let (Some(have), [limit]) = (value.and_then(number), &*self.values) else { return false };
                let Some(limit) = number(*limit) else { return false };
                if self.op == Op::Gt { have > limit } else { have < limit }
            }
            Op::Invalid => false,
        }
    }
}

/// A label selector: all requirements hold. Empty selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector(pub Box<[Requirement]>);

impl Selector {
    /// True when `labels` meet every requirement.
    pub fn matches(&self, labels: &Labels, symbols: &Symbols) -> bool {
        self.0.iter().all(|r| r.matches(labels, symbols))
    }

    /// True for the selector that selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One alternative of a node selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeTerm {
    /// Requirements on labels.
    pub labels: Box<[Requirement]>,
    /// Requirements on `metadata.name`; the key is the field path.
    pub fields: Box<[Requirement]>,
    /// A requirement that can not be parsed (rulebook 1.2): the term matches nothing.
    pub broken: bool,
}

impl NodeTerm {
    /// True when the term matches a node. An empty term matches nothing. Without a name the fields are not asked.
    pub fn matches(&self, name: Option<Sym>, labels: &Labels, symbols: &Symbols) -> bool {
        if self.broken || (self.labels.is_empty() && self.fields.is_empty()) {
            return false;
        }
        self.labels.iter().all(|r| r.matches(labels, symbols))
            && name.is_none_or(|name| {
                self.fields.iter().all(|r| match r.op {
                    Op::In => r.values.contains(&name),
                    Op::NotIn => !r.values.contains(&name),
                    _ => false,
                })
            })
    }
}

/// A node selector: one of the terms matches. Without terms nothing matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelector(pub Box<[NodeTerm]>);

impl NodeSelector {
    /// True when some term matches the node; `name` as for [`NodeTerm::matches`].
    pub fn matches(&self, name: Option<Sym>, labels: &Labels, symbols: &Symbols) -> bool {
        self.0.iter().any(|term| term.matches(name, labels, symbols))
    }
}
