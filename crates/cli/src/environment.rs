//! Notices about environment variables that servers do not get unchanged.
//!
//! Used by the commands that start servers. It does not choose the variables (`switchboard_config::baseline_env`).

use std::ffi::OsString;

use switchboard_config::has_proxy_credentials;

use crate::notice::Notice;

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
