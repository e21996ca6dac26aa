//! The file of tokens in user state.
//!
//! Used by `switchboard token` to create, list and revoke, and by `verifier` to read. It does not
//! verify requests (`verifier`).

use std::path::Path;

use serde::{Deserialize, Serialize};
use switchboard_config::edit::StateFile;
use switchboard_core::principal::Principal;

use super::secret::{TokenDigest, TokenSecret};

/// The version of the file format.
const FILE_VERSION: u32 = 1;
/// The most tokens in the file, more than a person creates.
pub(super) const MAX_TOKENS: usize = 1000;
/// The most revoked tokens whose ids are kept; the oldest are forgotten first.
pub(super) const MAX_REVOKED: usize = 10_000;
/// The longest name, in bytes.
const MAX_TOKEN_NAME_BYTES: usize = 64;
/// The longest name of a user or a group, in bytes.
const MAX_USER_NAME_BYTES: usize = 128;
/// The most groups of one token.
const MAX_GROUPS: usize = 64;

/// The token file. Its methods block on the disk, so async code must not call them.
#[derive(Debug, Clone)]
pub struct TokenStore {
    file: StateFile,
}

/// The description of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientToken {
    /// The id, unique among all tokens, including revoked ones.
    pub id: String,
    /// The name that its creator chose.
    pub name: String,
    /// The person that its client acts for; without one, the client is a service of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether its client acts for the person who runs the hub.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_mine: bool,
    /// The groups that its client is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The time of creation, in seconds since 1970.
    pub created: u64,
    /// The time of expiry, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The time of the last use, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
}

/// A token to be created.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewToken {
    /// The name; without one, the id is the name.
    pub name: Option<String>,
    /// The person that its client acts for.
    pub user: Option<String>,
    /// Whether its client acts for the person who runs the hub, with their sign-ins. A user then counts for nothing.
    pub is_mine: bool,
    /// The groups that its client is in.
    pub groups: Vec<String>,
    /// The time of expiry, in seconds since 1970.
    pub expires: Option<u64>,
}

/// A created token. The secret is stored nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedToken {
    /// The description.
    pub token: ClientToken,
    /// The secret that the client sends.
    pub secret: TokenSecret,
}

/// Why a token operation failed. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenStoreError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] switchboard_config::Error),
    /// The file has a later version.
    #[error("the tokens were stored by a later version ({found})")]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// The name is not allowed.
    #[error(
        "`{name}` cannot be a token's name; it takes up to {MAX_TOKEN_NAME_BYTES} of A-Z, a-z, 0-9, `.`, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The name of a user or a group is not allowed.
    #[error(
        "`{name}` cannot be the name of a user or a group; it takes up to {MAX_USER_NAME_BYTES} bytes of letters, \
         digits and `. _ - @ + / :`"
    )]
    Person {
        /// The name.
        name: String,
    },
    /// The token has too many groups.
    #[error("a token has at most {MAX_GROUPS} groups")]
    Groups,
    /// Another token has this name.
    #[error("there is a token `{name}` already")]
    Exists {
        /// The name.
        name: String,
    },
    /// No token has that id or name.
    #[error("there is no token `{which}`")]
    NoSuch {
        /// The id or name that was looked up.
        which: String,
    },
    /// The file holds too many tokens.
    #[error("there are {MAX_TOKENS} tokens already, the maximum")]
    Full,
    /// The system's random number generator failed.
    #[error("the operating system provides no random numbers")]
    Random(#[from] getrandom::Error),
}

