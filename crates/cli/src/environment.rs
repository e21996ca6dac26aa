//! The part of our environment that servers and plugins get.
//!
//! Used by `target::typed`, `plugins` and `command_engine::credentials`; `doctor` shows `cut_proxies`. Which variables
//! count is decided in `config`.

use std::ffi::OsString;

use switchboard_config::{baseline_value, has_proxy_credentials};

use crate::notice::Notice;

/// The variables of `ours` that every server gets.
pub(crate) fn baseline(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    ours.filter_map(|(name, value)| {
        let value = baseline_value(name.to_str()?, &value)?.into_owned();
        Some((name, value))
    })
    .collect()
}

/// A note about every proxy variable that servers get without its password.
pub(crate) fn cut_proxies(ours: &[(OsString, OsString)]) -> Vec<Notice> {
    let texts = ours.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let cut = texts.filter(|(name, value)| has_proxy_credentials(name, value));
    cut.map(|(name, _)| {
        Notice::note(format!("servers get `{name}` without the user and password in it"))
            .with_hint(format!("an entry that needs them says `\"inheritEnv\": [\"{name}\"]`"))
    })
    .collect()
}
