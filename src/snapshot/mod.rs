//! Reads a cluster or files into the dense, immutable model that everything else works on.
//!
//! May import: (nothing of this crate)
