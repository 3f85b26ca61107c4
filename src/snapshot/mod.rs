//! Reads a cluster or files into the dense, immutable model that everything else works on.
//!
//! [`view`] holds what is read, [`model`] what is kept. Pure: readers are passed in, nothing opens a file.
//!
//! May import: (nothing of this crate)

pub mod names;
pub mod quantity;
pub mod read;
pub mod view;
