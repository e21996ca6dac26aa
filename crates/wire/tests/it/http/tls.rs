//! Tests of certificates: trusted authorities and client certificates.

use switchboard_testkit::http::{Authority, ClientCertificate, Reply, Scripted};
use switchboard_wire::http::{
    ConnectFailure, EndpointOptions, HttpEndpoint, HttpError, HttpPool, HttpPoolOptions,
    TlsClientIdentity, TlsOptions,
};
use tokio::io::AsyncWriteExt as _;

use super::exchange::assert_connect;
use super::{json, pool_options, post};

pub(crate) fn pool(tls: TlsOptions) -> HttpPool {
    let options = HttpPoolOptions { tls, ..pool_options() };
    HttpPool::new(&options).unwrap()
}

pub(crate) fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions {
        extra_ca_pem: vec![authority.ca_pem()],
        client_identity: None,
        platform_roots: false,
    }
}

pub(crate) fn appearing(authority: &Authority) -> TlsOptions {
    TlsOptions {
        client_identity: Some(TlsClientIdentity::from_pem(authority.client_pem())),
        ..trusting(authority)
    }
}

async fn server(authority: &Authority, clients: ClientCertificate) -> Scripted {
    let config = authority.server(clients, &["http/1.1"]);
    Scripted::start_tls(config, |_| async { Reply::json(200, "{}") }).await
}

fn endpoint(server: &Scripted, tls: TlsOptions) -> HttpEndpoint {
    let url = server.url("/").parse().unwrap();
    HttpEndpoint::new(pool(tls), url, EndpointOptions::default())
}

#[tokio::test]
async fn a_custom_authority_is_trusted_beside_the_platform_and_alone() {
    let authority = Authority::new();
    let server = server(&authority, ClientCertificate::NotAsked).await;
    for platform_roots in [false, true] {
        let tls = TlsOptions { platform_roots, ..trusting(&authority) };
        assert_eq!(json(post(&endpoint(&server, tls), "{}").await.unwrap()), "{}");
    }
}

#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let server = server(&Authority::new(), ClientCertificate::NotAsked).await;
    let nobody = TlsOptions { platform_roots: false, ..TlsOptions::default() };
    for tls in [TlsOptions::default(), nobody, trusting(&Authority::new())] {
        let error = post(&endpoint(&server, tls), "{}").await.unwrap_err();
        assert_connect(&error, ConnectFailure::Tls);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_with_a_wrong_certificate() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    // As web servers answer a handshake that they take for a request.
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let pool = pool(TlsOptions::default());
    let endpoint = HttpEndpoint::new(pool, url, EndpointOptions::default());
    let error = post(&endpoint, "{}").await.unwrap_err();
    assert_connect(&error, ConnectFailure::NotTls);
}

#[tokio::test]
async fn a_client_certificate_is_given_where_demanded() {
    let authority = Authority::new();
    let server = server(&authority, ClientCertificate::Required).await;
    let answer = post(&endpoint(&server, appearing(&authority)), "{}").await;
    assert_eq!(json(answer.unwrap()), "{}");
}

#[tokio::test]
async fn without_the_certificate_demanded_nothing_is_executed() {
    let authority = Authority::new();
    let server = server(&authority, ClientCertificate::Required).await;
    let error = post(&endpoint(&server, trusting(&authority)), "{}").await.unwrap_err();
    assert_connect(&error, ConnectFailure::Tls);
    assert!(server.requests().is_empty());
}

#[test]
fn bad_material_is_a_setup_error_that_shows_no_key() {
    let key = "-----BEGIN PRIVATE KEY-----\nc3NlY3JldA==\n-----END PRIVATE KEY-----\n";
    let cases = [
        TlsOptions { extra_ca_pem: vec![b"nothing".to_vec()], ..TlsOptions::default() },
        TlsOptions {
            client_identity: Some(TlsClientIdentity::from_pem(key)),
            ..TlsOptions::default()
        },
    ];
    for tls in cases {
        let shown = format!("{tls:?}");
        let error = HttpPool::new(&HttpPoolOptions { tls, ..pool_options() }).unwrap_err();
        assert!(matches!(error, HttpError::Setup { .. }), "{error:?}");
        assert!(!format!("{shown} {error:?}").contains("c3NlY3JldA"));
    }
}
