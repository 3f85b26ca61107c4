//! Interned strings and other values.
//!
//! May import: snapshot

use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::ids::Sym;

/// All strings of a snapshot, each stored once, in one piece of memory.
///
/// Most of the time of reading goes into looking strings up, and there into cache misses. The index therefore holds
/// a part of each hash beside the symbol: a look-up touches one slot and, when it hits, one text.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// The texts, one after another.
    texts: String,
    /// Where each text starts and ends: both in one cache line.
    spans: Vec<(u32, u32)>,
    /// Open addressing; the length is a power of two and at most three quarters are used.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    sym: Option<Sym>,
}

const FREE: Slot = Slot { hash: 0, sym: None };

impl Default for Symbols {
    fn default() -> Self {
        let mut symbols = Self { texts: String::new(), spans: Vec::new(), slots: vec![FREE; 1 << 10] };
        symbols.add("", symbols.free_slot(hash("")), hash(""));
        symbols
    }
}

impl Symbols {
    /// The symbol of `text`, made when new.
    pub fn intern(&mut self, text: &str) -> Sym {
        if text.is_empty() {
            return Sym::EMPTY;
        }
        let hash = hash(text);
        match self.look_up(text, hash) {
            Ok(sym) => sym,
            Err(slot) => self.add(text, slot, hash),
        }
    }

    /// The symbol of `text`, if the snapshot contains it anywhere.
    pub fn find(&self, text: &str) -> Option<Sym> {
        self.look_up(text, hash(text)).ok()
    }

    /// The text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        let (start, end) = self.spans[sym.at()];
        &self.texts[start as usize..end as usize]
    }

    /// A key to sort by text with few looks at the text itself: its first eight bytes as a number come first.
    pub fn sort_key(&self, sym: Sym) -> (u64, &str) {
        let text = self.text(sym);
        let mut start = [0; 8];
        let len = text.len().min(8);
        start[..len].copy_from_slice(&text.as_bytes()[..len]);
        (u64::from_be_bytes(start), text)
    }

    /// The symbol, or the free slot where it belongs.
    fn look_up(&self, text: &str, hash: u32) -> Result<Sym, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            let Some(sym) = slot.sym else { return Err(at) };
            if slot.hash == hash && self.text(sym) == text {
                return Ok(sym);
            }
            at = (at + 1) & mask;
        }
    }

    fn free_slot(&self, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].sym.is_some() {
            at = (at + 1) & mask;
        }
        at
    }

    fn add(&mut self, text: &str, slot: usize, hash: u32) -> Sym {
        let sym = Sym::new(self.spans.len());
        let start = end_of(&self.texts);
        self.texts.push_str(text);
        self.spans.push((start, end_of(&self.texts)));
        self.slots[slot] = Slot { hash, sym: Some(sym) };
        if self.spans.len() * 4 > self.slots.len() * 3 {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![FREE; old.len() * 2];
            for used in old.into_iter().filter(|slot| slot.sym.is_some()) {
                let at = self.free_slot(used.hash);
                self.slots[at] = used;
            }
        }
        sym
    }
}

/// Length of all texts together: at 10 million pods with 200 bytes of text each, half of what fits.
fn end_of(texts: &str) -> u32 {
    u32::try_from(texts.len()).expect("texts of a cluster fit into 4 GiB")
}

/// The lower half of the hash, which is mixed best.
fn hash(text: &str) -> u32 {
    let [a, b, c, d, ..] = FxBuildHasher.hash_one(text).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_stable_while_the_index_grows() {
        let mut symbols = Symbols::default();
        let texts: Vec<String> = (0..5_000).map(|n| format!("text-{n}")).collect();
        let syms: Vec<Sym> = texts.iter().map(|t| symbols.intern(t)).collect();
        for (text, &sym) in texts.iter().zip(&syms) {
            assert_eq!(symbols.intern(text), sym);
            assert_eq!((symbols.text(sym), symbols.find(text)), (&**text, Some(sym)));
        }
        assert_eq!(
            (symbols.intern(""), symbols.find(""), symbols.text(Sym::EMPTY)),
            (Sym::EMPTY, Some(Sym::EMPTY), "")
        );
        assert_eq!(symbols.find("text"), None);
    }

    #[test]
    fn sort_keys_sort_like_texts() {
        let mut symbols = Symbols::default();
        let texts = ["", "a", "a\u{0}", "ab", "abcdefgh", "abcdefgh\u{0}", "abcdefghi", "b", "é"];
        let syms: Vec<Sym> = texts.iter().map(|t| symbols.intern(t)).collect();
        for (a, x) in texts.iter().zip(&syms) {
            for (b, y) in texts.iter().zip(&syms) {
                assert_eq!(symbols.sort_key(*x).cmp(&symbols.sort_key(*y)), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
