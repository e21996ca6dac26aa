//! The organisation's catalogue: fetched, kept, and read again when it cannot be fetched.
//!
//! Nothing here knows what an entry means; the configuration reads the text, and refuses what a catalogue may not say.
//! The token exists from the helper's output to the request that carries it, and in no error, log or copy.

mod catalogue;
mod copy;
mod credentials;
mod environment;
mod error;
mod fetch;
mod helper;
mod once;
mod refresh;
mod wanted;

pub use credentials::{CatalogueCredentials, catalogue_credentials};
pub use error::{Error, NotAToken};
pub use once::{fetch_catalogue, kept_catalogue};

pub(super) use catalogue::{Catalogue, Outcome};
pub(super) use refresh::Refresher;
pub(super) use wanted::{Wanted, wanted_source};
