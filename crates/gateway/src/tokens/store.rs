//! The tokens that were made, in user state.

use std::path::Path;

use serde::{Deserialize, Serialize};
use switchboard_config::edit::StateFile;

use super::secret::{TokenDigest, TokenSecret};

/// The form of the file.
const FILE_VERSION: u32 = 1;
/// More than a person makes.
const MAX_TOKENS: usize = 1000;
/// The longest name.
const MAX_TOKEN_NAME_BYTES: usize = 64;

/// The file that keeps tokens. Its waits are for the disk, so not for async code.
#[derive(Debug, Clone)]
pub struct TokenStore {
    file: StateFile,
}

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientToken {
    /// Tells it from every other, those that were revoked included.
    pub id: String,
    /// What its maker calls it.
    pub name: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// From when on it is not good any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// When it was used last, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewToken {
    /// What to call it; without a name it is called by its id.
    pub name: Option<String>,
    /// From when on it is not good any more, in seconds since 1970.
    pub expires: Option<u64>,
}

/// A token that was made. The secret is nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedToken {
    /// What is known of it.
    pub token: ClientToken,
    /// What its client sends.
    pub secret: TokenSecret,
}

/// Why something could not be done with tokens. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenStoreError {
    /// The file could not be read, or not be written.
    #[error(transparent)]
    File(#[from] switchboard_config::Error),
    /// The file is of a later version.
    #[error("the tokens are kept in a form of a later version ({found})")]
    Version {
        /// Its version.
        found: u32,
    },
    /// The name cannot be used.
    #[error(
        "`{name}` cannot be a token's name; it takes up to {MAX_TOKEN_NAME_BYTES} of A-Z, a-z, 0-9, `.`, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Another token has the name.
    #[error("there is a token `{name}` already")]
    Exists {
        /// The name.
        name: String,
    },
    /// No token has that id or name.
    #[error("there is no token `{which}`")]
    NoSuch {
        /// What was asked for.
        which: String,
    },
    /// There are too many.
    #[error("there are {MAX_TOKENS} tokens, which is as many as are kept")]
    Full,
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    Random(#[from] getrandom::Error),
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TokenFile {
    version: u32,
    pub(super) tokens: Vec<TokenEntry>,
}

/// One token in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TokenEntry {
    #[serde(flatten)]
    pub(super) token: ClientToken,
    pub(super) sha256: TokenDigest,
}

// === impl TokenStore ===

impl TokenStore {
    /// The store in a state folder.
    pub fn new(state_dir: &Path) -> Self {
        Self { file: StateFile::new(state_dir, "tokens.json") }
    }

    /// Where the tokens are kept.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// All that were made and not revoked, in that order; those that have expired too.
    pub fn list(&self) -> Result<Vec<ClientToken>, TokenStoreError> {
        Ok(self.load()?.tokens.into_iter().map(|entry| entry.token).collect())
    }

    /// Makes one. `now` is in seconds since 1970.
    pub fn create(&self, new: NewToken, now: u64) -> Result<CreatedToken, TokenStoreError> {
        let secret = TokenSecret::new()?;
        let id = new_id()?;
        let name = new.name.unwrap_or_else(|| id.clone());
        if !is_name(&name) {
            return Err(TokenStoreError::Name { name });
        }
        let token = ClientToken { id, name, created: now, expires: new.expires, used: None };
        let entry = TokenEntry { token: token.clone(), sha256: TokenDigest::of(secret.reveal()) };
        self.change(|tokens| {
            if tokens
                .iter()
                .any(|other| other.token.is_named(&token.name) || other.token.is_named(&token.id))
            {
                return Err(TokenStoreError::Exists { name: token.name.clone() });
            }
            if tokens.len() >= MAX_TOKENS {
                return Err(TokenStoreError::Full);
            }
            tokens.push(entry);
            Ok(())
        })?;
        Ok(CreatedToken { token, secret })
    }

    /// Takes back the one of this id or name: it opens nothing from now on.
    pub fn revoke(&self, which: &str) -> Result<ClientToken, TokenStoreError> {
        self.change(|tokens| {
            let at = tokens.iter().position(|entry| entry.token.is_named(which));
            let at = at.ok_or_else(|| TokenStoreError::NoSuch { which: which.to_owned() })?;
            Ok(tokens.remove(at).token)
        })
    }

    /// Notes when a token was used; one that is gone meanwhile stays so.
    pub(super) fn note_use(&self, id: &str, now: u64) -> Result<(), TokenStoreError> {
        self.change(|tokens| {
            if let Some(entry) = tokens.iter_mut().find(|entry| entry.token.id == id) {
                entry.token.used = Some(now);
            }
            Ok(())
        })
    }

    pub(super) fn load(&self) -> Result<TokenFile, TokenStoreError> {
        let content: TokenFile = self.file.load()?;
        content.check_version()?;
        Ok(content)
    }

    fn change<R>(
        &self,
        change: impl FnOnce(&mut Vec<TokenEntry>) -> Result<R, TokenStoreError>,
    ) -> Result<R, TokenStoreError> {
        self.file.change(|content: &mut TokenFile| {
            content.check_version()?;
            content.version = FILE_VERSION;
            change(&mut content.tokens)
        })
    }
}

// === impl ClientToken ===

impl ClientToken {
    /// Whether it is good at `now`, in seconds since 1970.
    pub fn is_good(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// Whom its client speaks for. No other token, before or after it, speaks for the same.
    pub fn principal(&self) -> String {
        format!("{}@{}", self.name, self.id)
    }

    fn is_named(&self, which: &str) -> bool {
        self.id == which || self.name == which
    }
}

// === impl TokenFile ===

impl TokenFile {
    fn check_version(&self) -> Result<(), TokenStoreError> {
        if self.version > FILE_VERSION {
            return Err(TokenStoreError::Version { found: self.version });
        }
        Ok(())
    }
}

/// Short enough to type; that it is new is checked when it is kept.
fn new_id() -> Result<String, getrandom::Error> {
    Ok(format!("{:08x}", getrandom::u32()?))
}

/// Names stand in principals and in tables, where nothing else may be mistaken for them.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=MAX_TOKEN_NAME_BYTES).contains(&name.len())
        && !name.starts_with('-')
        && name.chars().all(is_plain)
}
