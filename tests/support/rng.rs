//! A small generator of pseudo-random numbers (`SplitMix64`), the same on every machine and in every release.
//!
//! One generator per purpose: a draw more for the nodes then does not change the pods.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of `seed` for one purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        // FNV-1a of the purpose, so that neighbouring seeds of different purposes do not meet.
        let hash = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let mut rng = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash);
        rng.next();
        rng
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // The bias is below 2^-40 for every limit in use.
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `per_cent` of the cases.
    pub fn chance(&mut self, per_cent: u32) -> bool {
        self.below(100) < per_cent as usize
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
