//! Tests of signing in and out in another process, which take effect with the next request.

use std::path::Path;

use switchboard_auth::{OAuthCredentials, SignInRequirement, UserPresence, sign_out};
use switchboard_config::OAuth;
use switchboard_wire::http::{CredentialProvider as _, HttpEndpoint, HttpError, HttpPoolOptions};
use tempfile::TempDir;

use crate::house::{House, call, client_with};
use crate::office::Office;

/// A house, and a provider that keeps running while other processes use its folder.
struct Scene {
    house: House,
    folder: TempDir,
    provider: OAuthCredentials,
    client: HttpEndpoint,
}

impl Scene {
    async fn new() -> Self {
        let (house, folder) = (House::open().await, tempfile::tempdir().unwrap());
        let sign_in = house.sign_in(folder.path(), OAuth::default());
        let provider = OAuthCredentials::new(sign_in, UserPresence::Later);
        let client = client_with(&house.url(), provider.clone());
        Self { house, folder, provider, client }
    }

    async fn login_elsewhere(&self) {
        let sign_in = self.house.sign_in(self.folder.path(), OAuth::default());
        let demand = SignInRequirement::fetch(&self.house.url(), &HttpPoolOptions::default())
            .await
            .unwrap()
            .unwrap();
        sign_in.run(&demand, &self.house.visit()).await.unwrap();
    }

    async fn logout_elsewhere(&self) {
        let sign_in = self.house.sign_in(self.folder.path(), OAuth::default());
        sign_out(&sign_in).await.unwrap().unwrap().unwrap();
    }

    /// The `Authorization` header of the last request.
    fn shown(&self) -> Option<String> {
        self.house.authorizations().pop().flatten()
    }
}

/// The house still accepts tokens of a sign-in that has ended, so only the client can stop using them.
#[tokio::test]
async fn the_next_request_uses_the_sign_in_that_is_stored_then() {
    let scene = Scene::new().await;
    assert!(matches!(call(&scene.client).await, Err(HttpError::SignIn { .. })));
    for round in 1..4 {
        scene.login_elsewhere().await;
        assert_eq!(call(&scene.client).await.unwrap(), 200, "round {round}");
        assert_eq!(scene.shown(), Some(format!("Bearer access-{round}")));
        scene.logout_elsewhere().await;
        let refused = call(&scene.client).await.unwrap_err();
        assert!(matches!(refused, HttpError::SignIn { .. }), "{refused:?}");
        assert_eq!(scene.shown(), None, "round {round}");
    }
}

#[tokio::test]
async fn a_second_sign_in_replaces_the_first_at_once() {
    let scene = Scene::new().await;
    for round in 1..4 {
        scene.login_elsewhere().await;
        assert_eq!(call(&scene.client).await.unwrap(), 200);
        assert_eq!(scene.shown(), Some(format!("Bearer access-{round}")));
        scene.house.expire();
    }
}

/// The house revokes its tokens each time; a renewal does not count as a new sign-in.
#[tokio::test]
async fn sign_ins_and_sign_outs_are_revisions_and_renewals_are_none() {
    let scene = Scene::new().await;
    let mut seen = vec![scene.provider.sign_in_revision().await];
    scene.login_elsewhere().await;
    seen.push(scene.provider.sign_in_revision().await);
    scene.house.expire();
    assert_eq!(call(&scene.client).await.unwrap(), 200);
    assert_eq!(scene.house.books().refreshed, 1);
    assert_eq!(scene.provider.sign_in_revision().await, seen[1]);
    scene.house.expire();
    scene.login_elsewhere().await;
    seen.push(scene.provider.sign_in_revision().await);
    scene.logout_elsewhere().await;
    seen.push(scene.provider.sign_in_revision().await);
    seen.dedup();
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[tokio::test]
async fn a_sign_out_while_a_token_is_renewed_leaves_nothing_behind() {
    let scene = Scene::new().await;
    scene.login_elsewhere().await;
    assert_eq!(call(&scene.client).await.unwrap(), 200);
    scene.house.expire();
    scene.logout_elsewhere().await;
    assert!(matches!(call(&scene.client).await, Err(HttpError::SignIn { .. })));
    assert_eq!(records(scene.folder.path()), 0);
}

fn records(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".json")).count()
}

/// A token that came through the identity provider is not used after its user has signed out there.
#[tokio::test]
async fn signing_out_of_the_identity_provider_counts_for_its_servers() {
    let (office, folder) = (Office::open().await, tempfile::tempdir().unwrap());
    let provider = office.identity_provider(folder.path());
    provider.login(&office.employee()).await.unwrap();
    let (client, credentials) = office.client("/one", folder.path());
    assert_eq!(call(&client).await.unwrap(), 200);
    let signed_in = credentials.sign_in_revision().await;
    assert_eq!(call(&client).await.unwrap(), 200);
    assert_eq!(office.files().exchanges.len(), 1);
    provider.logout().await.unwrap();
    assert_ne!(credentials.sign_in_revision().await, signed_in);
    assert!(matches!(call(&client).await, Err(HttpError::SignIn { .. })));
    provider.login(&office.employee()).await.unwrap();
    assert_eq!(call(&client).await.unwrap(), 200);
    assert_eq!(office.files().exchanges.len(), 2);
}
