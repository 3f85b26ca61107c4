//! Which pods may move, what that costs, which nodes to empty, and the report of why the rest stays.
//!
//! [`make`] is the one entry: snapshot and request in, plan and report out. The way inside: [`problem`] looks
//! everything up, [`pending`] gives waiting pods their room and [`leaving`] those that replace terminating ones, [`drain`]
//! or [`search`] chooses nodes and receivers, [`takers`] keeps it off room that waiting gangs would take, [`outcome`] says what came
//! of it, [`status`] says it in the words of the API.
//!
//! May import: snapshot, filter, fragmentation, api, parallel

pub mod benefit;
pub mod cascade;
pub mod disruption;
pub mod drain;
pub mod explain;
pub mod fate;
pub mod fit;
pub mod kept;
pub mod leaving;
mod make;
pub mod movability;
pub mod outcome;
pub mod pdb;
pub mod pending;
pub mod problem;
pub mod reason;
pub mod request;
pub mod scope;
pub mod search;
mod setup;
pub mod status;
pub mod takers;
#[cfg(test)]
pub(crate) mod testing;
pub mod types;
#[cfg(test)]
mod workload_cases;

pub use make::{make, make_beside};
pub use outcome::{Planned, Report};
pub use request::Request;
pub use types::{Dimensions, Move, Plan, Reserved};
