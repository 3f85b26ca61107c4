//! The fragmentation rate, the fewest nodes that could hold the load, hole sizes, the largest job that fits.
//!
//! May import: snapshot

pub mod holes;
pub mod optimum;
