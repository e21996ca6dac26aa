//! The request for a connector catalog: its URL, and the token helper.
//!
//! Used by `build`, `connectors::refresh` and `connectors::credentials`.

use std::collections::BTreeMap;

use switchboard_config::{
    ConfigProblemKind, ConnectorSource, Desired, HostContext, LocatedValue, ResolveOptions,
    project_root, restricted_path,
};

use super::environment::environment;
use super::helper::TokenHelper;

/// A connector catalog to fetch. Has no `Debug`, because the URL and the environment may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ConnectorRequest {
    pub(super) url: String,
    pub(super) helper: Option<TokenHelper>,
}

impl ConnectorRequest {
    /// Builds the request. `source` comes from the user's or the administrator's settings, never from a
    /// project's.
    pub(crate) fn new(
        source: &ConnectorSource,
        surroundings: &HostContext,
        settings: &BTreeMap<String, LocatedValue<String>>,
    ) -> Self {
        let helper = source.token_helper.clone().map(|line| {
            let mut env = environment(&surroundings.env, settings, &source.url);
            env.extend(restricted_path(&env, &surroundings.home, &project_root(surroundings)));
            TokenHelper { line, env, cwd: surroundings.home.clone() }
        });
        Self { url: source.url.clone(), helper }
    }
}

/// The configured connector catalog, unless policy or arguments exclude all of its servers.
pub(crate) fn effective_connector_source<'a>(
    desired: &'a Desired,
    asked: &ResolveOptions,
) -> Option<&'a LocatedValue<ConnectorSource>> {
    let mut problems = desired.problems.iter();
    let is_closed = problems.any(|problem| problem.kind == ConfigProblemKind::FailedClosed);
    let counts = !is_closed && !desired.exclusive && !asked.strict;
    desired.settings.connectors.as_ref().filter(|_| counts)
}
