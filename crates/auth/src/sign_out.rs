//! The end of a sign-in.

use crate::account::Account;
use crate::error::Error;
use crate::sign_in::SignIn;

/// Signs out: takes the tokens back where the authorization server lets us, the refresh token first, and forgets the
/// sign-in whatever came of that. `Ok(None)` if nobody was signed in.
pub async fn sign_out(sign_in: &SignIn) -> Result<Option<Result<(), Error>>, Error> {
    let _lock = sign_in.shelf().lock().await?;
    let (record, is_lost) = sign_in.known().await?;
    sign_in.shelf().remove().await?;
    match record.account {
        Some(account) => Ok(Some(revoke(sign_in, &account).await)),
        None if is_lost => Ok(Some(Ok(()))),
        None => Ok(None),
    }
}

async fn revoke(sign_in: &SignIn, account: &Account) -> Result<(), Error> {
    let Some(endpoint) = &account.revocation_endpoint else { return Ok(()) };
    let fetcher = sign_in.fetcher().await?;
    let signer = sign_in.signer()?;
    let desk = account.desk(&fetcher, signer.as_ref());
    if let Some(refresh) = &account.refresh {
        desk.revoke(endpoint, refresh.expose(), "refresh_token").await?;
    }
    match desk.revoke(endpoint, account.access.expose(), "access_token").await {
        // A token that servers read by themselves cannot be taken back (RFC 7009, 2.2.1): it ends soon, and for good.
        Err(error) if error.is_refusal("unsupported_token_type") => Ok(()),
        revoked => revoked,
    }
}
