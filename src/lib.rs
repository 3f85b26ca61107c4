//! Frees whole accelerator nodes on a running Kubernetes cluster.
//!
//! The module map, in the order data flows: cluster or file → [`snapshot`] → [`fragmentation`] →
//! `plan` (with [`filter`]) → [`execute`] → verify.
//!
//! Pure modules (no async, no client, no clock, no printing): `snapshot`, `fragmentation`, `filter`,
//! `plan`, `verify`, [`execute`], and [`engine`], which every front calls; [`manifests`] is what gets installed. Edges: [`live`] (API servers), [`controller`] and `cli`. Each module's header has a "May import:" line; `tests/architecture.rs` reads it.

pub mod api;
pub mod cli;
pub mod controller;
pub mod engine;
pub mod execute;
pub mod filter;
pub mod fragmentation;
pub mod live;
pub mod manifests;
pub mod parallel;
pub mod plan;
pub mod snapshot;
pub mod verify;
