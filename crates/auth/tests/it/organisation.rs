//! Tests of signing in through an identity provider: one sign-in opens every server, and an error names its
//! step.

use std::sync::Arc;

use futures_util::future::join_all;
use switchboard_auth::{
    Error, FileSignInStore, IdentityProviderStep, NoKeychain, OAuthAccount, SignInRequirement,
    SignInStore as _,
};
use switchboard_wire::http::{CredentialProvider as _, HttpError};

use crate::house::call;
use crate::office::Office;

#[tokio::test]
async fn one_window_for_any_number_of_servers() {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    let provider = office.identity_provider(folder.path());
    assert!(provider.identity().await.unwrap().is_none());
    let identity = provider.login(&office.employee()).await.unwrap();
    assert_eq!(
        (identity.subject.as_str(), identity.name.as_deref()),
        ("u-1", Some("ann@example.com"))
    );
    for path in ["/one", "/two", "/three"] {
        let (client, _) = office.client(path, folder.path());
        assert_eq!(call(&client).await.unwrap(), 200, "{path}");
    }
    let files = office.files();
    assert_eq!((files.visits, files.renewals, files.exchanges.len()), (1, 0, 3));
    let exchange = &files.exchanges[1];
    assert_eq!(exchange["audience"], office.server.url(""));
    assert_eq!(exchange["resource"], office.server.url("/two"));
    assert_eq!(exchange["scope"], "use");
    assert_eq!(exchange["subject_token_type"], "urn:ietf:params:oauth:token-type:id_token");
}

#[tokio::test]
async fn nobody_there_is_said_and_signing_in_anywhere_helps() {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    let (client, credentials) = office.client("/one", folder.path());
    let HttpError::SignIn { reason, .. } = call(&client).await.unwrap_err() else { panic!() };
    let issuer = office.provider.url("");
    assert!(
        reason.contains(&format!("you are not signed in to the identity provider `{issuer}`")),
        "{reason}"
    );
    // `login` of one server opens the provider's page, and the other servers notice the sign-in.
    let before = credentials.sign_in_revision().await;
    let changed = credentials.sign_in_changed(before);
    let sign_in = office.sign_in("/two", folder.path());
    sign_in.run(&SignInRequirement::default(), &office.employee()).await.unwrap();
    changed.await;
    assert_ne!(credentials.sign_in_revision().await, before);
    assert_eq!(call(&client).await.unwrap(), 200);
    assert_eq!(office.files().visits, 1);
}

#[tokio::test]
async fn an_id_token_that_ends_is_renewed_once_for_all() {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    let provider = office.identity_provider(folder.path());
    provider.login(&office.employee()).await.unwrap();
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    let mut record = store.load(&provider.store_key()).unwrap().unwrap();
    record.account.as_mut().unwrap().expires_at = Some(1);
    store.save(&provider.store_key(), &record).unwrap();
    let paths: Vec<_> = (0..8).map(|number| format!("/{number}")).collect();
    let clients = paths.iter().map(|path| office.client(path, folder.path()).0).collect::<Vec<_>>();
    for outcome in join_all(clients.iter().map(call)).await {
        assert_eq!(outcome.unwrap(), 200);
    }
    let files = office.files();
    assert_eq!((files.visits, files.renewals), (1, 1));
}

/// Calls `/one` from eight processes at once: each client has its own store and provider on one folder.
/// `spoil` then makes the stored token useless, and they call again.
async fn check_one_exchange(spoil: impl Fn(&mut OAuthAccount)) {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    office.identity_provider(folder.path()).login(&office.employee()).await.unwrap();
    let clients = (0..8).map(|_| office.client("/one", folder.path()).0).collect::<Vec<_>>();
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    let key = office.sign_in("/one", folder.path()).target().store_key();
    for exchanges in [1, 2] {
        for outcome in join_all(clients.iter().map(call)).await {
            assert_eq!(outcome.unwrap(), 200);
        }
        assert_eq!(office.files().exchanges.len(), exchanges);
        let mut record = store.load(&key).unwrap().unwrap();
        spoil(record.account.as_mut().unwrap());
        store.save(&key, &record).unwrap();
    }
}

#[tokio::test]
async fn processes_that_need_a_token_at_once_exchange_once() {
    check_one_exchange(|account| {
        account.access = "ended".to_owned().into();
        account.expires_at = Some(1);
    })
    .await;
}

#[tokio::test]
async fn processes_that_are_refused_at_once_exchange_once() {
    check_one_exchange(|account| account.access = "revoked".to_owned().into()).await;
}

/// Checks at which step a refusal of the provider or the server is reported, and with which message.
async fn check(refused: &str, error: &'static str, step: IdentityProviderStep) {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    office.identity_provider(folder.path()).login(&office.employee()).await.unwrap();
    office.files().refuses.insert(refused.to_owned(), error);
    let failed = office.sign_in("/one", folder.path());
    let failed = failed.run(&SignInRequirement::default(), &office.employee()).await.unwrap_err();
    let Error::AtStep { step: found, endpoint, .. } = &failed else { panic!("{failed:?}") };
    let server =
        if step == IdentityProviderStep::Grant { &office.server } else { &office.provider };
    assert_eq!((*found, endpoint.clone()), (step, server.url("/token")), "{refused}");
    assert!(failed.error_chain().contains(error), "{}", failed.error_chain());
}

#[tokio::test]
async fn a_failure_names_the_leg_the_endpoint_and_the_word() {
    check("token-exchange", "access_denied", IdentityProviderStep::Exchange).await;
    check("jwt-bearer", "invalid_grant", IdentityProviderStep::Grant).await;
}

#[tokio::test]
async fn legs_without_an_answer() {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    office.identity_provider(folder.path()).login(&office.employee()).await.unwrap();
    office.files().issued_type = Some("urn:ietf:params:oauth:token-type:access_token");
    let sign_in = office.sign_in("/one", folder.path());
    let error = sign_in.run(&SignInRequirement::default(), &office.employee()).await.unwrap_err();
    assert!(matches!(error.root_cause(), Error::NotAGrant { .. }), "{error:?}");
    let Office { provider, server, .. } = office;
    drop(provider);
    let error =
        sign_in.run(&SignInRequirement::default(), &crate::vault::Agreeable).await.unwrap_err();
    assert!(
        matches!(error, Error::AtStep { step: IdentityProviderStep::Provider, .. }),
        "{error:?}"
    );
    assert!(error.is_transient());
    drop(server);
    let error =
        sign_in.run(&SignInRequirement::default(), &crate::vault::Agreeable).await.unwrap_err();
    assert!(matches!(error, Error::AtStep { step: IdentityProviderStep::Server, .. }), "{error:?}");
}

#[tokio::test]
async fn signing_out_forgets_and_an_entry_without_a_provider_says_so() {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    let provider = office.identity_provider(folder.path());
    assert!(provider.logout().await.unwrap().is_none());
    provider.login(&office.employee()).await.unwrap();
    // This provider has no revocation endpoint, and the error says so.
    let why = provider.logout().await.unwrap().unwrap().unwrap_err();
    assert!(matches!(why, Error::ServerNotNotified { .. }), "{why:?}");
    assert!(provider.identity().await.unwrap().is_none());
    let alone = office.sign_in("/one", folder.path()).with_identity_provider(None);
    let error = alone.run(&SignInRequirement::default(), &office.employee()).await.unwrap_err();
    assert!(matches!(error.root_cause(), Error::NoIdentityProvider), "{error:?}");
}
