//! Tests of the address filter: names that change their address, and proxies.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::http::{
    AddressFilter, EndpointOptions, HttpEndpoint, HttpError, HttpPool, HttpPoolOptions,
    NameResolver, ProxySettings, ProxyVariables,
};

use super::{pool_options, post};

const HERE: &str = "127.0.0.1";
const OUTSIDE: &str = "8.8.8.8";

/// A resolver with several answers for each name, in turn; the last one repeats.
#[derive(Default)]
struct Names {
    known: HashMap<&'static str, Vec<&'static str>>,
    asked: AtomicUsize,
}

impl Names {
    fn new(known: &[(&'static str, &[&'static str])]) -> Arc<Self> {
        let known = known.iter().map(|(name, answers)| (*name, answers.to_vec())).collect();
        Arc::new(Self { known, asked: AtomicUsize::default() })
    }
}

impl NameResolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let answers = self.known.get(name);
        let answer = answers.and_then(|answers| answers.get(number.min(answers.len() - 1)));
        let found = answer.map(|addresses| {
            addresses.split(' ').map(|address| address.parse().unwrap()).collect()
        });
        Box::pin(std::future::ready(found.ok_or_else(|| io::ErrorKind::NotFound.into())))
    }
}

/// A pool that only reaches addresses outside this machine.
fn outside(names: Arc<Names>, proxies: ProxySettings) -> HttpPool {
    let judge = |_: &str, address: IpAddr| !address.is_loopback();
    let reach = AddressFilter::Only(Arc::new(judge));
    HttpPool::new(&HttpPoolOptions { reach, resolver: names, proxies, ..pool_options() }).unwrap()
}

fn endpoint(pool: &HttpPool, url: &str) -> HttpEndpoint {
    HttpEndpoint::new(pool.clone(), url.parse().unwrap(), EndpointOptions::default())
}

async fn server() -> Scripted {
    Scripted::start(|_| async { Reply::json(200, "{}") }).await
}

fn through(proxy: &str) -> ProxySettings {
    let (http, all) = (Some(proxy.to_owned()), None);
    ProxySettings::Variables(ProxyVariables {
        http,
        https: None,
        all,
        no_proxy: Some("direct.example".into()),
    })
}

async fn assert_forbidden(pool: &HttpPool, url: &str) {
    let error = post(&endpoint(pool, url), "{}").await.unwrap_err();
    let HttpError::Connect { source, .. } = &error else { panic!("{url}: {error:?}") };
    assert!(source.to_string().contains("may be reached"), "{url}: {source}");
}

#[tokio::test]
async fn an_address_counts_and_no_name_for_it() {
    let server = server().await;
    let port = server.addr().port();
    let names = Names::new(&[
        ("inner.example", &[HERE]),
        ("both.example", &["::1 127.0.0.1"]),
        ("localhost", &[HERE]),
    ]);
    let pool = outside(names, ProxySettings::Off);
    for host in ["inner.example", "both.example", HERE, "[::1]", "localhost", "127.1", "2130706433"]
    {
        assert_forbidden(&pool, &format!("http://{host}:{port}/")).await;
    }
    assert_eq!(server.connections(), 0);
}

/// A check before the connection would find the name harmless.
#[tokio::test]
async fn a_name_that_changes_its_meaning_gains_nothing() {
    let server = server().await;
    let names = Names::new(&[("rebound.example", &[OUTSIDE, HERE])]);
    assert_eq!(
        names.resolve("rebound.example").await.unwrap(),
        [OUTSIDE.parse::<IpAddr>().unwrap()]
    );
    let pool = outside(names, ProxySettings::Off);
    assert_forbidden(&pool, &format!("http://rebound.example:{}/", server.addr().port())).await;
    assert_eq!(server.connections(), 0);
}

/// The proxy is exempt, by address or by name: the user chose it.
#[tokio::test]
async fn a_proxy_is_exempt_and_what_lies_behind_it_is_not() {
    let proxy = server().await;
    let port = proxy.addr().port();
    for host in [HERE, "proxy.corp"] {
        let names = Names::new(&[
            ("proxy.corp", &[HERE]),
            ("inner.example", &[HERE]),
            ("split.example", &["8.8.8.8 127.0.0.1"]),
            ("outer.example", &[OUTSIDE]),
            ("direct.example", &[HERE]),
        ]);
        let pool = outside(names, through(&format!("http://{host}:{port}")));
        let before = proxy.requests().len();
        for inner in ["inner.example", "split.example", "direct.example", HERE, "[::1]"] {
            assert_forbidden(&pool, &format!("http://{inner}:{port}/x")).await;
        }
        assert_eq!(proxy.requests().len(), before, "{host}");
        // The second name does not resolve here, and is left to the proxy.
        for outer in ["outer.example", "unknown.example"] {
            let answer = post(&endpoint(&pool, &format!("http://{outer}/x")), "{}").await.unwrap();
            assert_eq!(answer.remote, None, "it was the proxy that answered");
        }
        let paths: Vec<_> =
            proxy.requests().split_off(before).into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["http://outer.example/x", "http://unknown.example/x"]);
    }
}

#[tokio::test]
async fn it_is_said_which_address_answered() {
    let server = server().await;
    let names = Names::new(&[("server.example", &[HERE])]);
    let reach = AddressFilter::Only(Arc::new(|_: &str, _| true));
    let options = HttpPoolOptions { reach, resolver: names, ..pool_options() };
    let url = format!("http://server.example:{}/", server.addr().port());
    let answer = post(&endpoint(&HttpPool::new(&options).unwrap(), &url), "{}").await.unwrap();
    assert_eq!(answer.remote, Some(HERE.parse().unwrap()));
}
