//! Bearer tokens that people make for clients of other machines and users.
//!
//! A token is 256 random bits, shown once. What is kept, in one private file in user state, is its hash and what a
//! person wants to know of it. [`TokenStore`] changes the file; [`StoredTokenVerifier`] answers for a face, and looks at the file
//! before every answer, so that a token that was revoked opens nothing from then on.
//!
//! This module refuses to know who may call what: a token says who somebody is, and nothing else.

mod secret;
mod store;
mod verifier;
mod verifiers;

pub use secret::TokenSecret;
pub use store::{ClientToken, CreatedToken, NewToken, TokenStore, TokenStoreError};
pub use verifier::StoredTokenVerifier;
pub use verifiers::TokenVerifiers;
