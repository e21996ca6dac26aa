//! The HTTP proxies that a workspace's environment names.
//!
//! Used by `connection` and by `hub::credentials`. It does not read the environment of the engine's own process,
//! which may belong to another client.

use std::ffi::OsString;

use switchboard_wire::http::{ProxySettings, ProxyVariables};

use super::spec::ConnectionSpec;

/// Returns the proxies that an environment names. Of a duplicate name the last value counts.
pub fn proxies_from_environment(environment: &[(OsString, OsString)]) -> ProxySettings {
    ProxySettings::Variables(proxy_variables(environment))
}

fn proxy_variables(environment: &[(OsString, OsString)]) -> ProxyVariables {
    ProxyVariables::from_lookup(|name| {
        let found = environment.iter().rev().find(|(other, _)| other == name);
        found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
    })
}

// === impl ConnectionSpec ===

impl ConnectionSpec {
    /// Returns the proxies that the spec's environment names.
    pub(super) fn proxies(&self) -> ProxyVariables {
        proxy_variables(&self.environment)
    }
}
