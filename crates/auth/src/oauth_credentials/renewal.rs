//! Token renewal: one refresh request for all waiting tasks, and the new token is stored before it is used.
//!
//! Used by `oauth_credentials` before requests and after a 401. It does not decide when to renew
//! (`OAuthAccount::needs_renewal`).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Inner;
use crate::account::{OAuthAccount, SignInRecord};
use crate::error::Error;
use crate::secret::Secret;

/// The pauses between attempts while the authorization server fails.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

// === impl Inner ===

impl Inner {
    /// Renews the token of `before`. Runs as a task of its own, so that a cancelled request does not lose a
    /// new refresh token: the authorization server will not accept the old one again.
    pub(super) async fn renew(
        self: &Arc<Self>,
        before: &Arc<OAuthAccount>,
    ) -> Result<Arc<OAuthAccount>, Error> {
        let (inner, before) = (self.clone(), before.clone());
        let renewing = tokio::spawn(async move { inner.renew_alone(&before).await });
        let interrupted = |source| Error::Interrupted { what: "the renewal of a token", source };
        renewing.await.map_err(interrupted)?
    }

    async fn renew_alone(&self, before: &OAuthAccount) -> Result<Arc<OAuthAccount>, Error> {
        let _lock = self.sign_in.stored_record().lock().await?;
        let (record, stamp) = self.sign_in.stored_record().load().await?;
        self.remember(&record, stamp);
        match self.state().account.clone() {
            Some(account) if account.access != before.access => return Ok(account),
            _ => {}
        }
        match self.refresh(&record).await {
            Ok(account) => {
                self.store(SignInRecord { account: Some(account), lost: None, ..record }).await
            }
            Err(error) if error.is_refusal("invalid_grant") => {
                self.drop_refresh_token(record, &error).await;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn refresh(&self, record: &SignInRecord) -> Result<OAuthAccount, Error> {
        let (account, token) = refresh_token(record)?;
        let mut pauses = RETRY_PAUSES.iter();
        loop {
            let refreshed = self.sign_in.refresh(account, token.expose()).await;
            match (refreshed, pauses.next()) {
                (Err(error), Some(pause)) if error.is_transient() => sleep(*pause).await,
                (refreshed, _) => return refreshed,
            }
        }
    }

    /// Stores the renewed account. If that fails, the new token is used all the same, because the old one is
    /// void.
    async fn store(&self, record: SignInRecord) -> Result<Arc<OAuthAccount>, Error> {
        let stamp = match self.sign_in.stored_record().save(&record).await {
            Ok(stamp) => stamp,
            Err(error) => {
                let error = Error::from(error).error_chain();
                tracing::error!(error, "a renewed token could not be kept");
                self.sign_in.stored_record().stamp()
            }
        };
        self.remember(&record, stamp);
        // It is not there where another person has signed in to the identity provider meanwhile.
        self.state().account.clone().ok_or(Error::SignedOut)
    }

    /// Drops a refresh token that its authorization server refused as invalid. No other failure drops one.
    async fn drop_refresh_token(&self, mut record: SignInRecord, why: &Error) {
        if let Some(account) = &mut record.account {
            account.refresh = None;
        }
        record.lost = Some(format!("the sign-in has ended: {}", why.error_chain()));
        match self.sign_in.stored_record().save(&record).await {
            Ok(stamp) => self.remember(&record, stamp),
            Err(error) => {
                let error = Error::from(error).error_chain();
                tracing::warn!(error, "the end of a sign-in could not be noted");
            }
        }
    }
}

/// The account and the refresh token that a record holds.
fn refresh_token(record: &SignInRecord) -> Result<(&OAuthAccount, &Secret<String>), Error> {
    let account = record.account.as_ref().ok_or(Error::SignedOut)?;
    let token = account.refresh.as_ref();
    let token = token.ok_or_else(|| Error::NoRefreshToken { lost: record.lost.clone() })?;
    Ok((account, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both were told as an `invalid_grant` of the authorization server, which had not been asked.
    #[test]
    fn without_a_refresh_token_the_authorization_server_is_not_blamed() {
        let error = refresh_token(&SignInRecord::default()).unwrap_err();
        assert!(matches!(error, Error::SignedOut), "{error:?}");
        let account: OAuthAccount = serde_json::from_value(serde_json::json!({
            "issuer": "", "token_endpoint": "", "client": { "id": "", "auth": "none" },
            "scopes": [], "access": "", "obtained_at": 0,
        }))
        .unwrap();
        let lost = Some("it was used before".to_owned());
        let record = SignInRecord { account: Some(account), lost, ..SignInRecord::default() };
        let error = refresh_token(&record).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the token has expired, and no refresh token is stored: it was used before"
        );
    }
}
