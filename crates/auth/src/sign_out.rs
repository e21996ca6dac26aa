//! The end of a sign-in.

use std::time::Duration;

use tokio::time::timeout;

use crate::account::OAuthAccount;
use crate::error::Error;
use crate::sign_in::SignIn;
use crate::token::TokenEndpoint;

/// How long the authorization server is waited for. Whoever waits for the record meanwhile is more patient.
const REVOCATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Signs out: takes the tokens back where the authorization server lets us, the refresh token first, and forgets the
/// sign-in whatever came of that. `Ok(None)` if nobody was signed in; an error within says why the tokens may live on.
pub async fn sign_out(sign_in: &SignIn) -> Result<Option<Result<(), Error>>, Error> {
    let _lock = sign_in.stored_record().lock().await?;
    let (record, is_lost) = sign_in.load_record().await?;
    // They are forgotten last: what ends us before that leaves somebody who knows which tokens there are.
    let told = match &record.account {
        Some(account) => Some(revoke_in_time(sign_in, account).await),
        None if is_lost => Some(Err(Error::NotTold { why: "the tokens cannot be read any more" })),
        None => None,
    };
    sign_in.stored_record().remove().await?;
    Ok(told)
}

async fn revoke_in_time(sign_in: &SignIn, account: &OAuthAccount) -> Result<(), Error> {
    let told = timeout(REVOCATION_TIMEOUT, revoke(sign_in, account)).await;
    told.unwrap_or(Err(Error::NotTold { why: "it did not answer in time" }))
}

async fn revoke(sign_in: &SignIn, account: &OAuthAccount) -> Result<(), Error> {
    let Some(endpoint) = &account.revocation_endpoint else {
        return Err(Error::NotTold { why: "it takes no tokens back, they end by themselves" });
    };
    let fetcher = sign_in.fetcher(account.server_zone)?;
    let signer = sign_in.signer()?;
    let desk = account.token_endpoint(&fetcher, signer.as_ref());
    let refresh = match &account.refresh {
        Some(refresh) => desk.revoke(endpoint, refresh.expose(), "refresh_token").await,
        None => Ok(()),
    };
    // One that is refused says nothing of the other.
    refresh.and(revoke_access(&desk, endpoint, account).await)
}

async fn revoke_access(
    desk: &TokenEndpoint<'_>,
    endpoint: &str,
    account: &OAuthAccount,
) -> Result<(), Error> {
    match desk.revoke(endpoint, account.access.expose(), "access_token").await {
        // A token that servers read by themselves cannot be taken back (RFC 7009, 2.2.1): it ends soon, and for good.
        Err(error) if error.is_refusal("unsupported_token_type") => Ok(()),
        revoked => revoked,
    }
}
