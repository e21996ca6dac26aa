//! What is kept of a sign-in.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::network_zone::NetworkZone;
use crate::secret::Secret;

/// Everything kept for one server. An authorization server's part is never shown to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignInRecord {
    /// The name of the server, for whoever looks through the store.
    pub server: String,
    /// Where the server is.
    pub url: String,
    /// The sign-in that counts.
    pub account: Option<OAuthAccount>,
    /// Clients that authorization servers registered for us, by issuer.
    pub registrations: BTreeMap<String, ClientRegistration>,
    /// Scopes that the next sign-in should ask for too.
    pub wanted: Vec<String>,
    /// Why there is no token any more, where one was lost.
    pub lost: Option<String>,
}

/// A sign-in with one authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthAccount {
    /// The authorization server.
    pub issuer: String,
    /// Where it gives out tokens.
    pub token_endpoint: String,
    /// Where it takes them back.
    pub revocation_endpoint: Option<String>,
    /// As whom we are known there.
    pub client: OAuthClient,
    /// The resource the token is for, in its own spelling.
    pub resource: Option<String>,
    /// What was asked for.
    pub scopes: Vec<String>,
    /// The token.
    pub access: Secret<String>,
    /// When it ends, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// When it was given.
    pub obtained_at: u64,
    /// What the next one is had for.
    pub refresh: Option<Secret<String>>,
    /// The key that the token is bound to, of one that is.
    #[serde(default)]
    pub key: Option<Secret<String>>,
    /// Who signed in, in the words of an identity provider.
    #[serde(default)]
    pub id_token: Option<Secret<String>>,
    /// Names the sign-in: every token it is renewed to has the same, the next sign-in has another. Empty in records
    /// that were written before sign-ins had names.
    #[serde(default)]
    pub sign_in_id: String,
    /// Where the server was when somebody signed in to it. What it named may lie as far inside, and no further.
    #[serde(default)]
    pub server_zone: Option<NetworkZone>,
}

/// As whom we are known to an authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthClient {
    /// The id.
    pub id: String,
    /// The secret, of one that has one.
    pub secret: Option<Secret<String>>,
    /// How it proves who it is.
    pub auth: ClientAuthMethod,
}

/// How a client proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthMethod {
    /// It does not: a public client.
    None,
    /// Id and secret in the `Authorization` header.
    ClientSecretBasic,
    /// Id and secret in the form.
    ClientSecretPost,
    /// A signed statement.
    PrivateKeyJwt,
}

/// A client that an authorization server registered for us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRegistration {
    /// The client.
    pub client: OAuthClient,
    /// The port that its redirect URI names.
    pub port: u16,
}

// === impl Account ===

impl OAuthAccount {
    /// A name for a new sign-in.
    pub(crate) fn new_sign_in_id() -> Result<String, Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Whether it is time for another token, `now` being seconds since 1970. Five minutes before the end, or a fifth of
    /// the token's life where that is less: one that lives for a minute is not renewed with every request.
    pub fn needs_renewal(&self, now: u64) -> bool {
        let Some(end) = self.expires_at else { return false };
        let life = end.saturating_sub(self.obtained_at);
        now.saturating_add((life / 5).min(300)) >= end
    }

    /// Whether the token has ended.
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

// === impl ClientAuth ===

impl ClientAuthMethod {
    /// Its name in metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost, Self::PrivateKeyJwt]
            .into_iter()
            .find(|auth| auth.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_in_time_and_not_all_the_time() {
        let due = |life: u64, left: u64| {
            let account = OAuthAccount {
                issuer: String::new(),
                token_endpoint: String::new(),
                revocation_endpoint: None,
                client: OAuthClient {
                    id: String::new(),
                    secret: None,
                    auth: ClientAuthMethod::None,
                },
                resource: None,
                scopes: Vec::new(),
                access: Secret::new(String::new()),
                expires_at: Some(10_000 + life),
                obtained_at: 10_000,
                refresh: None,
                key: None,
                id_token: None,
                sign_in_id: String::new(),
                server_zone: None,
            };
            account.needs_renewal(10_000 + life - left)
        };
        assert!(due(3600, 299) && due(3600, 300) && !due(3600, 301));
        assert!(due(60, 12) && !due(60, 13));
        assert!(due(3600, 0));
    }
}
