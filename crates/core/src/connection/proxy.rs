//! The proxies that a workspace's connections go through: those that its own environment names, never those of the
//! process that happens to run the engine. Connections and credentials are made with them.

use std::ffi::OsString;

use switchboard_wire::http::{ProxySettings, ProxyVariables};

use super::spec::ConnectionSpec;

/// The proxies that an environment names. Where a name comes twice, the last one counts.
pub fn proxies_from_environment(environment: &[(OsString, OsString)]) -> ProxySettings {
    ProxySettings::Given(proxy_variables(environment))
}

fn proxy_variables(environment: &[(OsString, OsString)]) -> ProxyVariables {
    ProxyVariables::from_lookup(|name| {
        let found = environment.iter().rev().find(|(other, _)| other == name);
        found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
    })
}

// === impl ConnectionSpec ===

impl ConnectionSpec {
    /// The proxies that its environment names.
    pub(super) fn proxies(&self) -> ProxyVariables {
        proxy_variables(&self.environment)
    }
}
