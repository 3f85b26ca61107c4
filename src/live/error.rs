//! What can go wrong between here and an API server, as sentences that name the verb and the resource.
//!
//! May import: live, snapshot

use kube::core::Status;
use thiserror::Error;

use crate::snapshot::read::InputError;

/// A failed exchange with an API server.
#[derive(Debug, Error)]
pub enum LiveError {
    /// No connection can be made of kubeconfig and flags.
    #[error("{0}")]
    Config(String),
    /// The server could not be asked, or its answer is none.
    #[error("cannot {verb} {resource} at {server}: {fault}")]
    Connection {
        /// What was attempted.
        verb: &'static str,
        /// On which resource, as `kubectl` names it.
        resource: String,
        /// The server's address.
        server: String,
        /// What happened.
        fault: String,
    },
    /// The server refused.
    #[error("cannot {verb} {resource}: {}", .status.message)]
    Refused {
        /// What was attempted.
        verb: &'static str,
        /// On which resource.
        resource: String,
        /// The answer.
        status: Box<Status>,
    },
    /// The server took longer than `--request-timeout`.
    #[error("cannot {verb} {resource}: the server did not answer within {seconds} s (--request-timeout)")]
    TimedOut {
        /// What was attempted.
        verb: &'static str,
        /// On which resource.
        resource: String,
        /// The limit.
        seconds: u64,
    },
    /// An object of the answer can not be used.
    #[error(transparent)]
    Object(#[from] InputError),
}

impl LiveError {
    /// The HTTP status of a refusal.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.code),
            _ => None,
        }
    }

    /// The user lacks a right, or the server does not know who asks.
    pub fn is_missing_right(&self) -> bool {
        matches!(self.code(), Some(401 | 403))
    }
}
