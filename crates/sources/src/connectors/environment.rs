//! The environment of the token helper.
//!
//! Used by `connectors::request`. It holds the variables that a process needs to run and no more, so that the
//! user's API keys do not reach a helper by accident. Further variables stand in `env` of the user's or the
//! administrator's settings.

use std::collections::BTreeMap;
use std::ffi::OsString;

use switchboard_config::{EnvironmentVariables, LocatedValue, baseline_value};

/// Builds a helper's environment: the caller's baseline variables, the settings' `env`, and the variables
/// that describe the request.
pub(super) fn environment(
    caller: &EnvironmentVariables,
    settings: &BTreeMap<String, LocatedValue<String>>,
    url: &str,
) -> Vec<(OsString, OsString)> {
    let caller = caller.iter().filter_map(|(name, value)| {
        let value = baseline_value(name, value.as_ref())?.into_owned();
        Some((name.into(), value))
    });
    let settings = settings.iter().map(|(name, value)| (name.into(), (&value.value).into()));
    let asked =
        [("SWITCHBOARD_MCP_SERVER_NAME", "connectors"), ("SWITCHBOARD_MCP_SERVER_URL", url)];
    // Of two variables with one name, the later one wins.
    caller.chain(settings).chain(asked.map(|(name, value)| (name.into(), value.into()))).collect()
}
