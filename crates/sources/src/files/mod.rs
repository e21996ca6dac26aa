//! Files as the hub sees them: what is there, which folders tell of changes, and who listens to them.

mod look;
mod plan;
mod watch;

pub(super) use look::FileStates;
pub(super) use watch::FileWatch;
