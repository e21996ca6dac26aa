//! The stored record of a sign-in: tokens, client registrations and wanted scopes of one server.
//!
//! Used by `sign_in`, `oauth_credentials`, `organisation` and `store`, which writes it sealed. It does not
//! read or write files (`store`) and does not renew tokens (`oauth_credentials::renewal`).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use switchboard_wire::http::SignInInfo;

use crate::error::Error;
use crate::network_zone::NetworkZone;
use crate::secret::Secret;

/// The stored record of one server. A part that belongs to one authorization server is never sent to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignInRecord {
    /// The server's name, for people who list the store.
    pub server: String,
    /// The server's URL.
    pub url: String,
    /// The id of the principal that signed in; `None` for the local one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The current sign-in.
    pub account: Option<OAuthAccount>,
    /// The clients that authorization servers registered for Switchboard, by issuer.
    pub registrations: BTreeMap<String, ClientRegistration>,
    /// Extra scopes that the next sign-in should request.
    #[serde(rename = "wanted")]
    pub extra_scopes: Vec<String>,
    /// Why the last token was lost, if it was.
    pub lost: Option<String>,
}

/// A sign-in with one authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthAccount {
    /// The issuer of the authorization server.
    pub issuer: String,
    /// The URL of the token endpoint.
    pub token_endpoint: String,
    /// The URL of the revocation endpoint.
    pub revocation_endpoint: Option<String>,
    /// The client that Switchboard is at this authorization server.
    pub client: OAuthClient,
    /// The resource that the token is for, spelled as its metadata spell it.
    pub resource: Option<String>,
    /// The scopes that were requested.
    pub scopes: Vec<String>,
    /// The access token.
    pub access: Secret<String>,
    /// When the access token expires, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// When the access token was issued, in seconds since 1970.
    pub obtained_at: u64,
    /// When the person signed in, in seconds since 1970: renewals keep it. `None` in records that were written
    /// before sign-ins had it.
    #[serde(default)]
    pub signed_in_at: Option<u64>,
    /// The refresh token.
    pub refresh: Option<Secret<String>>,
    /// The private key that a DPoP token is bound to.
    #[serde(default)]
    pub key: Option<Secret<String>>,
    /// The ID token of an identity provider: it says who signed in.
    #[serde(default)]
    pub id_token: Option<Secret<String>>,
    /// The id of the sign-in: renewed tokens keep it, a new sign-in gets a new one. Empty in records that
    /// were written before sign-ins had ids.
    #[serde(default)]
    pub sign_in_id: String,
    /// The network zone of the server during the sign-in. URLs that the server names must lie in a zone that
    /// this zone may name.
    #[serde(default)]
    pub server_zone: Option<NetworkZone>,
}

/// An OAuth client at an authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthClient {
    /// The client id.
    pub id: String,
    /// The client secret, for a confidential client.
    pub secret: Option<Secret<String>>,
    /// How the client authenticates at the token endpoint.
    pub auth: ClientAuthMethod,
}

/// How a client authenticates at the token endpoint (`token_endpoint_auth_method`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthMethod {
    /// No authentication: a public client.
    None,
    /// Id and secret in the `Authorization` header.
    ClientSecretBasic,
    /// Id and secret in the form.
    ClientSecretPost,
    /// A signed client assertion (RFC 7523).
    PrivateKeyJwt,
}

/// A client that an authorization server registered for Switchboard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRegistration {
    /// The registered client.
    pub client: OAuthClient,
    /// The port of this machine in the client's redirect URI.
    pub port: u16,
    /// The redirect URI, where it is a page of this program instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

// === impl OAuthAccount ===

impl OAuthAccount {
    /// Returns a random id for a new sign-in.
    pub(crate) fn new_sign_in_id() -> Result<String, Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Whether the token should be renewed at `now`, in seconds since 1970: five minutes before it expires,
    /// or a fifth of its lifetime if that is shorter, so that a token of one minute is not renewed for every
    /// request.
    pub fn needs_renewal(&self, now: u64) -> bool {
        let Some(end) = self.expires_at else { return false };
        let life = end.saturating_sub(self.obtained_at);
        now.saturating_add((life / 5).min(300)) >= end
    }

    /// What is known of the sign-in, without its tokens. A program that signs in as itself needs no refresh
    /// token: it asks for a new token.
    pub(crate) fn info(&self, signs_in_alone: bool) -> SignInInfo {
        SignInInfo {
            issuer: self.issuer.clone(),
            scopes: self.scopes.clone(),
            signed_in_at: self.signed_in_at,
            expires_at: self.expires_at,
            is_renewable: signs_in_alone || self.refresh.is_some(),
        }
    }

    /// Whether the token has expired at `now`.
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

// === impl ClientAuthMethod ===

impl ClientAuthMethod {
    /// The method's name in metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The method with this name in metadata.
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
                signed_in_at: None,
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
