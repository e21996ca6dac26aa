//! Tests of credentials: headers before requests, reactions to refusals, and secrets in `Debug`
//! output.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::http::{
    ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, EndpointOptions,
    HttpError, RequestLine, StaticHeaders,
};

use super::{endpoint, endpoint_with, header, json, post};

/// Provides `token-N`; a refusal of the newest token makes a newer one, at most `renewals` times.
struct Tokens {
    current: AtomicUsize,
    refreshes: AtomicUsize,
    renewals: usize,
}

impl Tokens {
    fn new(renewals: usize) -> Arc<Self> {
        Arc::new(Self { current: AtomicUsize::new(1), refreshes: AtomicUsize::new(0), renewals })
    }

    fn value(&self) -> HeaderValue {
        format!("token-{}", self.current.load(Ordering::SeqCst)).parse().unwrap()
    }
}

impl CredentialProvider for Tokens {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(async { Ok(HeaderMap::from_iter([(AUTHORIZATION, self.value())])) })
    }

    fn on_challenge<'a>(
        &'a self,
        challenge: &'a CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(async {
            if challenge.sent.get(AUTHORIZATION) != Some(&self.value()) {
                return ChallengeAction::Retry;
            }
            if self.refreshes.fetch_add(1, Ordering::SeqCst) >= self.renewals {
                let reason = challenge.www_authenticate.join(" & ");
                return ChallengeAction::SignIn { reason };
            }
            self.current.fetch_add(1, Ordering::SeqCst);
            ChallengeAction::Retry
        })
    }
}

fn with(credentials: Arc<dyn CredentialProvider>) -> EndpointOptions {
    EndpointOptions {
        headers: header("authorization", "static, to be replaced"),
        credentials,
        ..EndpointOptions::default()
    }
}

/// A server that accepts one token only.
async fn guarded(status: u16, accepted: &'static str) -> Scripted {
    Scripted::start(move |request| {
        let reply = if request.header("authorization") == Some(accepted) {
            Reply::json(200, "{}")
        } else {
            Reply::json(status, "{\"error\":1}")
                .header("www-authenticate", "Bearer scope=\"a\"")
                .header("www-authenticate", "Basic")
        };
        std::future::ready(reply)
    })
    .await
}

#[tokio::test]
async fn a_refusal_is_answered_with_new_headers_and_the_same_body() {
    for status in [401, 403] {
        let server = guarded(status, "token-3").await;
        let endpoint = endpoint_with(&server.url("/"), with(Tokens::new(9)));
        assert_eq!(json(post(&endpoint, "body").await.unwrap()), "{}");
        let requests = server.requests();
        let sent: Vec<_> = requests.iter().map(|r| (r.header("authorization"), r.text())).collect();
        let expected = ["token-1", "token-2", "token-3"].map(|token| (Some(token), "body"));
        assert_eq!(sent, expected);
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn many_refusals_at_once_cause_one_refresh() {
    let server = guarded(401, "token-2").await;
    let tokens = Tokens::new(1);
    let endpoint = endpoint_with(&server.url("/"), with(tokens.clone()));
    let calls = (0..10).map(|_| post(&endpoint, "{}"));
    for answer in futures_util::future::join_all(calls).await {
        answer.unwrap();
    }
    assert_eq!(tokens.refreshes.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn sign_in_carries_every_challenge() {
    let server = guarded(401, "none").await;
    let endpoint = endpoint_with(&server.url("/"), with(Tokens::new(0)));
    match post(&endpoint, "{}").await.unwrap_err() {
        HttpError::SignIn { challenges, reason, .. } => {
            assert_eq!(challenges, ["Bearer scope=\"a\"", "Basic"]);
            assert_eq!(reason, "Bearer scope=\"a\" & Basic");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn three_retries_are_the_end() {
    let server = guarded(401, "none").await;
    let endpoint = endpoint_with(&server.url("/"), with(Tokens::new(100)));
    let error = post(&endpoint, "{}").await.unwrap_err();
    assert!(matches!(error, HttpError::Refused { .. }), "{error:?}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn without_credentials_a_refusal_is_final_and_shows_its_body() {
    for status in [401, 403] {
        let server = guarded(status, "none").await;
        match post(&endpoint(&server.url("/")), "{}").await.unwrap_err() {
            HttpError::Refused { status: got, text, challenges, .. } => {
                assert_eq!((got.as_u16(), &text[..]), (status, &b"{\"error\":1}"[..]));
                assert_eq!(challenges.len(), 2);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(server.requests().len(), 1);
    }
}

struct NotSignedIn;

impl CredentialProvider for NotSignedIn {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(async { Err(CredentialError::SignIn("never did".into())) })
    }

    fn on_challenge<'a>(&'a self, _: &'a CredentialChallenge) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(async { ChallengeAction::GiveUp })
    }
}

#[tokio::test]
async fn credentials_that_are_missing_send_nothing() {
    let server = guarded(401, "none").await;
    let error = post(&endpoint_with(&server.url("/"), with(Arc::new(NotSignedIn))), "{}").await;
    assert!(matches!(error, Err(HttpError::SignIn { .. })), "{error:?}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn secrets_are_never_shown() {
    let server = guarded(401, "none").await;
    let headers = header("authorization", "s3cret");
    let credentials = Arc::new(StaticHeaders::new(headers.clone()));
    let options = EndpointOptions {
        headers: header("x-api-key", "s3cret"),
        credentials: credentials.clone(),
        ..EndpointOptions::default()
    };
    let shown_options = format!("{options:?}");
    let url = server.url("/?key=s3cret#s3cret").replace("http://", "http://u:s3cret@");
    let endpoint = endpoint_with(&url, options);
    let refused = post(&endpoint, "{}").await.unwrap_err();
    let url = server.url("/?key=s3cret");
    drop(server);
    let mut unreachable = post(&endpoint, "{}").await.unwrap_err();
    while !matches!(unreachable, HttpError::Connect { .. }) {
        unreachable = post(&super::endpoint(&url), "{}").await.unwrap_err();
    }
    let challenge = CredentialChallenge {
        status: http::StatusCode::UNAUTHORIZED,
        www_authenticate: Vec::new(),
        sent: headers,
        retries: 0,
        remote: None,
    };
    let shown = format!(
        "{shown_options} {credentials:?} {endpoint:?} {refused:?} {refused} {unreachable:?} \
         {unreachable} {challenge:?}"
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("x-api-key") && shown.contains("authorization"), "{shown}");
}
