//! How many descriptors this process may open: more for a hub that serves many clients, and not for what it starts.
//!
//! A program that finds a large limit may behave badly: some close every descriptor there could be when they start, and
//! `select` cannot name large ones. So every child gets the limit that this process was started with. A direct child puts
//! it back between `fork` and `exec`; a guard is told of it in its environment, which its own child does not get.

use std::io;
use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// What a guard is told the limit of its child in.
const LIMIT_VARIABLE: &str = "SWITCHBOARD_CHILD_DESCRIPTORS";

/// What most systems start a process with.
const DEFAULT_DESCRIPTOR_LIMIT: rlim_t = 1024;

/// The limits that this process was started with, once they were raised: the one that counts, and the highest.
static ORIGINAL_LIMITS: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises the limit of this process as far as it may go, and says how many descriptors it may open now. Processes that
/// it starts are not affected. A system that refuses leaves the limit as it was.
pub fn raise_descriptor_limit() -> u64 {
    let (soft, hard) = match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok(limits) => limits,
        Err(error) => {
            tracing::warn!(%error, "the limit of open descriptors cannot be read");
            return DEFAULT_DESCRIPTOR_LIMIT;
        }
    };
    if soft >= hard {
        return soft;
    }
    // First noted, then raised: a child that is started in between gets what it always got.
    ORIGINAL_LIMITS.get_or_init(|| (soft, hard));
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(error) => {
            tracing::warn!(%error, "the limit of open descriptors cannot be raised");
            soft
        }
    }
}

/// Puts the limit of this process back. Between `fork` and `exec` this makes one system call, and nothing else.
pub(super) fn restore_original() -> io::Result<()> {
    match ORIGINAL_LIMITS.get() {
        Some((soft, hard)) => Ok(setrlimit(Resource::RLIMIT_NOFILE, *soft, *hard)?),
        None => Ok(()),
    }
}

/// What a guard has to be told, for its environment.
#[cfg(target_os = "linux")]
pub(super) fn guard_variable() -> Option<(&'static str, String)> {
    ORIGINAL_LIMITS.get().map(|(soft, _)| (LIMIT_VARIABLE, soft.to_string()))
}

/// Puts the limit of a guard where it was told to.
#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "a guard gets the limit from the program that started it, in its environment"
)]
pub(super) fn restore_in_guard() -> io::Result<()> {
    let told = std::env::var(LIMIT_VARIABLE).ok().and_then(|soft| soft.parse().ok());
    let Some(soft) = told else { return Ok(()) };
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard.min(soft), hard)?)
}
