//! What of the caller's environment a helper gets to see.
//!
//! Enough to run, and no more: a person's API keys do not reach a helper by accident. What it needs beyond this stands
//! in `env` of the user's or the administrator's settings.

use std::collections::BTreeMap;
use std::ffi::OsString;

use switchboard_config::{EnvironmentVariables, Located, baseline_value};

/// The environment of a helper: the part of the caller's that every process gets, what the settings add, and what the
/// helper is asked about.
pub(super) fn environment(
    caller: &EnvironmentVariables,
    settings: &BTreeMap<String, Located<String>>,
    url: &str,
) -> Vec<(OsString, OsString)> {
    let caller = caller.iter().filter_map(|(name, value)| {
        let value = baseline_value(name, value.as_ref())?.into_owned();
        Some((name.into(), value))
    });
    let settings = settings.iter().map(|(name, value)| (name.into(), (&value.value).into()));
    let asked =
        [("SWITCHBOARD_MCP_SERVER_NAME", "connectors"), ("SWITCHBOARD_MCP_SERVER_URL", url)];
    // Where a name comes twice the last one counts.
    caller.chain(settings).chain(asked.map(|(name, value)| (name.into(), value.into()))).collect()
}
