//! The sign-in scenarios: the context becomes an entry's `oauth`, and the person is a function that follows one
//! redirect.
//!
//! Used by `conformance-client`. The flows themselves are in `switchboard-auth`.

use std::io::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use switchboard_auth::{
    ClientAuthMethod, FileSignInStore, IdentityProviderClient, NoKeychain, OAuthAccount,
    OAuthClient, OAuthCredentials, OpenSignInPage, Secret, SignIn, SignInPageOutcome, SignInRecord,
    SignInStore as _, SignInTarget, UserPresence,
};
use switchboard_config::{OAuth, OAuthGrant};
use switchboard_wire::http::{CredentialProvider, HttpPoolOptions};
use tempfile::{NamedTempFile, TempDir};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::Failure;

/// The client metadata document of the suite.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const MAX_HEAD: u64 = 64 << 10;

/// Credentials for one scenario, and the files they need while it runs.
pub(super) struct SigningIn {
    pub(super) credentials: Arc<dyn CredentialProvider>,
    _store: TempDir,
    _files: Files,
}

/// The files that the entry names.
struct Files {
    key: Option<NamedTempFile>,
    assertion: Option<NamedTempFile>,
}

/// A person who agrees to everything: the suite's authorization server redirects straight back.
struct Agreeable;

// === impl SigningIn ===

impl SigningIn {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".into());
        let context: Value = serde_json::from_str(&context)?;
        let files = Files {
            key: file(&context["private_key_pem"])?,
            assertion: file(&context["valid_jwt"])?,
        };
        let oauth = oauth(&context, &files);
        let folder = tempfile::tempdir()?;
        let store = Arc::new(FileSignInStore::new(folder.path(), Arc::new(NoKeychain)));
        let organisation = organisation(&context, &store)?;
        let subject = SignInTarget::new("conformance", url.parse()?, Some(oauth));
        let sign_in = SignIn::new(subject, store, HttpPoolOptions::default())
            .with_identity_provider(organisation);
        let provider = OAuthCredentials::new(sign_in, UserPresence::Somebody(Arc::new(Agreeable)));
        Ok(Self { credentials: Arc::new(provider), _store: folder, _files: files })
    }
}

fn oauth(context: &Value, files: &Files) -> OAuth {
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let path = |file: &Option<NamedTempFile>| Some(file.as_ref()?.path().display().to_string());
    OAuth {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: Some(DOCUMENT.to_owned()),
        grant: match scenario.as_str() {
            "auth/wif-jwt-bearer" => Some(OAuthGrant::JwtBearer),
            name => {
                name.starts_with("auth/client-credentials").then_some(OAuthGrant::ClientCredentials)
            }
        },
        private_key_file: path(&files.key),
        assertion_file: path(&files.assertion),
        xaa: text("idp_id_token").map(|_| true),
        signing_algorithm: text("signing_algorithm"),
        ..OAuth::default()
    }
}

fn file(text: &Value) -> Result<Option<NamedTempFile>, Failure> {
    let Some(text) = text.as_str() else { return Ok(None) };
    let mut file = NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    Ok(Some(file))
}

/// The identity provider of the context, with a person signed in already: the suite's provider has no page.
fn organisation(
    context: &Value,
    store: &Arc<FileSignInStore>,
) -> Result<Option<IdentityProviderClient>, Failure> {
    let text = |name: &str| context[name].as_str().unwrap_or_default().to_owned();
    let Some(id_token) = context["idp_id_token"].as_str() else { return Ok(None) };
    let settings = switchboard_config::IdentityProvider {
        issuer: text("idp_issuer"),
        client_id: text("idp_client_id"),
        client_secret_helper: None,
        scopes: Vec::new(),
        callback_port: None,
    };
    let client =
        OAuthClient { id: text("idp_client_id"), secret: None, auth: ClientAuthMethod::None };
    let account = OAuthAccount {
        issuer: text("idp_issuer"),
        token_endpoint: text("idp_token_endpoint"),
        revocation_endpoint: None,
        client,
        resource: None,
        scopes: Vec::new(),
        access: Secret::new(String::new()),
        expires_at: None,
        obtained_at: 0,
        signed_in_at: None,
        refresh: None,
        key: None,
        id_token: Some(Secret::new(id_token.to_owned())),
        sign_in_id: "conformance".to_owned(),
        server_zone: None,
    };
    let provider =
        IdentityProviderClient::new(settings, None, store.clone(), HttpPoolOptions::default());
    store.save(
        &provider.store_key(),
        &SignInRecord { account: Some(account), ..SignInRecord::default() },
    )?;
    Ok(Some(provider))
}

// === impl Agreeable ===

impl OpenSignInPage for Agreeable {
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>> {
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
            Ok(SignInPageOutcome::Pasted(place.trim().to_owned()))
        })
    }
}
