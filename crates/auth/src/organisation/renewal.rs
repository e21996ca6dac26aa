//! Renewal of an expired ID token. Any number of servers in any number of processes may need it at once; the
//! refresh token is sent once for all waiting calls.
//!
//! Used by `organisation::exchange`.

use super::IdentityProviderClient;
use crate::account::{OAuthAccount, SignInRecord};
use crate::error::{Error, IdentityProviderStep};
use crate::token::unix_now;

// === impl IdentityProviderClient ===

impl IdentityProviderClient {
    /// Returns the account with an ID token that has not expired.
    pub(super) async fn current(&self) -> Result<OAuthAccount, Error> {
        let (record, _) = self.shelf.load().await?;
        let Some(account) = record.account else { return Err(self.nobody_signed_in(record.lost)) };
        if !account.needs_renewal(unix_now()) {
            return Ok(account);
        }
        match self.renew(&account).await {
            // The ID token is valid for a while yet.
            Err(error) if !account.is_expired(unix_now()) => {
                tracing::warn!(error = error.error_chain(), "an id token could not be renewed");
                Ok(account)
            }
            renewed => renewed,
        }
    }

    /// Renews the ID token in a task of its own, so that a cancelled request does not lose a new refresh
    /// token.
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
            return Ok(account); // Another task or process has renewed the token.
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
