//! The version of this program.
//!
//! Used by the commands that speak to a hub, and by `--version`.

/// The version of the workspace. The feature `older-version` makes a program that is older than any release, for the
/// test of an upgrade.
pub(crate) const VERSION: &str =
    if cfg!(feature = "older-version") { "0.0.1" } else { env!("CARGO_PKG_VERSION") };
