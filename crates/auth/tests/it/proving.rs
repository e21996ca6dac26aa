//! Tests of DPoP tokens: proofs, nonces, and one key for as long as the sign-in lasts.

use std::sync::Arc;

use switchboard_auth::{Error, SignInRequirement, UserPresence};
use switchboard_config::OAuth;
use switchboard_wire::http::{HttpError, HttpPoolOptions};
use tempfile::TempDir;

use crate::house::{call, client, sign_in};
use crate::vault::{Agreeable, Vault};

/// A vault with a sign-in.
async fn opened() -> (Vault, TempDir) {
    let (vault, folder) = (Vault::open().await, tempfile::tempdir().unwrap());
    let demand =
        SignInRequirement::fetch(&vault.url(), &HttpPoolOptions::default()).await.unwrap().unwrap();
    let sign_in = sign_in(vault.url(), folder.path(), OAuth::default());
    let account = sign_in.run(&demand, &Agreeable).await.unwrap();
    assert!(account.key.is_some());
    assert!(!format!("{account:?}").contains(account.key.unwrap().expose()));
    (vault, folder)
}

#[tokio::test]
async fn every_request_has_a_proof_of_its_own_with_the_nonce_of_the_server() {
    let (vault, folder) = opened().await;
    assert_eq!(vault.ledger().refused, 1, "the token endpoint wanted its nonce");
    let client = client(&vault.url(), folder.path(), UserPresence::Nobody);
    assert_eq!(call(&client).await.unwrap(), 200);
    assert_eq!(vault.ledger().refused, 2, "the server wanted its own");
    // A nonce that comes with a successful answer is used without a refusal.
    vault.ledger().next = Some("n-2".into());
    for _ in 0..3 {
        assert_eq!(call(&client).await.unwrap(), 200);
    }
    assert_eq!(vault.ledger().refused, 2);
    // A nonce that the server changed costs one more request.
    vault.ledger().nonce = "n-3".into();
    assert_eq!(call(&client).await.unwrap(), 200);
    assert_eq!(vault.ledger().refused, 3);
}

#[tokio::test]
async fn a_renewed_token_is_bound_to_the_same_key() {
    let (vault, folder) = opened().await;
    let client = client(&vault.url(), folder.path(), UserPresence::Nobody);
    vault.ledger().expire();
    assert_eq!(call(&client).await.unwrap(), 200);
    assert_eq!(vault.ledger().keys.len(), 1);
    // A new sign-in has a new key.
    let demand =
        SignInRequirement::fetch(&vault.url(), &HttpPoolOptions::default()).await.unwrap().unwrap();
    let sign_in = sign_in(vault.url(), folder.path(), OAuth::default());
    sign_in.run(&demand, &Agreeable).await.unwrap();
    assert_eq!(vault.ledger().keys.len(), 2);
}

#[tokio::test]
async fn a_server_that_accepts_no_nonce_is_not_asked_for_ever() {
    let (vault, folder) = opened().await;
    vault.ledger().content = false;
    let before = vault.server.requests().len();
    let presence = UserPresence::Somebody(Arc::new(Agreeable));
    let error = call(&client(&vault.url(), folder.path(), presence)).await.unwrap_err();
    assert!(matches!(error, HttpError::Refused { .. }), "{error:?}");
    assert_eq!(vault.server.requests().len() - before, 2);
}

#[tokio::test]
async fn whoever_wants_bound_tokens_takes_no_other() {
    for (dpop, kind, fine) in [(Some(true), "Bearer", false), (None, "Bearer", true)] {
        let (vault, folder) = (Vault::open().await, tempfile::tempdir().unwrap());
        vault.ledger().kind = kind;
        let demand = SignInRequirement::fetch(&vault.url(), &HttpPoolOptions::default())
            .await
            .unwrap()
            .unwrap();
        let oauth = OAuth { dpop, ..OAuth::default() };
        let signed_in = sign_in(vault.url(), folder.path(), oauth).run(&demand, &Agreeable).await;
        match signed_in {
            Ok(account) => assert!(fine && account.key.is_none()),
            Err(error) => assert!(!fine && matches!(error, Error::NotBound { .. }), "{error:?}"),
        }
    }
}
