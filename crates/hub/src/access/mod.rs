//! Access control of an address: from [`AccessOptions`] to the options of the faces there.
//!
//! Used by `serve`, `plugin serve` and the hub before anything listens; it refuses options that would let strangers
//! in. It also makes the pages on which people of other machines sign in. It does not listen.

mod browser_session;
mod issued_tokens;
mod issuer_sign_in;
mod sign_in_codes;
pub(crate) mod sign_in_links;
mod sign_in_pages;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use serde_json::{Value, json};
use switchboard_auth::{BrowserSignInClient, IssuerClient, Secret, TrustedIssuer};
use switchboard_core::sealing::HandleSealer;
use switchboard_gateway::face::{
    AnonymousAccess, FaceAccess, FaceLimits, FaceOptions, FaceTimeouts, RequestRate, TlsIdentity,
    TokenVerifier, is_public_name,
};
use switchboard_gateway::tokens::{StoredTokenVerifier, TokenStore, TokenVerifiers};
use switchboard_process::raise_descriptor_limit;
use switchboard_wire::http::HttpPoolOptions;
use url::Url;

use crate::limits::{DescriptorShare, fitting_connections};
use crate::{AccessOptions, ClientAuth, HubError};
use issued_tokens::IssuedTokenVerifier;
use issuer_sign_in::IssuerSignIn;
use sign_in_links::{PageAddressLease, SignInLinkTable};
use sign_in_pages::SignInPages;

pub(crate) use browser_session::BrowserSessions;
pub(crate) use sign_in_pages::{BROWSER_PAGE_PATH, CONSOLE_PATH};

/// Which clients are let in at an address, settled before anything listens there.
#[derive(Debug)]
pub struct AccessSetup {
    options: AccessOptions,
    auth: ClientAuth,
    tls: Option<TlsIdentity>,
    store: TokenStore,
    /// The authorization server whose tokens are accepted besides our own.
    trust: Option<TrustedIssuer>,
    /// Our client there, with which browsers sign in.
    issuer_client: Option<IssuerClient>,
}

// === impl AccessSetup ===

impl AccessSetup {
    /// Refuses flags that would let strangers in.
    pub fn new(
        options: AccessOptions,
        listen: SocketAddr,
        state_dir: &Path,
    ) -> Result<Self, HubError> {
        let is_beyond = !listen.ip().is_loopback();
        let public_name = options.allow_host.iter().find(|name| is_public_name(name));
        let auth = match options.auth {
            Some(ClientAuth::User) if is_beyond => return Err(not_by_user(&listen.to_string())),
            Some(ClientAuth::User) if let Some(name) = public_name => {
                return Err(not_by_user(name));
            }
            Some(auth) => auth,
            None if is_beyond || public_name.is_some() || options.auth_issuer.is_some() => {
                ClientAuth::Token
            }
            None => ClientAuth::User,
        };
        let store = TokenStore::new(state_dir);
        let trust = trusted_issuer(&options)?;
        let tls = tls_identity(&options)?;
        let issuer_client = issuer_client(&options, trust.as_ref())?;
        let setup = Self { options, auth, tls, store, trust, issuer_client };
        if !setup.options.shares_tokens {
            setup.check_tokens(listen)?;
        }
        Ok(setup)
    }

    /// Refuses to serve where no client could have a token, although each needs one. With replicas that share tokens:
    /// once theirs are here.
    pub fn check_tokens(&self, listen: SocketAddr) -> Result<(), HubError> {
        if self.auth != ClientAuth::Token || self.trust.is_some() {
            return Ok(());
        }
        let public_name = self.options.allow_host.iter().find(|name| is_public_name(name));
        let place = public_name.map_or_else(|| listen.to_string(), Clone::clone);
        check_some_token(&self.store, place)
    }

    /// Whether other machines reach `listen` without TLS, so that every machine on the way can read tokens and calls.
    pub fn is_open_to_eavesdroppers(&self, listen: SocketAddr) -> bool {
        !listen.ip().is_loopback() && self.tls.is_none()
    }

