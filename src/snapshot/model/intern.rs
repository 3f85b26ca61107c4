//! Interned strings and other values.
//!
//! May import: snapshot

use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::ids::Sym;

/// All strings of a snapshot, each stored once.
#[derive(Clone, Debug)]
pub struct Symbols {
    texts: Vec<Box<str>>,
    index: FxHashMap<Box<str>, Sym>,
}

impl Default for Symbols {
    fn default() -> Self {
        let mut symbols = Self { texts: Vec::new(), index: FxHashMap::default() };
        symbols.intern("");
        symbols
    }
}

impl Symbols {
    /// The symbol of `text`, made when new.
    pub fn intern(&mut self, text: &str) -> Sym {
        if let Some(&sym) = self.index.get(text) {
            return sym;
        }
        let sym = Sym::new(self.texts.len());
        self.texts.push(text.into());
        self.index.insert(text.into(), sym);
        sym
    }

    /// The symbol of `text`, if the snapshot contains it anywhere.
    pub fn find(&self, text: &str) -> Option<Sym> {
        self.index.get(text).copied()
    }

    /// The text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        &self.texts[sym.at()]
    }
}

/// Distinct values in order of first appearance.
#[derive(Clone, Debug)]
pub struct Distinct<T> {
    values: Vec<T>,
    /// Hash of a value → positions with that hash.
    index: FxHashMap<u64, Vec<u32>>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { values: Vec::new(), index: FxHashMap::default() }
    }
}

impl<T: Hash + Eq> Distinct<T> {
    /// The position of `value`, added when new.
    ///
    /// # Panics
    /// Beyond 2^32 values, which no cluster has.
    pub fn intern(&mut self, value: T) -> usize {
        let bucket = self.index.entry(FxBuildHasher.hash_one(&value)).or_default();
        for &at in bucket.iter() {
            if self.values[at as usize] == value {
                return at as usize;
            }
        }
        let at = self.values.len();
        bucket.push(u32::try_from(at).expect("fewer than 2^32 values"));
        self.values.push(value);
        at
    }

    /// The values in order of first appearance.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The values so far.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}
