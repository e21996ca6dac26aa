//! The current connector catalog: its text, its source and its last error.
//!
//! Used by `build` and `connectors::once`. It does not fetch (`connectors::fetch`).

use std::path::Path;
use std::sync::Arc;

use switchboard_config::{
    ConnectorSource, FetchedConnectors, LocatedValue, SourceOrigin, is_encrypted_or_local,
};
use url::Url;

use super::cache;
use super::error::ConnectorsError;
use crate::problem::SourceProblem;

/// The connector catalog as known now: its text, or the error, or both.
#[derive(Clone, Default)]
pub(crate) struct ConnectorCatalog {
    source: Option<LocatedValue<ConnectorSource>>,
    text: Option<Arc<str>>,
    error: Option<Arc<ConnectorsError>>,
    /// Whether the last fetch returned the text.
    is_fresh: bool,
}

/// The result of fetching a connector catalog.
#[derive(Clone, Default)]
pub(crate) struct FetchOutcome {
    pub(super) url: String,
    pub(super) text: Option<Arc<str>>,
    pub(super) error: Option<Arc<ConnectorsError>>,
}

// === impl ConnectorCatalog ===

impl ConnectorCatalog {
    /// Switches to the connector catalog that the settings name. Returns whether that catalog was in use before.
    pub(crate) fn follow(
        &mut self,
        source: Option<LocatedValue<ConnectorSource>>,
        state_dir: &Path,
    ) -> bool {
        let url = |source: &Option<LocatedValue<ConnectorSource>>| {
            source.as_ref().map(|source| source.value.url.clone())
        };
        let (before, now) = (url(&self.source), url(&source));
        self.source = source;
        if before == now {
            return true;
        }
        // A copy that came over an unencrypted connection is not trusted later either.
        let now = now.filter(|url| is_encrypted_or_local(url));
        self.text = now.and_then(|url| cache::load(state_dir, &url)).map(Into::into);
        self.error = None;
        self.is_fresh = false;
        false
    }

    /// Adopts the result of a fetch, if it belongs to this catalog.
    pub(crate) fn update(&mut self, outcome: &FetchOutcome) {
        let is_ours = |source: &LocatedValue<ConnectorSource>| source.value.url == outcome.url;
        if !self.source.as_ref().is_some_and(is_ours) {
            return;
        }
        self.is_fresh = outcome.text.is_some();
        if let Some(text) = &outcome.text {
            self.text = Some(Arc::clone(text));
        }
        self.error.clone_from(&outcome.error);
    }

    /// The catalog's text.
    pub(crate) fn text(&self) -> Option<&Arc<str>> {
        self.text.as_ref()
    }

    /// The catalog's text and location, for `switchboard_config` to parse.
    pub(crate) fn fetched(&self) -> Option<FetchedConnectors> {
        Some(FetchedConnectors {
            origin: SourceOrigin::text(format!(
                "catalog at {}",
                redacted_url(&self.source.as_ref()?.value.url)
            )),
            text: self.text.as_deref()?.to_owned(),
        })
    }

    /// The problem to show, if the last fetch failed.
    pub(crate) fn problem(&self) -> Option<SourceProblem> {
        Some(SourceProblem::Connectors {
            at: self.source.as_ref()?.at.clone(),
            error: Arc::clone(self.error.as_ref()?),
            copy: self.text.is_some() && !self.is_fresh,
        })
    }
}

/// The URL, redacted.
fn redacted_url(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return "an address that is none".to_owned();
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}
