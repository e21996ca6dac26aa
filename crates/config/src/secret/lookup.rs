//! The line between this crate and the host that has the values of secrets.
//!
//! Used by `resolve`, which asks for a value only when everything else about a server permits its start.
//! Implemented by `switchboard_auth`; this crate opens no keychain and runs no command.

use std::fmt;
use std::path::PathBuf;

use super::text::SecretText;

/// Finds the values of secrets.
pub trait SecretLookup: fmt::Debug + Send + Sync {
    /// The value of a secret. May block.
    fn find_secret(&self, source: SecretSource<'_>) -> Result<SecretText, SecretLookupError>;

    /// The files whose change may change a stored value.
    fn watched_files(&self) -> Vec<PathBuf>;
}

/// Where the value of a secret comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretSource<'a> {
    /// The secret store, under this name.
    Store(&'a str),
    /// A provider that the user's or the administrator's settings declare.
    Provider(&'a SecretProvider),
}

/// A provider of one secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretProvider {
    /// The content of a file, without line breaks at its end.
    File(PathBuf),
    /// What a command line prints, without line breaks at its end.
    Command(String),
    /// A reference that the 1Password CLI reads: `op://vault/item/field`.
    OnePassword(String),
}

/// Why a secret has no value. The texts contain no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretLookupError {
    /// No secret has this name.
    #[error("it is not set")]
    NotSet,
    /// The store or the provider failed.
    #[error("{0}")]
    Failed(String),
}

/// A host without secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

// === impl NoSecrets ===

impl SecretLookup for NoSecrets {
    fn find_secret(&self, _: SecretSource<'_>) -> Result<SecretText, SecretLookupError> {
        Err(SecretLookupError::NotSet)
    }

    fn watched_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
