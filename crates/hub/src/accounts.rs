//! The accounts of a store of sign-ins: who is signed in to which server, and how one account ends.
//!
//! Used by `switchboard accounts` and the admin API. It shows no token. People sign in through `credentials` and
//! `switchboard login`.

use std::sync::Arc;

use serde::Serialize;
use switchboard_auth::{
    Error, OAuthAccount, SignIn, SignInRecord, SignInStore, SignInStoreError, sign_out,
};
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_wire::http::HttpPoolOptions;

/// One account at a server, without its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountInfo {
    /// The id of the account: the key of its record, which says nothing about it.
    pub id: String,
    /// The name of the server.
    pub server: String,
    /// The URL of the server.
    pub url: String,
    /// The id of the principal that is signed in.
    pub principal: String,
    /// The authorization server.
    pub issuer: String,
    /// The scopes that were requested.
    pub scopes: Vec<String>,
    /// When the access token expires, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether the hub renews the access token without the person.
    pub renewable: bool,
}

/// How an account ended.
#[derive(Debug)]
pub struct EndedAccount {
    /// Why the authorization server may still accept the tokens.
    pub problem: Option<Error>,
}

/// Lists all accounts, by server and principal. May block on a disk or a keychain.
pub fn list_accounts(store: &dyn SignInStore) -> Result<Vec<AccountInfo>, SignInStoreError> {
    let mut accounts = Vec::new();
    for id in store.keys()? {
        let Some(record) = store.load(&id)? else { continue };
        if let Some(account) = &record.account {
            accounts.push(AccountInfo::new(id, &record, account));
        }
    }
    accounts.sort_by(|one, other| {
        (&one.server, &one.principal, &one.id).cmp(&(&other.server, &other.principal, &other.id))
    });
    Ok(accounts)
}

/// Signs the principal of a record out: revokes the tokens and deletes the record. `None` if nobody was signed in.
pub async fn end_account(
    store: &Arc<dyn SignInStore>,
    id: &str,
    record: &SignInRecord,
) -> Result<Option<EndedAccount>, Error> {
    let network = HttpPoolOptions::default();
    let Some(sign_in) = SignIn::from_record(id, record, Arc::clone(store), network) else {
        return Ok(None);
    };
    let outcome = sign_out(&sign_in).await?;
    Ok(outcome.map(|revoked| EndedAccount { problem: revoked.err() }))
}

// === impl AccountInfo ===

impl AccountInfo {
    fn new(id: String, record: &SignInRecord, account: &OAuthAccount) -> Self {
        let principal = record.principal.as_deref().unwrap_or(LOCAL_PRINCIPAL);
        Self {
            id,
            server: record.server.clone(),
            url: record.url.clone(),
            principal: principal.to_owned(),
            issuer: account.issuer.clone(),
            scopes: account.scopes.clone(),
            expires_at: account.expires_at,
            renewable: account.refresh.is_some(),
        }
    }
}
