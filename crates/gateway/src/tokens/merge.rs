//! Tokens of several machines that answer for the same clients, merged into the file of each.
//!
//! Used by the program for a cluster, which carries [`SharedToken`]s between the machines. Merging has one outcome in
//! whatever order it happens: a token that was revoked anywhere is revoked everywhere, for good. It does not know how
//! machines reach one another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::store::{MAX_REVOKED, MAX_TOKENS, TokenEntry, TokenFile, TokenStore, TokenStoreError};

/// A token as machines tell one another of it: what it is, or that it was revoked. It holds no secret, only its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedToken {
    id: String,
    /// `None` once it was revoked.
    token: Option<TokenEntry>,
}

/// Tokens by id, as the other machines know them.
pub type SharedTokens = BTreeMap<String, SharedToken>;

// === impl SharedToken ===

impl SharedToken {
    /// The token's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether it was revoked.
    pub fn is_revoked(&self) -> bool {
        self.token.is_none()
    }

    fn revoked(id: &str) -> Self {
        Self { id: id.to_owned(), token: None }
    }

    /// The last use is each machine's own.
    fn of_entry(entry: &TokenEntry) -> Self {
        let mut entry = entry.clone();
        entry.token.used = None;
        Self { id: entry.token.id.clone(), token: Some(entry) }
    }
}

// === impl TokenStore ===

impl TokenStore {
    /// Takes over what other machines know, and returns what they do not know yet. The file is written only if
    /// something in it changes.
    pub fn merge(&self, known: &SharedTokens) -> Result<Vec<SharedToken>, TokenStoreError> {
        let mut now = self.load()?;
        if !now.merge(known) {
            return Ok(now.unknown_to(known));
        }
        self.change_file(|file| {
            file.merge(known);
            Ok(file.unknown_to(known))
        })
    }
}

// === impl TokenFile ===

impl TokenFile {
    /// Takes over what other machines know. Whether anything was new.
    fn merge(&mut self, known: &SharedTokens) -> bool {
        let mut is_changed = false;
        for shared in known.values() {
            match &shared.token {
                None => {
                    self.tokens.retain(|entry| entry.token.id != shared.id);
                    // Where there is no room for more, the table of the machines remembers it alone.
                    is_changed |= self.revoked.len() < MAX_REVOKED && self.note_revoked(&shared.id);
                }
                Some(entry) if self.is_missing(&shared.id) => {
                    if self.tokens.len() >= MAX_TOKENS {
                        tracing::warn!(
                            id = shared.id,
                            "a token of another machine has no room here"
                        );
                        continue;
                    }
                    self.tokens.push(entry.clone());
                    is_changed = true;
                }
                Some(_) => {}
            }
        }
        if is_changed {
            self.tokens.sort_by_key(|entry| entry.token.created);
        }
        is_changed
    }

    fn is_missing(&self, id: &str) -> bool {
        !self.revoked.iter().any(|revoked| revoked == id)
            && !self.tokens.iter().any(|entry| entry.token.id == id)
    }

    /// What this file holds and the other machines do not know.
    fn unknown_to(&self, known: &SharedTokens) -> Vec<SharedToken> {
        let revoked = self
            .revoked
            .iter()
            .filter(|id| !known.get(*id).is_some_and(SharedToken::is_revoked))
            .map(|id| SharedToken::revoked(id));
        let tokens = self.tokens.iter().filter(|entry| !known.contains_key(&entry.token.id));
        revoked.chain(tokens.map(SharedToken::of_entry)).collect()
    }
}
