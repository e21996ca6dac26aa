//! From what was typed about who is let in, to what a face is told.

mod issued_tokens;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_auth::TrustedIssuer;
use switchboard_gateway::face::{
    AnonymousAccess, FaceAccess, FaceLimits, FaceOptions, FaceTimeouts, RequestRate, TlsIdentity,
    TokenVerifier, is_public_name,
};
use switchboard_gateway::tokens::{StoredTokenVerifier, TokenStore, TokenVerifiers};
use switchboard_hub::{AccessOptions, ClientAuth};
use switchboard_process::raise_descriptor_limit;
use switchboard_wire::sanitize;
use url::Url;

use crate::limits::{DescriptorShare, fitting_connections};
use crate::notice::Notice;
use crate::report::{Failure, FailureKind};
use crate::surroundings;
use issued_tokens::IssuedTokenVerifier;

/// Who is let in at an address, settled before anything listens there.
#[derive(Debug)]
pub(crate) struct AccessSetup {
    auth: ClientAuth,
    tls: Option<TlsIdentity>,
    store: TokenStore,
    /// Whose tokens are accepted besides our own.
    trust: Option<TrustedIssuer>,
}

// === impl AccessSetup ===

impl AccessSetup {
    /// Refuses what would let strangers in.
    pub(crate) fn new(
        access: &AccessOptions,
        listen: SocketAddr,
        state_dir: &Path,
    ) -> Result<Self, Failure> {
        let is_beyond = !listen.ip().is_loopback();
        let public_name = access.allow_host.iter().find(|name| is_public_name(name));
        let auth = match access.auth {
            Some(ClientAuth::User) if is_beyond => return Err(not_by_user(&listen.to_string())),
            Some(ClientAuth::User) if let Some(name) = public_name => {
                return Err(not_by_user(name));
            }
            Some(auth) => auth,
            None if is_beyond || public_name.is_some() || access.auth_issuer.is_some() => {
                ClientAuth::Token
            }
            None => ClientAuth::User,
        };
        let store = TokenStore::new(state_dir);
        let trust = trust(access)?;
        if auth == ClientAuth::Token && trust.is_none() {
            let name = public_name.map_or_else(|| listen.to_string(), Clone::clone);
            some_token(&store, &name)?;
        }
        Ok(Self { auth, tls: identity(access)?, store, trust })
    }

    /// What is worth saying about it.
    pub(crate) fn notices(&self, listen: SocketAddr) -> Vec<Notice> {
        if listen.ip().is_loopback() || self.tls.is_some() {
            return Vec::new();
        }
        let text = "without TLS everybody on the way can read tokens and calls";
        let hint = "serve with `--tls-cert` and `--tls-key`, or behind a proxy that does";
        vec![Notice::warning(text).with_hint(hint)]
    }

    /// Where clients find it. An address that means every one of this machine's is named by the host's name, if there
    /// is one.
    pub(crate) fn url(&self, access: &AccessOptions, bound: SocketAddr) -> String {
        format!("{}/mcp", self.base(access, bound))
    }

