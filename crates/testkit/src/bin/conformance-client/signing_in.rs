//! The scenarios about signing in: what their context gives becomes an entry's `oauth`, and a person is somebody who
//! follows one redirect.

use std::io::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use switchboard_auth::{
    FileStore, NoKeychain, Presence, Provider, SignIn, Subject, Visit, Visited,
};
use switchboard_config::{Grant, OAuth};
use switchboard_wire::http::{Credentials, PoolOptions};
use tempfile::{NamedTempFile, TempDir};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::Failure;

/// The client that the suite's own document describes.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const MAX_HEAD: u64 = 64 << 10;

/// Credentials for one scenario, and the files they need while it runs.
pub(super) struct SigningIn {
    pub(super) credentials: Arc<dyn Credentials>,
    _store: TempDir,
    _key: Option<NamedTempFile>,
}

/// Somebody who agrees to everything: the suite's authorization server sends them straight back.
struct Agreeable;

// === impl SigningIn ===

impl SigningIn {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".into());
        let context: Value = serde_json::from_str(&context)?;
        let key = key(&context)?;
        let oauth = oauth(&context, key.as_ref());
        let folder = tempfile::tempdir()?;
        let store = Arc::new(FileStore::new(folder.path(), Arc::new(NoKeychain)));
        let subject = Subject::new("conformance", url.parse()?, Some(oauth));
        let sign_in = SignIn::new(subject, store, PoolOptions::default());
        let provider = Provider::new(sign_in, Presence::Somebody(Arc::new(Agreeable)));
        Ok(Self { credentials: Arc::new(provider), _store: folder, _key: key })
    }
}

fn oauth(context: &Value, key: Option<&NamedTempFile>) -> OAuth {
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let by_itself = scenario.starts_with("auth/client-credentials");
    OAuth {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: Some(DOCUMENT.to_owned()),
        grant: by_itself.then_some(Grant::ClientCredentials),
        private_key_file: key.map(|key| key.path().display().to_string()),
        signing_algorithm: text("signing_algorithm"),
        ..OAuth::default()
    }
}

fn key(context: &Value) -> Result<Option<NamedTempFile>, Failure> {
    let Some(pem) = context["private_key_pem"].as_str() else { return Ok(None) };
    let mut file = NamedTempFile::new()?;
    file.write_all(pem.as_bytes())?;
    Ok(Some(file))
}

// === impl Agreeable ===

impl Visit for Agreeable {
    fn visit<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<Visited, Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            let host = url.host_str().ok_or("the page has no host")?;
            let port = url.port_or_known_default().ok_or("the page has no port")?;
            let mut stream = TcpStream::connect((host, port)).await?;
            let query = url.query().unwrap_or_default();
            let request = format!(
                "GET {}?{query} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n",
                url.path()
            );
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.take(MAX_HEAD).read_to_string(&mut answer).await?;
            let fields = answer.lines().filter_map(|line| line.split_once(':'));
            let mut places = fields.filter(|(name, _)| name.eq_ignore_ascii_case("location"));
            let (_, place) = places.next().ok_or("the page sends nobody back")?;
            Ok(Visited::Pasted(place.trim().to_owned()))
        })
    }
}
