//! Execution: from a plan to moved pods, so that the process may die after any request and the next one goes on.
//!
//! Pure. [`Execution`] is the state of one run: [`Execution::next`] says which [`Command`] comes next or how long to
//! wait, [`Execution::answered`] takes what came of it. What is known is the run's stored status and the cluster as it
//! is ([`Sight`]); what only this process remembers may be lost without harm. No clock, no client: time is an argument.
//!
//! One command is one request. They are all in [`command`], and a thin writer carries them out.
//!
//! Order of a run: prepare (leases, label, gates, probe), evict node by node, place each replacement, clean up, look at
//! the whole cluster once, end.
//!
//! May import: api, snapshot, filter, fragmentation, plan

pub mod admission;
mod barrier;
mod beside;
mod claim;
mod cleanup;
pub mod command;
mod end;
mod evict;
mod journal;
mod machine;
mod memory;
mod node_choice;
mod placement;
pub mod queue;
mod rights;
pub mod seen;
mod stage;
pub mod strays;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod volcano_tests;
#[cfg(test)]
mod walk_tests;

pub use command::{About, Answer, Command, GroupRef, PodRef, Refusal};
pub use journal::{Orders, begin};
pub use machine::{Execution, Next, RunRef};
pub use rights::Creator;
pub use seen::{Seen, Sight};
