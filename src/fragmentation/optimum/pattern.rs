//! The pattern model: the ways to fill one node, and the programs over them.
//!
//! A pattern of a bin class says how many items of each size share one such bin. Only maximal patterns (no
//! further item fits) are kept; covering the items instead of meeting them exactly makes up for the rest. With
//! x(c, p) bins of class c filled by pattern p the model is
//!
//! ```text
//! minimise  Σ x(c, p)
//! so that   Σ p_i x(c, p) ≥ items_i     for each size i
//!           Σ_p x(c, p)   ≤ bins_c      for each class c          x integer, ≥ 0
//! ```
//!
//! (Gilmore and Gomory 1961, with limited bins of several capacities as in Monaci 2002.) Its linear relaxation
//! is nearly always within one bin of the optimum. [`relaxation`](super::relaxation) bounds it from below and
//! [`integer`](super::integer) solves it.
//!
//! May import: nothing of this crate

use super::load::{Class, Load, Work};

/// How many items of each class of `Load::items` are in one bin.
pub(super) type Pattern = Vec<u32>;

/// More patterns than this are not enumerated; they are generated where the relaxation asks for them.
const MOST_PATTERNS: usize = 1_500;
/// Partial patterns looked at for one capacity before enumeration is given up.
const MOST_VISITS: usize = 200_000;
/// More sizes or capacities than this are not modelled; it also bounds the depth of the recursions.
const MOST_CLASSES: usize = 64;
/// Counts above this leave the range in which doubles and the solver are trusted.
const MOST_OF_A_CLASS: u64 = 10_000_000;
/// More equal items in one bin than this leave it too: coefficients of a row should be within a factor of 10^6.
const MOST_IN_A_BIN: u32 = 100_000;

/// Patterns of each bin class, in the order of `Load::bins`.
pub(super) struct Patterns {
    pub classes: Vec<Vec<Pattern>>,
    /// Whether these are all maximal patterns; otherwise a useful few.
    pub complete: bool,
}

impl Patterns {
    /// All maximal patterns where they are few enough, else one for each size and class to start from.
    /// `None`: too many classes, too large counts or too little effort for this model.
    pub fn new(load: &Load, work: &mut Work) -> Option<Self> {
        let within = |classes: &[Class]| {
            classes.len() <= MOST_CLASSES && classes.iter().all(|class| class.count <= MOST_OF_A_CLASS)
        };
        let largest = load.bins.first().map_or(0, |bin| bin.amount);
        let few_in_a_bin = load.items.iter().all(|&item| most(item, largest) <= MOST_IN_A_BIN);
        if !within(&load.items) || !within(&load.bins) || !few_in_a_bin {
            return None;
        }
        if let Some(classes) = enumerate(load, work) {
            return Some(Self { classes, complete: true });
        }
        let steps = load.items.len().pow(2) * load.bins.len();
        let enough = work.spend(steps as u64);
        enough.then(|| Self::starting(load))
    }

    /// A pattern for each size and class that fit, to start generating from.
    pub fn starting(load: &Load) -> Self {
        Self { classes: starters(load), complete: false }
    }

    /// Steps that one pivot over all patterns costs.
    pub fn pivot(&self, load: &Load) -> u64 {
        let patterns: usize = self.classes.iter().map(Vec::len).sum();
        (patterns * (load.items.len() + load.bins.len())) as u64
    }
}

/// The largest number of items of a class that share a bin with `free` left.
pub(super) fn most(item: Class, free: i64) -> u32 {
    u32::try_from((free / item.amount).unsigned_abs().min(item.count)).unwrap_or(u32::MAX)
}

/// For each class of bins and each size: as many of this size as fit, the rest filled largest first.
fn starters(load: &Load) -> Vec<Vec<Pattern>> {
    let items = &load.items;
    let starter = |first: usize, capacity: i64| -> Pattern {
        let mut pattern = vec![0; items.len()];
        let mut free = capacity;
        for index in std::iter::once(first).chain(0..items.len()) {
            if pattern[index] == 0 {
                pattern[index] = most(items[index], free);
                free -= items[index].amount * i64::from(pattern[index]);
            }
        }
        pattern
    };
    let of_class = |capacity: i64| -> Vec<Pattern> {
        let fitting = (0..items.len()).filter(|&index| items[index].amount <= capacity);
        let mut patterns: Vec<Pattern> = fitting.map(|first| starter(first, capacity)).collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    };
    load.bins.iter().map(|bin| of_class(bin.amount)).collect()
}

/// All maximal patterns, or `None` when there are too many or the effort does not reach.
fn enumerate(load: &Load, work: &mut Work) -> Option<Vec<Vec<Pattern>>> {
    let mut left = MOST_PATTERNS;
    let mut classes = Vec::with_capacity(load.bins.len());
    for bin in &load.bins {
        let mut fill =
            Fill { load, work: &mut *work, left, visits: 0, current: Vec::new(), found: Vec::new() };
        if !fill.descend(bin.amount) {
            return None;
        }
        left = fill.left;
        classes.push(fill.found);
    }
    Some(classes)
}

/// Depth-first enumeration for one capacity, largest size first, many before few.
struct Fill<'a> {
    load: &'a Load,
    work: &'a mut Work,
    left: usize,
    visits: usize,
    current: Pattern,
    found: Vec<Pattern>,
}

impl Fill<'_> {
    /// Extends `current` by the sizes after it into `free`; false when it had to stop.
    fn descend(&mut self, free: i64) -> bool {
        self.visits += 1;
        if self.visits > MOST_VISITS || !self.work.spend(1) {
            return false;
        }
        let items = &self.load.items;
        let Some(&item) = items.get(self.current.len()) else {
            let maximal = items
                .iter()
                .zip(&self.current)
                .all(|(item, &taken)| item.amount > free || u64::from(taken) == item.count);
            if maximal {
                if self.left == 0 || !self.work.spend(items.len() as u64) {
                    return false;
                }
                self.left -= 1;
                self.found.push(self.current.clone());
            }
            return true;
        };
        for taken in (0..=most(item, free)).rev() {
            self.current.push(taken);
            let complete = self.descend(free - item.amount * i64::from(taken));
            self.current.pop();
            if !complete {
                return false;
            }
        }
        true
    }
}
