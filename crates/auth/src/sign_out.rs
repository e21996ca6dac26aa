//! Signing out: revokes the tokens (RFC 7009) and deletes the stored record.
//!
//! Used by `switchboard logout`, `OAuthCredentials` and `organisation`.

use std::time::Duration;

use tokio::time::timeout;

use crate::account::OAuthAccount;
use crate::error::Error;
use crate::sign_in::SignIn;
use crate::token::TokenEndpoint;

/// How long revocation may take. Tasks that wait for the record's lock have a longer timeout.
const REVOCATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Signs out: revokes the tokens if the authorization server supports it, the refresh token first, and
/// deletes the record in any case. `Ok(None)` if no user was signed in; an inner error says why the tokens
/// may stay valid.
pub async fn sign_out(sign_in: &SignIn) -> Result<Option<Result<(), Error>>, Error> {
    let _lock = sign_in.stored_record().lock().await?;
    let (record, is_lost) = sign_in.load_record().await?;
    // The record is deleted last: if this process dies before, the tokens are still on record.
    let told = match &record.account {
        Some(account) => Some(revoke_in_time(sign_in, account).await),
        None if is_lost => {
            Some(Err(Error::ServerNotNotified { why: "the tokens cannot be read any more" }))
        }
        None => None,
    };
    sign_in.stored_record().remove().await?;
    Ok(told)
}

async fn revoke_in_time(sign_in: &SignIn, account: &OAuthAccount) -> Result<(), Error> {
    let told = timeout(REVOCATION_TIMEOUT, revoke(sign_in, account)).await;
    told.unwrap_or(Err(Error::ServerNotNotified { why: "it did not answer in time" }))
}

async fn revoke(sign_in: &SignIn, account: &OAuthAccount) -> Result<(), Error> {
    let Some(endpoint) = &account.revocation_endpoint else {
        return Err(Error::ServerNotNotified { why: "it does not revoke tokens; they expire" });
    };
    let fetcher = sign_in.fetcher(account.server_zone)?;
    let signer = sign_in.signer()?;
    let endpoint_client = account.token_endpoint(&fetcher, signer.as_ref());
    let refresh = match &account.refresh {
        Some(refresh) => endpoint_client.revoke(endpoint, refresh.expose(), "refresh_token").await,
        None => Ok(()),
    };
    // A refused refresh token does not keep the access token from being revoked.
    refresh.and(revoke_access(&endpoint_client, endpoint, account).await)
}

async fn revoke_access(
    endpoint_client: &TokenEndpoint<'_>,
    endpoint: &str,
    account: &OAuthAccount,
) -> Result<(), Error> {
    match endpoint_client.revoke(endpoint, account.access.expose(), "access_token").await {
        // A self-contained token cannot be revoked (RFC 7009, 2.2.1); it expires soon.
        Err(error) if error.is_refusal("unsupported_token_type") => Ok(()),
        revoked => revoked,
    }
}
