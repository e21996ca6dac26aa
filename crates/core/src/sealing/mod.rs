//! Sealed handles: encrypted and authenticated tokens that go to a client and come back.
//!
//! Used by `gateway::bridge` for parked calls, repeated calls and tasks. A handle holds a payload, is bound to its
//! purpose ([`HandleBinding`]) and expires. Only a process with the key can read, make or change one.
//!
//! It does not know whether a handle may come back more than once: the code that gave the handle out decides that.

mod handle_binding;
mod key;
mod sealer;

use std::time::Duration;

pub use handle_binding::{HandleBinding, HandleKind, JsonDigest};
pub use sealer::{ExpiryClock, LocalSealer};

/// Seals handles and opens them again. On one machine the key lies in user state ([`LocalSealer`]); replicas that
/// answer for one another share a key through an implementation of their own.
pub trait HandleSealer: Send + Sync {
    /// Makes a handle that holds `payload`, is bound to `bound`, and expires after the given time.
    fn seal(
        &self,
        bound: &HandleBinding<'_>,
        payload: &[u8],
        lasts: Duration,
    ) -> Result<String, SealError>;

    /// Returns the payload of a handle that this sealer made for `bound` and that has not expired.
    fn open(&self, bound: &HandleBinding<'_>, handle: &str) -> Result<Vec<u8>, HandleRefusal>;
}

/// Why a handle was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandleRefusal {
    /// The handle was made with another key, was changed, or was given for another purpose. Authenticated
    /// encryption cannot tell these apart.
    #[error("it was not issued here, was changed, or belongs to another request")]
    Foreign,
    /// The handle has expired.
    #[error("it has expired")]
    Expired,
}

/// The system has no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system provides no random numbers to seal with")]
pub struct SealError;
