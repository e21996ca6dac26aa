//! Tests of proxies, from given variables and from the environment.

use std::sync::Arc;

use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::http::{
    ConnectFailure, EndpointOptions, HttpEndpoint, HttpError, HttpPool, HttpPoolOptions,
    ProxySettings, ProxyVariables,
};

use super::exchange::assert_connect;
use super::{header, pool_options, post, soon};

fn through(proxies: ProxySettings, url: &str) -> HttpEndpoint {
    let options = HttpPoolOptions { proxies, ..pool_options() };
    let pool = HttpPool::new(&options).unwrap();
    HttpEndpoint::new(pool, url.parse().unwrap(), EndpointOptions::default())
}

fn vars(pairs: &[(&str, &str)]) -> ProxySettings {
    let lookup = |name: &str| {
        let found = pairs.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    ProxySettings::Variables(ProxyVariables::from_lookup(lookup))
}

#[tokio::test]
async fn plain_http_goes_in_absolute_form() {
    let proxy = Scripted::start(|_| async { Reply::json(200, "{}") }).await;
    let url = proxy.url("").replace("http://", "http://user:pass@");
    let endpoint = through(vars(&[("HTTP_PROXY", &url)]), "http://server.invalid/mcp");
    post(&endpoint, "{}").await.unwrap();
    let request = &proxy.requests()[0];
    assert_eq!(request.path, "http://server.invalid/mcp");
    assert_eq!(request.header("proxy-authorization"), Some("Basic dXNlcjpwYXNz"));
}

#[tokio::test]
async fn a_proxy_without_a_scheme_speaks_http() {
    let proxy = Scripted::start(|_| async { Reply::json(200, "{}") }).await;
    let address = proxy.url("").replace("http://", "");
    let endpoint = through(vars(&[("http_proxy", &address)]), "http://server.invalid/mcp");
    post(&endpoint, "{}").await.unwrap();
    assert_eq!(proxy.requests()[0].path, "http://server.invalid/mcp");
}

#[tokio::test]
async fn https_asks_for_a_tunnel_and_shows_the_proxy_no_secrets() {
    let proxy = Scripted::start(|_| async { Reply::empty(403) }).await;
    let endpoint = through(vars(&[("all_proxy", &proxy.url(""))]), "https://server.invalid/mcp");
    let sent = endpoint.post("{}".into(), header("authorization", "s3cret"));
    let error = soon(sent).await.unwrap_err();
    assert_connect(&error, ConnectFailure::Proxy);
    let request = &proxy.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("CONNECT", "server.invalid:443"));
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn exceptions_are_reached_directly() {
    let proxy = Scripted::start(|_| async { Reply::empty(500) }).await;
    let server = Scripted::start(|_| async { Reply::json(200, "{}") }).await;
    let proxies = vars(&[("http_proxy", &proxy.url("")), ("NO_PROXY", "localhost,127.0.0.1")]);
    post(&through(proxies, &server.url("/")), "{}").await.unwrap();
    assert_eq!((proxy.connections(), server.connections()), (0, 1));
}

#[test]
fn a_bad_proxy_is_a_setup_error_and_its_password_is_not_shown() {
    let proxies = vars(&[("http_proxy", "http://user:s3cret@:bad:")]);
    let shown = format!("{proxies:?}");
    let error = HttpPool::new(&HttpPoolOptions { proxies, ..pool_options() }).unwrap_err();
    assert!(matches!(error, HttpError::Setup { what: "a proxy", .. }), "{error:?}");
    assert!(!format!("{shown} {error:?} {error}").contains("s3cret"));
}

/// The variables of this process can only be set from outside, so the test starts itself again.
#[tokio::test]
async fn the_environment_is_heeded() {
    if std::env::var_os("SWITCHBOARD_TEST_INNER").is_some() {
        let endpoint = through(ProxySettings::System, "http://server.invalid/inner");
        post(&endpoint, "{}").await.unwrap();
        return;
    }
    let proxy = Arc::new(Scripted::start(|_| async { Reply::json(200, "{}") }).await);
    let status = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["http::proxy::the_environment_is_heeded", "--exact"])
        .env("SWITCHBOARD_TEST_INNER", "1")
        .env("http_proxy", proxy.url(""))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .stdout(std::process::Stdio::null())
        .status();
    assert!(soon(status).await.unwrap().success());
    assert_eq!(proxy.requests()[0].path, "http://server.invalid/inner");
}
