//! What a command line means: typed arguments become plain values with all defaults filled in.
//!
//! The engine is called with these and never sees clap. A run's wishes become a `RepackRunSpec`, the same value that a
//! file or a policy holds; the planner's request is made from that spec and [`Movability`] in one place, for all
//! fronts alike.
//!
//! May import: cli, api

mod movability;
mod plan;
mod view;

pub use movability::{Movability, SchedulerRules};
pub use plan::PlanOptions;
pub use view::{Glyphs, View};
