//! Signing in to MCP servers over HTTP (OAuth 2.1), storing the sign-ins, verifying tokens of clients, and
//! signing browsers in with an issuer.
//!
//! Used by `cli`, which builds credentials for connections and has the commands `login`, `logout`, `xaa` and
//! `doctor auth`.
//!
//! ```text
//! 401 ─ challenge ─ metadata (resource, then authorization server) ─ identity ─ flow ─ token ─ store
//!                                                                                       │
//!                        provider: headers for each request, refreshed in time ─────────┘
//! ```
//!
//! [`SignIn`] walks that line once, with the user; [`OAuthCredentials`] then supplies the headers of every
//! request. This crate opens no window and prints nothing: its caller implements [`OpenSignInPage`]. It knows
//! no connections, catalogs or commands.

mod account;
mod assertion;
mod background;
mod browser_sign_in;
mod challenge;
mod chosen_hosts;
mod client_registration;
mod device;
mod dpop;
mod error;
mod examine;
mod fetch;
mod flow;
mod grant;
mod headers;
mod helper;
mod host_secrets;
mod metadata;
mod network_zone;
mod oauth_credentials;
mod organisation;
mod refusal_observer;
mod scopes;
mod secret;
mod sign_in;
mod sign_in_link;
mod sign_in_requirement;
mod sign_in_target;
mod sign_out;
mod store;
mod token;
mod verify;

pub use account::{ClientAuthMethod, ClientRegistration, OAuthAccount, OAuthClient, SignInRecord};
pub use browser_sign_in::{BrowserSignInClient, IssuerClient, IssuerVisit};
pub use challenge::{AuthenticateChallenge, AuthenticateChallenges};
pub use device::{ShowUserCode, UserCode};
pub use error::{DocumentError, Error, IdentityProviderStep};
pub use examine::{SignInCheck, SignInFinding, SignInStep, examine_sign_in, redact_url};
pub use flow::{OpenSignInPage, SignInPageOutcome};
pub use helper::{HeadersHelper, HelperCommand, HelperError};
pub use host_secrets::HostSecrets;
pub use network_zone::NetworkZone;
pub use oauth_credentials::{OAuthCredentials, UserPresence};
pub use organisation::{IdentityProviderClient, SignedInUser};
pub use secret::Secret;
pub use sign_in::{SignIn, SignInMethod};
pub use sign_in_link::{SignInLink, SignInLinks};
pub use sign_in_requirement::SignInRequirement;
pub use sign_in_target::SignInTarget;
pub use sign_out::sign_out;
pub use store::{
    FileSignInStore, KeyExposure, KeyLocation, Keychain, NoKeychain, SecretStore, SecretStoreError,
    SignInStore, SignInStoreError, SystemKeychain,
};
pub use verify::{AccessTokenVerifier, TokenRejection, TrustedIssuer, VerifiedToken};
