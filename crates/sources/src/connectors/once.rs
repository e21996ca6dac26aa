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
use super::credentials::{ConnectorCredentials, connector_credentials};
use super::refresh::ConnectorRefresher;
use super::request::{ConnectorRequest, effective_connector_source};
use crate::{options::SourcesOptions, problem::SourceProblem};

/// The configuration for a program that reads it once and does not watch it.
#[derive(Debug, Clone)]
pub struct ResolvedConfig {
    /// The desired state. Boxed, since it is large and kept for as long as the program runs.
    pub desired: Box<Desired>,
    /// The options that the configuration was resolved for, with the connector catalog.
    pub options: ResolveOptions,
}

/// The configuration with the connector catalog fetched from the network.
pub struct FetchedConfig {
    /// The configuration, with the last copy of the catalog where it cannot be fetched.
    pub config: ResolvedConfig,
    /// The credentials for servers of the catalog.
    pub credentials: Option<Arc<ConnectorCredentials>>,
    /// Why the catalog cannot be fetched.
    pub problem: Option<SourceProblem>,
}

/// Resolves the configuration with the last copy of the catalog that the settings name, without asking the network.
/// Files are read once, and once more where there is a catalog.
pub fn resolve_with_cached_catalog(
    surroundings: &HostContext,
    asked: &ResolveOptions,
) -> ResolvedConfig {
    let desired = Box::new(resolve_desired(surroundings, asked));
    let catalog = load_named_catalog(&desired, surroundings, asked);
    with_catalog(desired, surroundings, asked, catalog.and_then(|catalog| catalog.fetched()))
}

/// Resolves the configuration with the catalog that the settings name, fetched now. Files are read once, and once more
/// where there is a catalog.
pub async fn resolve_with_fetched_catalog(
    surroundings: &HostContext,
    asked: &ResolveOptions,
    options: &SourcesOptions,
) -> FetchedConfig {
    let desired = Box::new(resolve_desired(surroundings, asked));
    let credentials = connector_credentials(&desired, surroundings, asked, options);
    let (fetched, problem) = fetch_catalog(&desired, surroundings, asked, options).await;
    let config = with_catalog(desired, surroundings, asked, fetched);
    FetchedConfig { config, credentials, problem }
}

fn with_catalog(
    desired: Box<Desired>,
    surroundings: &HostContext,
    asked: &ResolveOptions,
    catalog: Option<FetchedConnectors>,
) -> ResolvedConfig {
    let mut options = asked.clone();
    let Some(catalog) = catalog else { return ResolvedConfig { desired, options } };
    options.connectors.push(catalog);
    ResolvedConfig { desired: Box::new(resolve_desired(surroundings, &options)), options }
}

/// Fetches the catalog that the settings name. Where that fails its last copy is given, and why.
async fn fetch_catalog(
    desired: &Desired,
    surroundings: &HostContext,
    asked: &ResolveOptions,
    options: &SourcesOptions,
) -> (Option<FetchedConnectors>, Option<SourceProblem>) {
    let Some(mut catalogue) = load_named_catalog(desired, surroundings, asked) else {
        return (None, None);
    };
    let Some(source) = effective_connector_source(desired, asked) else { return (None, None) };
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
