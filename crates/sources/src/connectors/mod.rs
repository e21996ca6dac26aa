//! The organisation's catalogue: fetched, kept, and read again when it cannot be fetched.
//!
//! Nothing here knows what an entry means; the configuration reads the text, and refuses what a catalogue may not say.
//! The token exists from the helper's output to the request that carries it, and in no error, log or copy.

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
