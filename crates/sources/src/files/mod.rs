//! Files as the hub sees them: what is there, which folders tell of changes, and who listens to them.

mod file_states;
mod plan;
mod watch;

pub(super) use file_states::FileStates;
pub(super) use watch::FileWatch;