    /// The URL by which clients find the faces at `bound`. An address that means every one of this machine's is named by
    /// the host's name, if there is one.
    pub fn url(&self, bound: SocketAddr) -> String {
        format!("{}/mcp", self.base_url(bound))
    }

    fn base_url(&self, bound: SocketAddr) -> String {
        if let Some(url) = &self.options.auth_resource {
            return url.trim_end_matches('/').to_owned();
        }
        let scheme = self.scheme();
        let port = bound.port();
        let host = match (self.options.allow_host.first(), bound.ip()) {
            (Some(host), _) if host.contains(':') => host.clone(),
            (Some(host), _) => format!("{host}:{port}"),
            (None, ip) if ip.is_unspecified() => SocketAddr::new(loopback(ip), port).to_string(),
            (None, _) => bound.to_string(),
        };
        format!("{scheme}://{host}")
    }

    /// The URL of the address for the user of this machine.
    pub fn local_url(&self, bound: SocketAddr) -> String {
        format!("{}://{bound}", self.scheme())
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// An entry for clients' files.
    pub fn entry(&self, url: &str) -> Value {
        match self.auth {
            // The client discovers the issuer, and signs in there.
            ClientAuth::Token if self.trust.is_some() => json!({ "type": "http", "url": url }),
            ClientAuth::User => json!({ "type": "http", "url": url }),
            ClientAuth::Token => json!({
                "type": "http", "url": url, "headers": { "Authorization": "Bearer <token>" },
            }),
        }
    }

    /// The options of the faces at `bound`.
    pub fn face_options(
        &self,
        settings: &switchboard_config::LimitSettings,
        bound: SocketAddr,
    ) -> FaceOptions {
        let options = &self.options;
        let rate =
            options.rate.map_or(RequestRate::Unlimited, |rate| RequestRate::PerSecond(rate.get()));
        let times = FaceTimeouts::default();
        let idle = options.idle.or(settings.session_idle_ms.map(Duration::from_millis));
        FaceOptions {
            access: FaceAccess {
                tokens: Some(self.token_verifier(bound)),
                without_token: match self.auth {
                    ClientAuth::User => AnonymousAccess::SameUser,
                    ClientAuth::Token => AnonymousAccess::Refused,
                },
            },
            hosts: options.allow_host.clone(),
            origins: options.allow_origin.clone(),
            limits: FaceLimits {
                connections: max_connections(),
                body: options.max_message.get(),
                sessions: options.max_sessions.get(),
                rate,
                ..FaceLimits::default()
            },
            times: FaceTimeouts { idle: idle.unwrap_or(times.idle), ..times },
            tls: self.tls.clone(),
            ..FaceOptions::local()
        }
    }

    /// The sessions of browsers at `bound`. `None` if the address has no origin.
    pub(crate) fn browser_sessions(
        &self,
        sealer: Arc<dyn HandleSealer>,
        bound: SocketAddr,
    ) -> Option<Arc<BrowserSessions>> {
        let base = Url::parse(&self.base_url(bound)).ok()?;
        let tokens = StoredTokenVerifier::new(self.store.clone());
        Some(Arc::new(BrowserSessions::new(sealer, tokens, base)))
    }

    /// The pages on which people sign in, in these sessions, and the announcement of their address to `links`.
    pub(crate) fn sign_in_pages(
        &self,
        links: &SignInLinkTable,
        sessions: Arc<BrowserSessions>,
    ) -> (Router, PageAddressLease) {
        let base = sessions.base().clone();
        let issuer = self.trust.as_ref().map(|trust| trust.issuer.clone());
        let sign_in = self.issuer_client.clone().map(|client| {
            IssuerSignIn::new(BrowserSignInClient::new(client, HttpPoolOptions::default()))
        });
        let pages = SignInPages::new(links.clone(), sessions, sign_in).routes();
        (pages, links.add_address(base, issuer))
    }

    fn token_verifier(&self, bound: SocketAddr) -> Arc<dyn TokenVerifier> {
        let own: Arc<dyn TokenVerifier> = Arc::new(StoredTokenVerifier::new(self.store.clone()));
        let Some(trust) = self.trust.clone() else { return own };
        let issued = IssuedTokenVerifier::new(trust, self.base_url(bound));
        Arc::new(TokenVerifiers(vec![own, Arc::new(issued)]))
    }
}

fn max_connections() -> usize {
    let (usual, limit) = (FaceLimits::default().connections, raise_descriptor_limit());
    fitting_connections(usual, limit, DescriptorShare::Network)
}

fn loopback(unspecified: IpAddr) -> IpAddr {
    match unspecified {
        IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
    }
}

fn not_by_user(place: &str) -> HubError {
    HubError::UserAuthBeyondMachine { place: place.to_owned() }
}

/// The authorization server whose tokens are accepted.
fn trusted_issuer(options: &AccessOptions) -> Result<Option<TrustedIssuer>, HubError> {
    let is_url = |text: &str| {
        let url = Url::parse(text).ok();
        url.is_some_and(|url| matches!(url.scheme(), "https" | "http") && url.query().is_none())
    };
    let is_origin =
        |url: &String| is_url(url) && Url::parse(url).is_ok_and(|url| url.path() == "/");
    if let Some(url) = options.auth_resource.as_ref().filter(|url| !is_origin(url)) {
        return Err(HubError::ResourceUrl { url: url.clone() });
    }
    let Some(issuer) = &options.auth_issuer else { return Ok(None) };
    if !is_url(issuer) {
        return Err(HubError::IssuerUrl { url: issuer.clone() });
    }
    Ok(Some(TrustedIssuer {
        issuer: issuer.clone(),
        audiences: options.auth_audience.clone(),
        scopes: options.auth_scope.clone(),
        groups_claim: options.auth_groups.clone().unwrap_or_else(|| "groups".to_owned()),
    }))
}

/// Our client at the issuer, if the options name one.
fn issuer_client(
    options: &AccessOptions,
    trust: Option<&TrustedIssuer>,
) -> Result<Option<IssuerClient>, HubError> {
    let (Some(trust), Some(client_id)) = (trust, &options.auth_client_id) else { return Ok(None) };
    let secret = options.auth_client_secret_file.as_deref().map(read_client_secret);
    Ok(Some(IssuerClient {
        issuer: trust.issuer.clone(),
        client_id: client_id.clone(),
        client_secret: secret.transpose()?,
        groups_claim: trust.groups_claim.clone(),
    }))
}

fn read_client_secret(path: &Path) -> Result<Secret<String>, HubError> {
    let failed = |source| HubError::ClientSecretFile { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    match text.trim() {
        "" => Err(failed(io::Error::new(io::ErrorKind::InvalidData, "it is empty"))),
        secret => Ok(Secret::new(secret.to_owned())),
    }
}

/// Fails where no client could have a token that is good.
fn check_some_token(store: &TokenStore, place: String) -> Result<(), HubError> {
    let failed = |source| HubError::Tokens { path: store.path().to_owned(), source };
    let tokens = store.list().map_err(failed)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if tokens.iter().any(|token| token.is_good(now)) {
        return Ok(());
    }
    Err(HubError::NoToken { place })
}

fn tls_identity(options: &AccessOptions) -> Result<Option<TlsIdentity>, HubError> {
    let (Some(cert), Some(key)) = (&options.tls_cert, &options.tls_key) else {
        return Ok(None);
    };
    let identity = TlsIdentity::from_pem(read_pem(cert)?, read_pem(key)?);
    let unusable = |source| HubError::Tls { cert: cert.clone(), key: key.clone(), source };
    identity.check().map_err(unusable)?;
    Ok(Some(identity))
}

fn read_pem(path: &Path) -> Result<Vec<u8>, HubError> {
    std::fs::read(path).map_err(|source| HubError::Pem { path: path.to_owned(), source })
}
