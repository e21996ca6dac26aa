//! What is to be fetched, and how.

use std::collections::BTreeMap;

use switchboard_config::{ConnectorSource, Located, Surroundings};

use super::environment::environment;
use super::helper::Helper;

/// A catalogue to fetch. Has no `Debug`: the address and the environment may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::hub) struct Wanted {
    pub(super) url: String,
    pub(super) helper: Option<Helper>,
}

impl Wanted {
    /// `source` comes from the user's or the administrator's settings; the configuration reads it from nowhere else.
    pub(in crate::hub) fn new(
        source: &ConnectorSource,
        surroundings: &Surroundings,
        settings: &BTreeMap<String, Located<String>>,
    ) -> Self {
        let helper = source.token_helper.clone().map(|line| Helper {
            line,
            env: environment(&surroundings.env, settings, &source.url),
            cwd: surroundings.home.clone(),
        });
        Self { url: source.url.clone(), helper }
    }
}
