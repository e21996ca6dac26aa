//! What of our environment a server gets to see.

use std::ffi::OsString;

use switchboard_config::is_baseline;

/// The part of `ours` that every server gets.
pub(crate) fn baseline(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    ours.filter(|(name, _)| name.to_str().is_some_and(is_baseline)).collect()
}
