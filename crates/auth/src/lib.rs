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

pub use account::{ClientAuthMethod, ClientRegistration, OAuthAccount, OAuthClient, SignInRecord};
pub use challenge::{AuthenticateChallenge, AuthenticateChallenges};
pub use demand::SignInRequirement;
pub use device::{ShowUserCode, UserCode};
pub use error::{DocumentError, Error, IdentityProviderStep};
pub use examine::{SignInCheck, SignInFinding, SignInStep, examine_sign_in, redact_url};
pub use flow::{OpenSignInPage, SignInPageOutcome};
pub use helper::{HeadersHelper, HelperCommand, HelperError};
pub use organisation::{IdentityProviderClient, SignedInUser};
pub use provider::{OAuthCredentials, UserPresence};
pub use secret::Secret;
pub use sign_in::{SignIn, SignInMethod};
pub use sign_out::sign_out;
pub use store::{
    FileSignInStore, KeyExposure, KeyLocation, Keychain, NoKeychain, SignInStore, SignInStoreError,
    SystemKeychain,
};
pub use subject::SignInTarget;
pub use verify::{AccessTokenVerifier, TokenRejection, TrustedIssuer, VerifiedToken};
pub use zone::NetworkZone;
