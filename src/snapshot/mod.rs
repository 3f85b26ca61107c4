//! Reads a cluster or files into the dense, immutable model that everything else works on.
//!
//! The way of an object: bytes → [`read`] → [`view`] → [`build`] → [`model`]. [`write`] makes snapshot files, `anonymize` takes names out of them. Pure: readers are passed in, nothing
//! opens a file.
//!
//! May import: (nothing of this crate)

mod anonymize;
pub mod build;
pub mod classes;
pub mod lacking;
pub mod model;
pub mod names;
pub mod quantity;
pub mod read;
pub mod request;
pub mod view;
pub mod write;

pub use build::{BuildOptions, Builder};
pub use model::Snapshot;
