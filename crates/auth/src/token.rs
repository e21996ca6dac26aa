//! The token endpoint: token requests, revocation, and the answers to both.
//!
//! Used by `sign_in`, `device`, `grant`, `organisation` and `sign_out`. It does not store tokens (`store`).

use std::time::{SystemTime, UNIX_EPOCH};

use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_wire::sanitize;

use crate::account::{ClientAuthMethod, OAuthClient};
use crate::assertion::AssertionSigner;
use crate::dpop::{self, DpopProver, ProofSubject};
use crate::error::Error;
use crate::fetch::{FetchReply, Fetcher};
use crate::headers;
use crate::secret::Secret;

const REQUEST_NAME: &str = "a token";
/// The form fields that are not secret. All others are redacted in errors, including those of future grants.
const PUBLIC_FORM_FIELDS: [&str; 5] =
    ["grant_type", "redirect_uri", "resource", "scope", "token_type_hint"];
const CLIENT_ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A token endpoint, with our client there.
#[derive(Clone, Copy)]
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) issuer: &'a str,
    pub(crate) endpoint: &'a str,
    pub(crate) client: &'a OAuthClient,
    pub(crate) signer: Option<&'a AssertionSigner>,
    /// The DPoP key that tokens should be bound to.
    pub(crate) prover: Option<&'a DpopProver>,
}

/// An issued token.
#[derive(Debug)]
pub(crate) struct IssuedToken {
    pub(crate) access: Secret<String>,
    pub(crate) refresh: Option<Secret<String>>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) obtained_at: u64,
    /// The DPoP key that the token is bound to.
    pub(crate) key: Option<Secret<String>>,
    pub(crate) id_token: Option<Secret<String>>,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: String,
    #[serde(default)]
    expires_in: Option<Value>,
    #[serde(default)]
    refresh_token: Option<String>,
    #[serde(default)]
    id_token: Option<String>,
}

#[derive(Deserialize)]
struct TokenErrorResponse {
    error: String,
    #[serde(default)]
    error_description: Option<String>,
}

// === impl TokenEndpoint ===

