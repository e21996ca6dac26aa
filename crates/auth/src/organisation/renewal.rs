//! Another id token in place of one that has ended. Any number of servers may need it at once, in any number of
//! processes; the refresh token is shown once for all of them.

use super::IdentityProviderClient;
use crate::account::{OAuthAccount, SignInRecord};
use crate::error::{Error, IdentityProviderStep};
use crate::token::unix_now;

// === impl IdentityProvider ===

impl IdentityProviderClient {
    /// Who is signed in, with an id token that has not ended.
    pub(super) async fn current(&self) -> Result<OAuthAccount, Error> {
        let (record, _) = self.shelf.load().await?;
        let Some(account) = record.account else { return Err(self.nobody_signed_in(record.lost)) };
        if !account.needs_renewal(unix_now()) {
            return Ok(account);
        }
        match self.renew(&account).await {
            // It is good for a while yet.
            Err(error) if !account.is_expired(unix_now()) => {
                tracing::warn!(error = error.error_chain(), "an id token could not be renewed");
                Ok(account)
            }
            renewed => renewed,
        }
    }

    /// Goes on when nobody waits for it any more: what the provider has sent must not get lost on the way.
    pub(super) async fn renew(&self, before: &OAuthAccount) -> Result<OAuthAccount, Error> {
        let (provider, before) = (self.clone(), before.clone());
        let renewing = tokio::spawn(async move { provider.renew_alone(&before).await });
        let interrupted =
            |source| Error::Interrupted { what: "the renewal of an id token", source };
        renewing.await.map_err(interrupted)?
    }

    async fn renew_alone(&self, before: &OAuthAccount) -> Result<OAuthAccount, Error> {
        let _lock = self.shelf.lock().await?;
        let (record, _) = self.shelf.load().await?;
        let Some(account) = record.account else { return Err(self.nobody_signed_in(record.lost)) };
        if account.id_token != before.id_token {
            return Ok(account); // Somebody was faster.
        }
        match self.refresh(&account).await {
            Ok(renewed) => {
                self.shelf.save(&self.record(renewed.clone())).await?;
                Ok(renewed)
            }
            Err(error) if error.is_refusal("invalid_grant") => {
                let lost = Some(error.error_chain());
                let account = Some(OAuthAccount { refresh: None, ..account });
                self.shelf.save(&SignInRecord { account, lost, ..record }).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn refresh(&self, account: &OAuthAccount) -> Result<OAuthAccount, Error> {
        let Some(token) = &account.refresh else {
            return Err(self.nobody_signed_in(Some("the sign-in has expired".to_owned())));
        };
        let known = self.discover().await?;
        let form = [("grant_type", "refresh_token"), ("refresh_token", token.expose().as_str())];
        let granted = known.token_endpoint().request_token(&form).await;
        let endpoint = &known.server.token_endpoint;
        let granted =
            granted.map_err(|error| error.at_step(IdentityProviderStep::Renewal, endpoint))?;
        self.account(&known, granted, Some(account))
    }
}
