//! Tests of the JWT bearer grant: a workload signs in with an assertion from a file.

use std::collections::HashMap;

use serde_json::json;
use switchboard_auth::{Error, SignInRequirement};
use switchboard_config::{OAuth, OAuthGrant};
use switchboard_testkit::http::{Reply, Request, Scripted};
use url::form_urlencoded;

use crate::house::sign_in;
use crate::vault::Agreeable;

/// A server that issues a token for the assertion `good`.
fn answer(request: &Request) -> Reply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    let form: HashMap<_, _> = form_urlencoded::parse(&request.body).into_owned().collect();
    match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let body = json!({ "issuer": base, "token_endpoint": format!("{base}/token") });
            Reply::json(200, body.to_string())
        }
        "/token" => {
            assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
            match form["assertion"].as_str() {
                "good" => Reply::json(200, r#"{"access_token":"a","token_type":"Bearer"}"#),
                _ => Reply::json(400, r#"{"error":"invalid_grant"}"#),
            }
        }
        _ => Reply::empty(404),
    }
}

#[tokio::test]
async fn a_statement_is_read_anew_and_a_refusal_is_not_repeated() {
    let server = Scripted::start(|request| async move { answer(&request) }).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("statement");
    let oauth = OAuth {
        client_id: Some("workload".into()),
        grant: Some(OAuthGrant::JwtBearer),
        assertion_file: Some(file.display().to_string()),
        ..OAuth::default()
    };
    let sign_in = sign_in(server.url("/mcp").parse().unwrap(), folder.path(), oauth);
    let demand = SignInRequirement::default();
    let run = || sign_in.run(&demand, &Agreeable);
    assert!(matches!(run().await.unwrap_err(), Error::File { .. }));
    std::fs::write(&file, "old\n").unwrap();
    assert!(run().await.unwrap_err().is_refusal("invalid_grant"));
    let asked = |path: &str| server.requests().iter().filter(|it| it.path == path).count();
    assert_eq!(asked("/token"), 1);
    std::fs::write(&file, "good\n").unwrap();
    assert_eq!(run().await.unwrap().access.expose(), "a");
}

#[tokio::test]
async fn without_a_statement_or_a_key_there_is_nothing_to_present() {
    let server = Scripted::start(|request| async move { answer(&request) }).await;
    let folder = tempfile::tempdir().unwrap();
    let (client_id, grant) = (Some("workload".into()), Some(OAuthGrant::JwtBearer));
    let oauth = OAuth { client_id, grant, ..OAuth::default() };
    let sign_in = sign_in(server.url("/mcp").parse().unwrap(), folder.path(), oauth);
    let error = sign_in.run(&SignInRequirement::default(), &Agreeable).await.unwrap_err();
    assert!(matches!(error, Error::NoAssertion), "{error:?}");
}
