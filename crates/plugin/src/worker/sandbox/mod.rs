//! The sandbox of a worker, for plugins whose settings ask for it.
//!
//! Two parts, both inherited by every thread that the plugin starts: Landlock says which files can be opened
//! ([`files`]), and a filter of system calls says what can be asked of the kernel at all ([`calls`]). The worker enters
//! the sandbox before it loads the plugin. A kernel that lacks either part is an error, never a weaker sandbox.
//!
//! The sandbox does not limit the network, memory or processor time.

mod calls;
mod files;

use super::PluginImage;

/// Puts this process into the sandbox. The process must have a single thread.
pub(super) fn enter(load: &PluginImage) -> Result<(), String> {
    files::restrict(load).map_err(|error| format!("cannot restrict its files: {error}"))?;
    calls::restrict().map_err(|error| format!("cannot restrict its system calls: {error}"))
}
