//! The token exchange (RFC 8693): an ID token for a grant that one server's authorization server accepts.
//!
//! Used by `grant` for entries with `oauth.xaa`.

use serde::Deserialize;
use switchboard_wire::sanitize;

use super::IdentityProviderClient;
use crate::account::OAuthAccount;
use crate::error::{Error, IdentityProviderStep};
use crate::secret::Secret;
use crate::token::parse_reply;

const REQUEST_NAME: &str = "a grant for the server";
const TOKEN_EXCHANGE_GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG_TYPE: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The server that a grant is for.
pub(crate) struct GrantTarget<'a> {
    /// The issuer of the server's authorization server.
    pub(crate) audience: &'a str,
    /// The server's resource identifier.
    pub(crate) resource: &'a str,
    pub(crate) scopes: &'a [String],
}

#[derive(Deserialize)]
struct ExchangeResponse {
    access_token: String,
    #[serde(default)]
    issued_token_type: String,
}

// === impl IdentityProviderClient ===

impl IdentityProviderClient {
    /// Requests a grant for one server on behalf of the signed-in user.
    pub(crate) async fn grant(&self, target: &GrantTarget<'_>) -> Result<Secret<String>, Error> {
        let account = self.current().await?;
        match self.exchange(&account, target).await {
            // The provider no longer accepts the ID token although it has not expired: retry once with a
            // renewed one.
            Err(error) if error.is_refusal("invalid_grant") && account.refresh.is_some() => {
                self.exchange(&self.renew(&account).await?, target).await
            }
            exchanged => exchanged,
        }
    }

    async fn exchange(
        &self,
        account: &OAuthAccount,
        target: &GrantTarget<'_>,
    ) -> Result<Secret<String>, Error> {
        let Some(id_token) = &account.id_token else { return Err(self.nobody_signed_in(None)) };
        let known = self.discover().await?;
        let scope = target.scopes.join(" ");
        let mut form = vec![
            ("grant_type", TOKEN_EXCHANGE_GRANT),
            ("requested_token_type", ID_JAG_TYPE),
            ("audience", target.audience),
            ("resource", target.resource),
            ("subject_token", id_token.expose().as_str()),
            ("subject_token_type", ID_TOKEN_TYPE),
        ];
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        let endpoint = &known.server.token_endpoint;
        let exchanged = async {
            let reply = known.token_endpoint().send(REQUEST_NAME, endpoint, &form).await?;
            parse_reply::<ExchangeResponse>(REQUEST_NAME, endpoint, &reply)?.grant()
        };
        exchanged
            .await
            .map_err(|error: Error| error.at_step(IdentityProviderStep::Exchange, endpoint))
    }
}

// === impl ExchangeResponse ===

impl ExchangeResponse {
    fn grant(self) -> Result<Secret<String>, Error> {
        if self.issued_token_type != ID_JAG_TYPE {
            let kind = sanitize::sanitize_line(&self.issued_token_type).into_owned();
            return Err(Error::NotAGrant { kind });
        }
        Ok(self.access_token.into())
    }
}