    fn base(&self, access: &AccessOptions, bound: SocketAddr) -> String {
        if let Some(url) = &access.auth_resource {
            return url.trim_end_matches('/').to_owned();
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let port = bound.port();
        let host = match (access.allow_host.first(), bound.ip()) {
            (Some(host), _) if host.contains(':') => host.clone(),
            (Some(host), _) => format!("{host}:{port}"),
            (None, ip) if ip.is_unspecified() => SocketAddr::new(loopback(ip), port).to_string(),
            (None, _) => bound.to_string(),
        };
        format!("{scheme}://{host}")
    }

    /// Where this machine's own user finds it.
    pub(crate) fn local_url(&self, bound: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{bound}")
    }

    /// An entry for clients' files.
    pub(crate) fn entry(&self, url: &str) -> Value {
        match self.auth {
            // Whoever finds the issuer signs in there.
            ClientAuth::Token if self.trust.is_some() => json!({ "type": "http", "url": url }),
            ClientAuth::User => json!({ "type": "http", "url": url }),
            ClientAuth::Token => json!({
                "type": "http", "url": url, "headers": { "Authorization": "Bearer <token>" },
            }),
        }
    }

    /// What the faces are told that are reached at `bound`.
    pub(crate) fn options(
        self,
        access: &AccessOptions,
        settings: &switchboard_config::Limits,
        bound: SocketAddr,
    ) -> FaceOptions {
        let base = self.base(access, bound);
        let own: Arc<dyn TokenVerifier> = Arc::new(StoredTokenVerifier::new(self.store));
        let tokens = match self.trust {
            Some(trust) => {
                Arc::new(TokenVerifiers(vec![own, Arc::new(IssuedTokenVerifier::new(trust, base))]))
            }
            None => own,
        };
        let rate =
            access.rate.map_or(RequestRate::Unlimited, |rate| RequestRate::PerSecond(rate.get()));
        let times = FaceTimeouts::default();
        let idle = access.idle.or(settings.session_idle_ms.map(Duration::from_millis));
        FaceOptions {
            access: FaceAccess {
                tokens: Some(tokens),
                without_token: match self.auth {
                    ClientAuth::User => AnonymousAccess::SameUser,
                    ClientAuth::Token => AnonymousAccess::Refused,
                },
            },
            hosts: access.allow_host.clone(),
            origins: access.allow_origin.clone(),
            limits: FaceLimits {
                connections: max_connections(),
                body: access.max_message.get(),
                sessions: access.max_sessions.get(),
                rate,
                ..FaceLimits::default()
            },
            times: FaceTimeouts { idle: idle.unwrap_or(times.idle), ..times },
            tls: self.tls,
            ..FaceOptions::local()
        }
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

fn not_by_user(place: &str) -> Failure {
    let place = sanitize::sanitize_line(place);
    let message = format!("{place} can be reached from other machines, where users mean nothing");
    Failure::usage(message, "leave `--auth user` out: clients need a token there")
}

/// Whose tokens are believed.
fn trust(access: &AccessOptions) -> Result<Option<TrustedIssuer>, Failure> {
    let is_one = |text: &str| {
        let url = Url::parse(text).ok();
        url.is_some_and(|url| matches!(url.scheme(), "https" | "http") && url.query().is_none())
    };
    let wrong = |flag: &str, text: &str, example: &str| {
        let message = format!("`{}` is no URL that `{flag}` can be", sanitize::sanitize_line(text));
        Failure::usage(message, format!("give one like {example}"))
    };
    let is_origin =
        |url: &String| is_one(url) && Url::parse(url).is_ok_and(|url| url.path() == "/");
    if let Some(url) = access.auth_resource.as_ref().filter(|url| !is_origin(url)) {
        return Err(wrong("--auth-resource", url, "https://hub.example.com, without a path"));
    }
    let Some(issuer) = &access.auth_issuer else { return Ok(None) };
    if !is_one(issuer) {
        return Err(wrong("--auth-issuer", issuer, "https://login.example.com"));
    }
    Ok(Some(TrustedIssuer {
        issuer: issuer.clone(),
        audiences: access.auth_audience.clone(),
        scopes: access.auth_scope.clone(),
    }))
}

/// Whoever is to come in needs something to come in with.
fn some_token(store: &TokenStore, place: &str) -> Result<(), Failure> {
    let tokens = store.list().map_err(|error| super::commands::token_failed(error, store))?;
    if tokens.iter().any(|token| token.is_good(surroundings::now())) {
        return Ok(());
    }
    let message =
        format!("clients of {} need a token, and there is none", sanitize::sanitize_line(place));
    Err(Failure::plain(FailureKind::Usage, message)
        .with_hint("make one with `switchboard token create --name <client>`, and try again"))
}

fn identity(access: &AccessOptions) -> Result<Option<TlsIdentity>, Failure> {
    let (Some(cert), Some(key)) = (&access.tls_cert, &access.tls_key) else {
        return Ok(None);
    };
    let identity = TlsIdentity::from_pem(read(cert)?, read(key)?);
    let hint = format!(
        "`{}` has to hold the certificate, and `{}` its private key, in PEM",
        cert.display(),
        key.display()
    );
    identity
        .check()
        .map_err(|error| Failure::new("cannot serve with TLS", error).with_hint(hint))?;
    Ok(Some(identity))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read `{}`", path.display()), error))
}
