//! What of our environment a server gets to see.

use std::ffi::OsString;

use switchboard_config::baseline_value;

/// The part of `ours` that every server gets.
pub(crate) fn baseline(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    ours.filter_map(|(name, value)| {
        let value = baseline_value(name.to_str()?, &value)?.into_owned();
        Some((name, value))
    })
    .collect()
}
