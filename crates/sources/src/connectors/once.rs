//! The connector catalog for a command that reads the configuration once and exits.
//!
//! Used by `cli::surroundings` and `workspace`. Long-running programs use `Sources`.

use std::sync::Arc;

use switchboard_config::{
    Desired, FetchedConnectors, HostContext, ResolveOptions, resolve_desired,
};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::catalog::{ConnectorCatalog, FetchOutcome};
use super::refresh::ConnectorRefresher;
use super::request::{ConnectorRequest, effective_connector_source};
use crate::{options::SourcesOptions, problem::SourceProblem};

/// Returns the cached copy of the configured connector catalog, without the network.
pub fn cached_connector_catalog(
    surroundings: &HostContext,
    asked: &ResolveOptions,
) -> Option<FetchedConnectors> {
    load_named_catalog(&resolve_desired(surroundings, asked), surroundings, asked)?.fetched()
}

/// Fetches the configured connector catalog. If that fails, returns the cached copy and the problem.
pub async fn fetch_connector_catalog(
    surroundings: &HostContext,
    asked: &ResolveOptions,
    options: &SourcesOptions,
) -> (Option<FetchedConnectors>, Option<SourceProblem>) {
    let desired = resolve_desired(surroundings, asked);
    let Some(mut catalogue) = load_named_catalog(&desired, surroundings, asked) else {
        return (None, None);
    };
    let Some(source) = effective_connector_source(&desired, asked) else { return (None, None) };
    let wanted = ConnectorRequest::new(&source.value, surroundings, &desired.settings.env);
    let (_wants, wants) = watch::channel(Some(wanted.clone()));
    let mut refresher = ConnectorRefresher {
        wanted: wants,
        outcomes: watch::channel(FetchOutcome::default()).0,
        refresh: Arc::new(Notify::new()),
        stop: CancellationToken::new(),
        options: options.clone(),
        state_dir: surroundings.state_dir.clone(),
        env: surroundings.env.clone(),
    };
    catalogue.update(&refresher.attempt(&wanted).await);
    (catalogue.fetched(), catalogue.problem())
}

fn load_named_catalog(
    desired: &Desired,
    surroundings: &HostContext,
    asked: &ResolveOptions,
) -> Option<ConnectorCatalog> {
    let source = effective_connector_source(desired, asked)?;
    let mut catalogue = ConnectorCatalog::default();
    catalogue.follow(Some(source.clone()), &surroundings.state_dir);
    Some(catalogue)
}