/// The contents of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TokenFile {
    version: u32,
    pub(super) tokens: Vec<TokenEntry>,
    /// The ids of revoked tokens, oldest first: a machine that has not heard of it yet cannot bring one back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) revoked: Vec<String>,
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

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// All tokens that are not revoked, in order of creation, including expired ones.
    pub fn list(&self) -> Result<Vec<ClientToken>, TokenStoreError> {
        Ok(self.load()?.tokens.into_iter().map(|entry| entry.token).collect())
    }

    /// Creates a token. `now` is in seconds since 1970.
    pub fn create(&self, new: NewToken, now: u64) -> Result<CreatedToken, TokenStoreError> {
        let secret = TokenSecret::new()?;
        let id = new_id()?;
        let name = new.name.clone().unwrap_or_else(|| id.clone());
        if !is_name(&name) {
            return Err(TokenStoreError::Name { name });
        }
        let NewToken { user, is_mine, groups, expires, .. } = new;
        check_person(user.as_ref(), &groups)?;
        let token =
            ClientToken { id, name, user, is_mine, groups, created: now, expires, used: None };
        let entry = TokenEntry { token: token.clone(), sha256: TokenDigest::of(secret.reveal()) };
        self.change_file(|TokenFile { tokens, .. }| {
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

    /// Revokes the token with this id or name: it is refused from now on.
    pub fn revoke(&self, which: &str) -> Result<ClientToken, TokenStoreError> {
        self.change_file(|file| {
            let at = file.tokens.iter().position(|entry| entry.token.is_named(which));
            let at = at.ok_or_else(|| TokenStoreError::NoSuch { which: which.to_owned() })?;
            let token = file.tokens.remove(at).token;
            file.note_revoked(&token.id);
            Ok(token)
        })
    }

    /// Records the last use of a token. A token revoked meanwhile stays revoked.
    pub(super) fn note_use(&self, id: &str, now: u64) -> Result<(), TokenStoreError> {
        self.change_file(|TokenFile { tokens, .. }| {
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

    pub(super) fn change_file<R>(
        &self,
        change: impl FnOnce(&mut TokenFile) -> Result<R, TokenStoreError>,
    ) -> Result<R, TokenStoreError> {
        self.file.change(|content: &mut TokenFile| {
            content.check_version()?;
            content.version = FILE_VERSION;
            change(content)
        })
    }
}

// === impl ClientToken ===

impl ClientToken {
    /// Whether the token is valid at `now`, in seconds since 1970.
    pub fn is_good(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// The principal of the token's client: the person who runs the hub, its user, whose tokens are all one principal, else a service of its own.
    pub fn principal(&self) -> Principal {
        let principal = match &self.user {
            _ if self.is_mine => Principal::local_by_token(),
            Some(user) => Principal::user(user),
            None => Principal::service(&self.name, &self.id),
        };
        principal.with_groups(self.groups.iter().map(String::as_str))
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

    /// Notes that a token was revoked. Whether that is new.
    pub(super) fn note_revoked(&mut self, id: &str) -> bool {
        if self.revoked.iter().any(|revoked| revoked == id) {
            return false;
        }
        self.revoked.push(id.to_owned());
        let excess = self.revoked.len().saturating_sub(MAX_REVOKED);
        self.revoked.drain(..excess);
        true
    }
}

/// A new id, short enough to type. The caller checks that it is unused.
fn new_id() -> Result<String, getrandom::Error> {
    Ok(format!("{:08x}", getrandom::u32()?))
}

/// Whether a name is allowed. Names appear in principals and tables, so only a few characters are.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=MAX_TOKEN_NAME_BYTES).contains(&name.len())
        && !name.starts_with('-')
        && name.chars().all(is_plain)
}

/// Checks the names of a token's user and groups. They stand in ids, rules and tables.
fn check_person(user: Option<&String>, groups: &[String]) -> Result<(), TokenStoreError> {
    if groups.len() > MAX_GROUPS {
        return Err(TokenStoreError::Groups);
    }
    let is_plain = |c: char| c.is_alphanumeric() || "._-@+/:".contains(c);
    let is_allowed = |name: &&String| {
        (1..=MAX_USER_NAME_BYTES).contains(&name.len())
            && !name.starts_with('-')
            && name.chars().all(is_plain)
    };
    match user.into_iter().chain(groups).find(|name| !is_allowed(name)) {
        Some(name) => Err(TokenStoreError::Person { name: name.clone() }),
        None => Ok(()),
    }
}
