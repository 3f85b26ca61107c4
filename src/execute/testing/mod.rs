//! A cluster in memory for the tests of execution: objects, the requests of [`Command`](super::Command) with the answers
//! of an API server, and controllers and schedulers that act as time passes. Time is virtual.
//!
//! May import: api, snapshot, filter, plan, execute

mod actors;
mod drive;
mod requests;
mod world;

pub(super) use drive::{Fault, check_clean, drive, fresh};
pub(super) use world::{CARDS, Trouble, World};
