//! Bearer tokens that people create for clients on other machines and of other users.
//!
//! Used by `switchboard token` and by `serve` for its access control. A token is 256 random bits, shown once. One
//! private file in user state holds its hash and its description. [`TokenStore`] changes the file;
//! [`StoredTokenVerifier`] verifies tokens for a face, and checks the file each time, so that a revoked token is
//! refused at once. Machines that are one switchboard merge their files ([`SharedToken`]). A token identifies a client; it does not say which calls the client may make.

mod merge;
mod secret;
mod store;
mod verifier;
mod verifiers;

pub use merge::{SharedToken, SharedTokens};
pub use secret::TokenSecret;
pub use store::{ClientToken, CreatedToken, NewToken, TokenStore, TokenStoreError};
pub use verifier::StoredTokenVerifier;
pub use verifiers::TokenVerifiers;
