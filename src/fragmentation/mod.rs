//! The fragmentation rate, the fewest nodes that could hold the load, hole sizes, the largest job that fits.
//!
//! The mathematics (`optimum`, `holes`) knows no cluster; `load` takes a resource out of the model, `rate` and `pools`
//! count, `report` fills in the `document` that everything shown is read from.
//!
//! May import: snapshot, api

pub mod document;
pub mod holes;
pub mod load;
pub mod optimum;
pub mod pools;
pub mod rate;
pub mod report;
#[cfg(test)]
mod tests;

pub use document::FragmentationReport;
pub use load::{Load, Relocation};
pub use rate::Rate;
pub use report::{Movability, ReportOptions, resources_in_use};