impl TokenEndpoint<'_> {
    /// Requests a token; `form` is the grant.
    pub(crate) async fn request_token(&self, form: &[(&str, &str)]) -> Result<IssuedToken, Error> {
        let reply = self.send(REQUEST_NAME, self.endpoint, form).await?;
        let answer: TokenResponse = self.read_reply(REQUEST_NAME, self.endpoint, &reply, form)?;
        let is = |kind: &str| answer.token_type.eq_ignore_ascii_case(kind);
        let bound = self.prover.filter(|_| is("dpop"));
        if !is("bearer") && bound.is_none() {
            let kind = sanitize::sanitize_line(&answer.token_type);
            let error = format!("a token of the unknown kind `{kind}` was given");
            return Err(Error::Refused { what: REQUEST_NAME, error, description: None });
        }
        Ok(answer.into_issued_token(bound))
    }

    /// Revokes a token (RFC 7009).
    pub(crate) async fn revoke(
        &self,
        endpoint: &str,
        token: &str,
        kind: &str,
    ) -> Result<(), Error> {
        let what = "the end of a token";
        let form = [("token", token), ("token_type_hint", kind)];
        let reply = self.send(what, endpoint, &form).await?;
        if reply.status.is_success() {
            return Ok(());
        }
        Err(refusal_error(what, endpoint, &reply).redact_secrets(&self.secrets(&form)))
    }

    /// Parses an answer. Some endpoints repeat the request when they refuse it, so its secrets are redacted
    /// in the error.
    pub(crate) fn read_reply<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &str,
        reply: &FetchReply,
        form: &[(&str, &str)],
    ) -> Result<T, Error> {
        parse_reply(what, url, reply).map_err(|error| error.redact_secrets(&self.secrets(form)))
    }

    fn secrets<'a>(&'a self, form: &[(&str, &'a str)]) -> Vec<&'a str> {
        let sent = form
            .iter()
            .filter(|(name, _)| !PUBLIC_FORM_FIELDS.contains(name))
            .map(|(_, value)| *value);
        sent.chain(self.client.secret.as_ref().map(|secret| secret.expose().as_str())).collect()
    }

    /// Sends a form, and once more with the server's nonce if the server asks for it.
    pub(crate) async fn send(
        &self,
        what: &'static str,
        url: &str,
        form: &[(&str, &str)],
    ) -> Result<FetchReply, Error> {
        let reply = self.send_once(what, url, form, None).await?;
        let nonce = reply.headers.get(dpop::NONCE_HEADER).and_then(|nonce| nonce.to_str().ok());
        match nonce.filter(|_| self.prover.is_some() && reply.asks_for_nonce()) {
            Some(nonce) => self.send_once(what, url, form, Some(nonce)).await,
            None => Ok(reply),
        }
    }

    async fn send_once(
        &self,
        what: &'static str,
        url: &str,
        form: &[(&str, &str)],
        nonce: Option<&str>,
    ) -> Result<FetchReply, Error> {
        let mut form = form.to_vec();
        let mut headers = HeaderMap::new();
        let id = self.client.id.as_str();
        let secret = self.client.secret.as_ref().map(|secret| secret.expose().as_str());
        let assertion = self.assertion()?;
        match (self.client.auth, secret, &assertion) {
            (ClientAuthMethod::ClientSecretBasic, Some(secret), _) => {
                headers
                    .extend(headers::basic_header(id, secret).map(|value| (AUTHORIZATION, value)));
            }
            (ClientAuthMethod::ClientSecretPost, Some(secret), _) => {
                form.extend([("client_id", id), ("client_secret", secret)]);
            }
            (ClientAuthMethod::PrivateKeyJwt, _, Some(assertion)) => {
                form.extend([
                    ("client_assertion_type", CLIENT_ASSERTION_TYPE),
                    ("client_assertion", assertion),
                ]);
            }
            _ => form.push(("client_id", id)),
        }
        if let Some(prover) = self.prover {
            let place = self.fetcher.check_url(what, url)?;
            let proven = ProofSubject { method: &Method::POST, url: &place, nonce, token: None };
            headers.insert(dpop::PROOF_HEADER, prover.prove(&proven)?);
        }
        self.fetcher.post_form(what, url, &form, headers).await
    }

    fn assertion(&self) -> Result<Option<String>, Error> {
        let signer = self.signer.filter(|_| self.client.auth == ClientAuthMethod::PrivateKeyJwt);
        signer.map(|signer| signer.sign_client_assertion(&self.client.id, self.issuer)).transpose()
    }
}

// === impl TokenResponse ===

impl TokenResponse {
    fn into_issued_token(self, bound: Option<&DpopProver>) -> IssuedToken {
        let obtained_at = unix_now();
        let life = self.expires_in.as_ref().and_then(|life| match life {
            Value::String(text) => text.parse().ok(),
            life => life.as_u64(),
        });
        IssuedToken {
            access: self.access_token.into(),
            refresh: self.refresh_token.filter(|token| !token.is_empty()).map(Secret::new),
            expires_at: life.map(|life| obtained_at.saturating_add(life)),
            obtained_at,
            key: bound.map(|prover| prover.secret().clone()),
            id_token: self.id_token.map(Secret::new),
        }
    }
}

// === impl FetchReply ===

impl FetchReply {
    fn asks_for_nonce(&self) -> bool {
        let refusal = serde_json::from_slice::<TokenErrorResponse>(&self.text);
        refusal.is_ok_and(|refusal| refusal.error == dpop::USE_NONCE_ERROR)
    }
}

/// Seconds since 1970.
pub(crate) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Parses the answer of an OAuth endpoint. A refusal is a JSON object with an error code.
pub(crate) fn parse_reply<T: DeserializeOwned>(
    what: &'static str,
    url: &str,
    reply: &FetchReply,
) -> Result<T, Error> {
    // Some endpoints answer 200 with an error in the body.
    let refused = serde_json::from_slice::<TokenErrorResponse>(&reply.text).is_ok();
    if refused || !reply.status.is_success() {
        return Err(refusal_error(what, url, reply));
    }
    reply.read(what, url)
}

fn refusal_error(what: &'static str, url: &str, reply: &FetchReply) -> Error {
    let clean = |text: String| sanitize::sanitize_line(&text).into_owned();
    match serde_json::from_slice::<TokenErrorResponse>(&reply.text) {
        Ok(TokenErrorResponse { error, error_description }) if !reply.status.is_server_error() => {
            Error::Refused { what, error: clean(error), description: error_description.map(clean) }
        }
        _ => Error::Status { what, url: clean(url.to_owned()), status: reply.status.as_u16() },
    }
}
