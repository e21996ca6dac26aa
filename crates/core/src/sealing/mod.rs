//! Handles that leave us for a client and come back: nobody else can read, make or change one, or use it for
//! something it was not given for.
//!
//! A handle is a text that holds a payload, encrypted and authenticated. It is bound to what it was given for
//! ([`HandleBinding`]) and until when. Whether it may come back more than once is not known here: whoever gave it out knows
//! what it stands for.

mod handle_binding;
mod key;
mod sealer;

use std::time::Duration;

pub use handle_binding::{HandleBinding, HandleKind, JsonDigest};
pub use sealer::LocalSealer;

/// Seals handles and opens them again. One machine does it with a key in user state ([`LocalSealer`]); replicas that answer
/// for one another share whatever is behind theirs.
pub trait HandleSealer: Send + Sync {
    /// A handle that holds `payload`, for what `bound` says and for so long.
    fn seal(
        &self,
        bound: &HandleBinding<'_>,
        payload: &[u8],
        lasts: Duration,
    ) -> Result<String, SealError>;

    /// What a handle holds, if it is one of ours, for what `bound` says, and still counts.
    fn open(&self, bound: &HandleBinding<'_>, handle: &str) -> Result<Vec<u8>, HandleRefused>;
}

/// Why a handle is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandleRefused {
    /// It was not made here, was changed, or was given for something else; which of them nobody can tell.
    #[error("it was not given out here, was changed, or belongs to another request")]
    Foreign,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
}

/// The system has no randomness to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers to seal with")]
pub struct SealError;
