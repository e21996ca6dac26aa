//! What is to be fetched, and how.

use std::collections::BTreeMap;

use switchboard_config::{
    Asked, ConnectorSource, Desired, Kind, Located, Surroundings, narrowed_path, project_root,
};

use super::environment::environment;
use super::helper::Helper;

/// A catalogue to fetch. Has no `Debug`: the address and the environment may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(super) url: String,
    pub(super) helper: Option<Helper>,
}

impl Wanted {
    /// `source` comes from the user's or the administrator's settings; the configuration reads it from nowhere else.
    pub(crate) fn new(
        source: &ConnectorSource,
        surroundings: &Surroundings,
        settings: &BTreeMap<String, Located<String>>,
    ) -> Self {
        let helper = source.token_helper.clone().map(|line| {
            let mut env = environment(&surroundings.env, settings, &source.url);
            env.extend(narrowed_path(&env, &surroundings.home, &project_root(surroundings)));
            Helper { line, env, cwd: surroundings.home.clone() }
        });
        Self { url: source.url.clone(), helper }
    }
}

/// The catalogue that the settings name, unless nothing of it would count.
pub(crate) fn wanted_source<'a>(
    desired: &'a Desired,
    asked: &Asked,
) -> Option<&'a Located<ConnectorSource>> {
    let mut problems = desired.problems.iter();
    let is_closed = problems.any(|problem| problem.kind == Kind::FailedClosed);
    let counts = !is_closed && !desired.exclusive && !asked.strict;
    desired.settings.connectors.as_ref().filter(|_| counts)
}
