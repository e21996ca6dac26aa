//! The signed-in user of an identity provider, read from the ID token.
//!
//! Used by `organisation` and `switchboard xaa`. It does not verify the signature: the token came from the
//! provider's own token endpoint over TLS, which OpenID Connect accepts instead, and only that provider acts
//! on it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use switchboard_wire::sanitize;

use super::{DiscoveredProvider, IdentityProviderClient};
use crate::account::{OAuthAccount, SignInRecord};
use crate::error::Error;
use crate::secret::Secret;
use crate::token::{IssuedToken, unix_now};

/// The user who is signed in to an identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedInUser {
    /// The provider's issuer.
    pub issuer: String,
    /// The provider's id for the user; sanitized, like every text here.
    pub subject: String,
    /// The user's email address or user name.
    pub name: Option<String>,
    /// When the ID token expires, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether the ID token can be renewed without the user.
    pub renewable: bool,
    /// Why it cannot be renewed any more.
    pub lost: Option<String>,
}

/// The claims of an ID token that are used here.
#[derive(Deserialize)]
struct IdTokenClaims {
    iss: String,
    sub: String,
    aud: Value,
    exp: u64,
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    preferred_username: Option<String>,
}

// === impl SignedInUser ===

impl SignedInUser {
    pub(super) fn from_record(record: &SignInRecord) -> Option<Self> {
        let account = record.account.as_ref()?;
        let claims = IdTokenClaims::read(account.id_token.as_ref()?).ok()?;
        let clean = |text: String| sanitize::sanitize_line(&text).into_owned();
        Some(Self {
            issuer: clean(claims.iss),
            subject: clean(claims.sub),
            name: claims.email.or(claims.preferred_username).map(clean),
            expires_at: account.expires_at,
            renewable: account.refresh.is_some(),
            lost: record.lost.clone(),
        })
    }
}

// === impl IdentityProviderClient ===

impl IdentityProviderClient {
    /// Builds the account for an issued token that replaces `before`.
    pub(super) fn account(
        &self,
        known: &DiscoveredProvider,
        granted: IssuedToken,
        before: Option<&OAuthAccount>,
    ) -> Result<OAuthAccount, Error> {
        // A renewal may omit the ID token; the earlier one then stays.
        let again = before.filter(|before| !before.is_expired(unix_now()));
        let id_token =
            granted.id_token.or_else(|| again.and_then(|before| before.id_token.clone()));
        let wrong = |why| {
            let issuer = sanitize::sanitize_line(&self.settings.issuer).into_owned();
            Error::NoIdentityToken { issuer, why }
        };
        let id_token = id_token.ok_or_else(|| wrong("there is no id token in its answer"))?;
        let claims = IdTokenClaims::read(&id_token).map_err(wrong)?;
        claims.check(&self.settings, self.principal.as_deref()).map_err(wrong)?;
        Ok(OAuthAccount {
            issuer: known.server.issuer.clone(),
            token_endpoint: known.server.token_endpoint.clone(),
            revocation_endpoint: known.server.revocation_endpoint.clone(),
            client: known.client.clone(),
            resource: None,
            scopes: self.scopes(&known.server),
            access: granted.access,
            expires_at: Some(claims.exp),
            obtained_at: granted.obtained_at,
            signed_in_at: before.map_or(Some(granted.obtained_at), |before| before.signed_in_at),
            refresh: granted.refresh.or_else(|| before.and_then(|before| before.refresh.clone())),
            key: None,
            id_token: Some(id_token),
            server_zone: known.fetcher.first_zone(),
            sign_in_id: match before {
                Some(before) => before.sign_in_id.clone(),
                None => OAuthAccount::new_sign_in_id()?,
            },
        })
    }
}

// === impl IdTokenClaims ===

impl IdTokenClaims {
    fn read(token: &Secret<String>) -> Result<Self, &'static str> {
        let claims = token.expose().split('.').nth(1).ok_or("its id token is no JWT")?;
        let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| "its id token is no JWT")?;
        serde_json::from_slice(&claims).map_err(|_| "claims are missing in its id token")
    }

    fn check(
        &self,
        settings: &switchboard_config::IdentityProvider,
        principal: Option<&str>,
    ) -> Result<(), &'static str> {
        // A principal of the same issuer has its subject in its id; other principals may be anybody there.
        let subject = principal.and_then(|id| id.strip_prefix(&settings.issuer)?.strip_prefix(' '));
        let ours = Value::from(settings.client_id.as_str());
        let is_for_us = self.aud == ours
            || self.aud.as_array().is_some_and(|audience| audience.contains(&ours));
        match () {
            () if self.iss != settings.issuer => Err("its id token is of another issuer"),
            () if !is_for_us => Err("its id token is for another client"),
            () if subject.is_some_and(|subject| subject != self.sub) => {
                Err("its id token is of another person")
            }
            () if self.exp <= unix_now() => Err("its id token has ended already"),
            () => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(claims: &Value, expected: Result<(), &str>) {
        check_of(None, claims, expected);
    }

    fn check_of(principal: Option<&str>, claims: &Value, expected: Result<(), &str>) {
        let settings = switchboard_config::IdentityProvider {
            issuer: "https://idp.example".into(),
            client_id: "us".into(),
            client_secret_helper: None,
            scopes: Vec::new(),
            callback_port: None,
        };
        let token = format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let found = IdTokenClaims::read(&token.into())
            .and_then(|claims| claims.check(&settings, principal));
        assert_eq!(found, expected, "{claims}");
    }

    #[test]
    fn an_id_token_is_ours_or_it_is_none() {
        let end = unix_now() + 60;
        let claims = |iss: &str, aud: Value, exp: u64| json!({"iss": iss, "sub": "s", "aud": aud, "exp": exp});
        let idp = "https://idp.example";
        check(&claims(idp, json!("us"), end), Ok(()));
        check(&claims(idp, json!(["them", "us"]), end), Ok(()));
        check(&claims(idp, json!("them"), end), Err("its id token is for another client"));
        check(&claims("https://evil", json!("us"), end), Err("its id token is of another issuer"));
        check(&claims(idp, json!("us"), unix_now() - 1), Err("its id token has ended already"));
        check(&json!({"iss": idp}), Err("claims are missing in its id token"));
        let of_s = claims(idp, json!("us"), end);
        for (principal, expected) in [
            ("user:ada", Ok(())),
            ("https://idp.example s", Ok(())),
            ("https://other.example x", Ok(())),
            ("https://idp.example x", Err("its id token is of another person")),
            ("https://idp.example s x", Err("its id token is of another person")),
        ] {
            check_of(Some(principal), &of_s, expected);
        }
    }
}
