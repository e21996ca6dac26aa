//! Signing in to MCP servers over HTTP: who asks for it, where, as whom, and what is kept of it.
//!
//! ```text
//! 401 ─ challenge ─ metadata (resource, then authorization server) ─ identity ─ flow ─ token ─ store
//!                                                                                       │
//!                        provider: headers for each request, refreshed in time ─────────┘
//! ```
//!
//! [`SignIn`] walks that line once, with a person; [`Provider`] is what connections ask for headers ever after. This
//! crate opens no window and prints nothing: whoever brings a person to a page implements [`Visit`]. It knows nothing
//! of connections, catalogs or commands.

mod account;
mod assertion;
mod background;
mod challenge;
mod demand;
mod device;
mod dpop;
mod error;
mod examine;
mod fetch;
mod flow;
mod grant;
mod headers;
mod helper;
mod identity;
mod metadata;
mod organisation;
mod provider;
mod scopes;
mod secret;
mod sign_in;
mod sign_out;
mod store;
mod subject;
mod token;
mod trust;
mod verify;
mod zone;

pub use account::{Account, Client, ClientAuth, Record, Registration};
pub use challenge::{Challenge, Challenges};
pub use demand::Demand;
pub use device::{ShowCode, UserCode};
pub use error::{Error, Leg, Unreadable};
pub use examine::{Finding, Hop, Step, examine, redact_url};
pub use flow::{Visit, Visited};
pub use helper::{HeadersHelper, Helper, HelperError};
pub use organisation::{Identity, IdentityProvider};
pub use provider::{Presence, Provider};
pub use secret::Secret;
pub use sign_in::{SignIn, Way};
pub use sign_out::sign_out;
pub use store::{
    FileStore, KeyExposure, KeyPlace, Keychain, NoKeychain, Store, StoreError, SystemKeychain,
};
pub use subject::Subject;
pub use verify::{Rejected, Trust, Verified, Verifier};
pub use zone::Zone;
