//! The organisation's connector catalog: fetched, cached, and loaded from the cache when fetching fails.
//!
//! Used by `build`, `task` and `cli`. It does not know what an entry means: `switchboard_config` parses the
//! text and refuses entries that a catalog may not hold. The token exists from the helper's output to the
//! request that carries it, and in no error, log or cached copy.

mod cache;
mod catalog;
mod credentials;
mod environment;
mod error;
mod fetch;
mod helper;
mod once;
mod refresh;
mod request;

pub use credentials::ConnectorCredentials;
pub use error::{ConnectorsError, TokenHelperFault};
pub use once::{
    FetchedConfig, ResolvedConfig, resolve_with_cached_catalog, resolve_with_fetched_catalog,
};

pub(super) use catalog::{ConnectorCatalog, FetchOutcome};
pub(super) use refresh::ConnectorRefresher;
pub(super) use request::{ConnectorRequest, effective_connector_source};
