//! View types: the fields of API objects that planning needs, borrowed from the input.
//!
//! Full API types cost tens of kilobytes per pod; a view is read, turned into the model and dropped.
//!
//! May import: snapshot

pub mod basic;
pub mod cluster;
pub mod dra;
pub mod object;
pub mod pod;
pub mod storage;
pub mod workload;
