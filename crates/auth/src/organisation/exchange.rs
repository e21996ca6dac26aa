//! An id token, exchanged for a grant that one server's authorization server accepts (RFC 8693).

use serde::Deserialize;
use switchboard_wire::sanitize;

use super::IdentityProvider;
use crate::account::Account;
use crate::error::{Error, Leg};
use crate::secret::Secret;
use crate::token::read;

const WHAT: &str = "a grant for the server";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const GRANT: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// What a grant is for.
pub(crate) struct Target<'a> {
    /// The server's authorization server.
    pub(crate) audience: &'a str,
    /// The server.
    pub(crate) resource: &'a str,
    pub(crate) scopes: &'a [String],
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    #[serde(default)]
    issued_token_type: String,
}

// === impl IdentityProvider ===

impl IdentityProvider {
    /// A grant for one server, for whoever is signed in.
    pub(crate) async fn grant(&self, target: &Target<'_>) -> Result<Secret<String>, Error> {
        let account = self.current().await?;
        match self.exchange(&account, target).await {
            // The provider has ended what looked good to us: one more try, with another id token.
            Err(error) if error.is_refusal("invalid_grant") && account.refresh.is_some() => {
                self.exchange(&self.renew(&account).await?, target).await
            }
            exchanged => exchanged,
        }
    }

    async fn exchange(
        &self,
        account: &Account,
        target: &Target<'_>,
    ) -> Result<Secret<String>, Error> {
        let Some(id_token) = &account.id_token else { return Err(self.nobody(None)) };
        let known = self.discover().await?;
        let scope = target.scopes.join(" ");
        let mut form = vec![
            ("grant_type", EXCHANGE),
            ("requested_token_type", GRANT),
            ("audience", target.audience),
            ("resource", target.resource),
            ("subject_token", id_token.expose().as_str()),
            ("subject_token_type", ID_TOKEN),
        ];
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        let endpoint = &known.server.token_endpoint;
        let exchanged = async {
            let reply = known.desk().send(WHAT, endpoint, &form).await?;
            read::<Answer>(WHAT, endpoint, &reply)?.grant()
        };
        exchanged.await.map_err(|error: Error| error.on(Leg::Exchange, endpoint))
    }
}

// === impl Answer ===

impl Answer {
    fn grant(self) -> Result<Secret<String>, Error> {
        if self.issued_token_type != GRANT {
            let kind = sanitize::line(&self.issued_token_type).into_owned();
            return Err(Error::NotAGrant { kind });
        }
        Ok(self.access_token.into())
    }
}
