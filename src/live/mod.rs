//! The edge to API servers: connects, and reads a cluster as the same bytes that files are made of.
//!
//! [`connect`] makes a client of kubeconfig and flags, `served` asks which kinds there are, [`read`] lists them page by
//! page, [`cache`] follows them by watches. Pages stay text: whoever takes them gives them to `snapshot::read`, so a cluster and a file go the same way. [`runs`] creates and follows `RepackRun`s.
//!
//! May import: snapshot, api

pub mod cache;
pub mod checks;
pub mod connect;
mod error;
mod pages;
mod proxy;
pub mod read;
pub mod runs;
pub mod served;

use std::future::Future;

pub use connect::{Connected, Connection};
pub use error::LiveError;
pub use kube::Client;

/// Runs the work of one command to its end, on this thread.
///
/// # Errors
/// Those of the work; also when the machine gives no event loop.
pub fn block_on<T>(work: impl Future<Output = Result<T, LiveError>>) -> Result<T, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|fault| LiveError::Config(format!("cannot start an event loop: {fault}")))?;
    runtime.block_on(work)
}
