//! The limit of open descriptors: raised for a hub that serves many clients, but not for its child processes.
//!
//! Used by `cli::commands::hub` ([`raise_descriptor_limit`]), `child` and `guard`. Some programs behave
//! badly under a large limit: they close every possible descriptor when they start, or use `select`, which
//! cannot name large ones. So every child gets the limit that this process was started with. A direct child
//! restores it between `fork` and `exec`; a guard gets it in its environment, which its own child does not
//! get.

use std::io;
use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The environment variable that tells a guard the limit of its child.
#[cfg(target_os = "linux")]
const LIMIT_VARIABLE: &str = "SWITCHBOARD_CHILD_DESCRIPTORS";

/// The limit that most systems start a process with.
const DEFAULT_DESCRIPTOR_LIMIT: rlim_t = 1024;

/// The soft and hard limits that this process was started with, set before they are raised.
static ORIGINAL_LIMITS: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises the soft limit of this process to the hard limit, and returns how many descriptors it may open now.
/// Child processes are not affected. If the system refuses, the limit stays.
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
    // Recorded before it is raised, so that a child that is started in between gets the original limit.
    ORIGINAL_LIMITS.get_or_init(|| (soft, hard));
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(error) => {
            tracing::warn!(%error, "the limit of open descriptors cannot be raised");
            soft
        }
    }
}

/// Restores the original limit of this process. Between `fork` and `exec` this makes one system call, and
/// nothing else.
pub(super) fn restore_original() -> io::Result<()> {
    match ORIGINAL_LIMITS.get() {
        Some((soft, hard)) => Ok(setrlimit(Resource::RLIMIT_NOFILE, *soft, *hard)?),
        None => Ok(()),
    }
}

/// The variable for a guard's environment.
#[cfg(target_os = "linux")]
pub(super) fn guard_variable() -> Option<(&'static str, String)> {
    ORIGINAL_LIMITS.get().map(|(soft, _)| (LIMIT_VARIABLE, soft.to_string()))
}

/// Sets the limit of a guard from its environment.
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
