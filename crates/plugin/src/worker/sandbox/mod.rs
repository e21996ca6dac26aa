//! The sandbox of a worker, for plugins with `sandbox` in their settings.
//!
//! Used by `worker` before it loads the plugin. It has two parts, both inherited by every thread that the
//! plugin starts: Landlock restricts which files can be opened ([`files`]), and a system call filter
//! restricts the kernel interface ([`calls`]). A kernel that lacks either part is an error, never a weaker
//! sandbox.
//!
//! It does not limit the network, memory or processor time.

mod calls;
mod files;

use super::PluginImage;

/// Puts this process into the sandbox. The process must have a single thread.
pub(super) fn enter(load: &PluginImage) -> Result<(), String> {
    files::restrict(load).map_err(|error| format!("cannot restrict its files: {error}"))?;
    calls::restrict().map_err(|error| format!("cannot restrict its system calls: {error}"))
}
