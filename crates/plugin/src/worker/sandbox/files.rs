//! The file rules of the sandbox (Landlock): files that a program needs to run, read-only, and the plugin's
//! shared object.
//!
//! Used by `worker::sandbox`. Landlock gains rights with every kernel. All that the crate knows are
//! requested, and the kernel enforces those that it has. Rights that an older kernel lacks (truncation before
//! 6.2, device ioctls before 6.10, signals and abstract sockets before 6.12, sockets in folders before 7.1)
//! are refused by the system call filter on every kernel.

use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetStatus, Scope, make_bitflags, path_beneath_rules,
};

use super::PluginImage;

/// The newest Landlock version with reviewed rights.
const NEWEST_ABI: ABI = ABI::V9;

/// The paths that programs read to run: libraries, certificates, host names, the time zone, their own files.
const READABLE_PATHS: [&str; 11] = [
    "/usr",
    "/lib",
    "/lib64",
    "/etc",
    "/run/systemd/resolve",
    "/proc/self",
    "/sys",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Devices that a program may write to without effect. Never a terminal: writing to one can type for its
/// user.
const WRITABLE_PATHS: [&str; 1] = ["/dev/null"];
const WRITE_ACCESS: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate});

/// Why file access was not restricted.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilesError {
    #[error("{0}")]
    Landlock(#[from] landlock::RulesetError),
    #[error("this kernel has no Landlock (Linux 5.13 or newer, enabled at boot)")]
    Unsupported,
}

pub(super) fn restrict(load: &PluginImage) -> Result<(), FilesError> {
    let object = match load {
        PluginImage::File(path) => Some(path.clone()),
        PluginImage::Builtin(_) => None,
    };
    let readable = READABLE_PATHS.iter().map(PathBuf::from).chain(object);
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST_ABI))?
        .scope(Scope::from_all(NEWEST_ABI))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(NEWEST_ABI)))?
        .add_rules(path_beneath_rules(WRITABLE_PATHS, WRITE_ACCESS))?
        .restrict_self()?;
    match restricted.ruleset {
        RulesetStatus::NotEnforced => Err(FilesError::Unsupported),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}
