//! Which pods may move, what that costs, which nodes to empty, and the independent check of the result.
//!
//! May import: snapshot, filter, fragmentation, api

pub mod disruption;
pub mod request;
#[cfg(test)]
pub(crate) mod testing;
pub mod types;

pub use request::Request;
pub use types::{Dimensions, Move, Plan};
