//! Tests of network zones: a public server cannot make us fetch from the user's network, whatever its name
//! resolves to, and a proxy in the user's network is no obstacle.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use switchboard_auth::{
    Error, FileSignInStore, NetworkZone, NoKeychain, SignIn, SignInRequirement, SignInStore as _,
    SignInTarget, sign_out,
};
use switchboard_wire::http::{HttpPoolOptions, NameResolver, ProxySettings, ProxyVariables};
use url::Url;

use crate::house::House;

/// A resolver with one name and this machine's address.
struct OneName(&'static str);

impl NameResolver for OneName {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let here = || vec![IpAddr::from([127, 0, 0, 1])];
        let found = (name == self.0).then(here).ok_or_else(|| io::ErrorKind::NotFound.into());
        Box::pin(std::future::ready(found))
    }
}

fn sign_in(url: &Url, network: &HttpPoolOptions) -> (SignIn, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(FileSignInStore::new(folder.path(), Arc::new(NoKeychain)));
    (SignIn::new(SignInTarget::new("house", url.clone(), None), store, network.clone()), folder)
}

fn named(house: &House, name: &str) -> Url {
    let mut url = house.url();
    url.set_host(Some(name)).unwrap();
    url
}

/// The name resolves to a public address when the server refuses, and to this machine when its metadata are
/// fetched.
#[tokio::test]
async fn a_name_is_trusted_only_where_it_really_was() {
    let house = House::open().await;
    let network = HttpPoolOptions {
        resolver: Arc::new(OneName("server.example")),
        ..HttpPoolOptions::default()
    };
    let url = named(&house, "server.example");
    let real = SignInRequirement::fetch(&url, &network).await.unwrap().unwrap();
    assert_eq!(real.remote, Some(IpAddr::from([127, 0, 0, 1])));
    let before = house.paths().len();
    for outside in ["8.8.8.8", "2606:4700::1111", "10.0.0.1"] {
        let demand = SignInRequirement { remote: Some(outside.parse().unwrap()), ..real.clone() };
        let (sign_in, _folder) = sign_in(&url, &network);
        let error = sign_in.run(&demand, &house.visit()).await.unwrap_err();
        assert!(matches!(error, Error::Fetch { .. }), "{outside}: {error:?}");
    }
    assert_eq!(house.paths().len(), before, "something was asked of this machine");
    let (sign_in, _folder) = sign_in(&url, &network);
    let account = sign_in.run(&real, &house.visit()).await.unwrap();
    assert_eq!(account.server_zone, Some(NetworkZone::Loopback));
}

/// A server that was public at the sign-in is not followed into the user's network at renewal or revocation.
#[tokio::test]
async fn a_sign_in_remembers_where_its_server_was() {
    let house = House::open().await;
    let network = HttpPoolOptions {
        resolver: Arc::new(OneName("server.example")),
        ..HttpPoolOptions::default()
    };
    let url = named(&house, "server.example");
    let (sign_in, folder) = sign_in(&url, &network);
    let demand = SignInRequirement::fetch(&url, &network).await.unwrap().unwrap();
    sign_in.run(&demand, &house.visit()).await.unwrap();
    let store = FileSignInStore::new(folder.path(), Arc::new(NoKeychain));
    let key = store.keys().unwrap().remove(0);
    let mut record = store.load(&key).unwrap().unwrap();
    record.account.as_mut().unwrap().server_zone = Some(NetworkZone::Public);
    store.save(&key, &record).unwrap();
    let told = sign_out(&sign_in).await.unwrap().unwrap();
    assert!(matches!(told, Err(Error::Fetch { .. })), "{told:?}");
    assert!(house.books().revoked.is_empty());
}

#[tokio::test]
async fn a_proxy_on_a_private_name_is_used_and_the_name_of_the_server_is_its_affair() {
    let house = House::open().await;
    let proxy = format!("http://proxy.corp:{}", house.url().port().unwrap());
    let vars = ProxyVariables { http: Some(proxy), ..ProxyVariables::default() };
    let network = HttpPoolOptions {
        proxies: ProxySettings::Variables(vars),
        resolver: Arc::new(OneName("proxy.corp")),
        ..HttpPoolOptions::default()
    };
    let url: Url = "http://server.example/mcp".parse().unwrap();
    let demand = SignInRequirement::fetch(&url, &network).await.unwrap().unwrap();
    assert_eq!(demand.remote, None, "it was the proxy that answered");
    let (sign_in, _folder) = sign_in(&url, &network);
    let account = sign_in.run(&demand, &house.visit()).await.unwrap();
    assert_eq!(account.issuer, "http://server.example");
    assert!(house.paths().iter().all(|path| path.starts_with("http://server.example/")));
}
