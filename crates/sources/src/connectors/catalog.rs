//! The catalogue as it is known at one moment.

use std::path::Path;
use std::sync::Arc;

use switchboard_config::{
    ConnectorSource, FetchedConnectors, Located, SourceOrigin, is_encrypted_or_local,
};
use url::Url;

use super::cache;
use super::error::ConnectorsError;
use crate::problem::SourceProblem;

/// What is known of the catalogue: its text, or why there is none, or both.
#[derive(Clone, Default)]
pub(crate) struct ConnectorCatalog {
    source: Option<Located<ConnectorSource>>,
    text: Option<Arc<str>>,
    error: Option<Arc<ConnectorsError>>,
    /// Whether the text was fetched when it was asked for last.
    is_fresh: bool,
}

/// What came of fetching one.
#[derive(Clone, Default)]
pub(crate) struct FetchOutcome {
    pub(super) url: String,
    pub(super) text: Option<Arc<str>>,
    pub(super) error: Option<Arc<ConnectorsError>>,
}

// === impl ConnectorCatalog ===

impl ConnectorCatalog {
    /// Turns to the catalogue that the settings name. Whether it was that one before.
    pub(crate) fn follow(
        &mut self,
        source: Option<Located<ConnectorSource>>,
        state_dir: &Path,
    ) -> bool {
        let url = |source: &Option<Located<ConnectorSource>>| {
            source.as_ref().map(|source| source.value.url.clone())
        };
        let (before, now) = (url(&self.source), url(&source));
        self.source = source;
        if before == now {
            return true;
        }
        // What came over a wire that others could write to is not believed later either.
        let now = now.filter(|url| is_encrypted_or_local(url));
        self.text = now.and_then(|url| cache::load(state_dir, &url)).map(Into::into);
        self.error = None;
        self.is_fresh = false;
        false
    }

    /// Takes in what was fetched, if it is of this catalogue.
    pub(crate) fn update(&mut self, outcome: &FetchOutcome) {
        let is_ours = |source: &Located<ConnectorSource>| source.value.url == outcome.url;
        if !self.source.as_ref().is_some_and(is_ours) {
            return;
        }
        self.is_fresh = outcome.text.is_some();
        if let Some(text) = &outcome.text {
            self.text = Some(Arc::clone(text));
        }
        self.error.clone_from(&outcome.error);
    }

    /// What it says.
    pub(crate) fn text(&self) -> Option<&Arc<str>> {
        self.text.as_ref()
    }

    /// What it says, for the configuration to read.
    pub(crate) fn fetched(&self) -> Option<FetchedConnectors> {
        Some(FetchedConnectors {
            origin: SourceOrigin::text(format!(
                "catalogue at {}",
                redacted_url(&self.source.as_ref()?.value.url)
            )),
            text: self.text.as_deref()?.to_owned(),
        })
    }

    /// What is wrong with it.
    pub(crate) fn problem(&self) -> Option<SourceProblem> {
        Some(SourceProblem::Connectors {
            at: self.source.as_ref()?.at.clone(),
            error: Arc::clone(self.error.as_ref()?),
            copy: self.text.is_some() && !self.is_fresh,
        })
    }
}

/// The address without what may be secret in it.
fn redacted_url(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return "an address that is none".to_owned();
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}
