//! From what was typed about who is let in, to what a face is told.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_gateway::face::{
    Access, FaceOptions, Limits, Rate, Times, TlsIdentity, WithoutToken,
};
use switchboard_gateway::tokens::{Checked, TokenStore};

use crate::args::{Auth, Guarding};
use crate::notice::Notice;
use crate::report::{Failure, Kind};
use crate::surroundings;

/// Who is let in at an address, settled before anything listens there.
#[derive(Debug)]
pub(crate) struct Door {
    auth: Auth,
    tls: Option<TlsIdentity>,
    store: TokenStore,
}

// === impl Door ===

impl Door {
    /// Refuses what would let strangers in.
    pub(crate) fn new(
        guarding: &Guarding,
        listen: SocketAddr,
        state_dir: &Path,
    ) -> Result<Self, Failure> {
        let is_beyond = !listen.ip().is_loopback();
        let auth = match guarding.auth {
            Some(Auth::User) if is_beyond => return Err(not_by_user(listen)),
            Some(auth) => auth,
            None if is_beyond => Auth::Token,
            None => Auth::User,
        };
        let store = TokenStore::new(state_dir);
        if auth == Auth::Token {
            some_token(&store, listen)?;
        }
        Ok(Self { auth, tls: identity(guarding)?, store })
    }

    /// What is worth saying about it.
    pub(crate) fn notices(&self, listen: SocketAddr) -> Vec<Notice> {
        if listen.ip().is_loopback() || self.tls.is_some() {
            return Vec::new();
        }
        let text = "without TLS everybody on the way can read tokens and calls";
        let hint = "serve with `--tls-cert` and `--tls-key`, or behind a proxy that does";
        vec![Notice::warning(text).hinted(hint)]
    }

    /// Where clients find it. An address that means every one of this machine's is named by the host's name, if there
    /// is one.
    pub(crate) fn url(&self, guarding: &Guarding, bound: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let port = bound.port();
        let host = match (guarding.allow_host.first(), bound.ip()) {
            (Some(host), _) if host.contains(':') => host.clone(),
            (Some(host), _) => format!("{host}:{port}"),
            (None, ip) if ip.is_unspecified() => SocketAddr::new(loopback(ip), port).to_string(),
            (None, _) => bound.to_string(),
        };
        format!("{scheme}://{host}/mcp")
    }

    /// Where this machine's own user finds it.
    pub(crate) fn base(&self, bound: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{bound}")
    }

    /// An entry for clients' files.
    pub(crate) fn entry(&self, url: &str) -> Value {
        match self.auth {
            Auth::User => json!({ "type": "http", "url": url }),
            Auth::Token => json!({
                "type": "http", "url": url, "headers": { "Authorization": "Bearer <token>" },
            }),
        }
    }

    /// What the faces are told.
    pub(crate) fn options(self, guarding: &Guarding) -> FaceOptions {
        let rate = guarding.rate.map_or(Rate::Unlimited, |rate| Rate::PerSecond(rate.get()));
        FaceOptions {
            access: Access {
                tokens: Some(Arc::new(Checked::new(self.store))),
                without_token: match self.auth {
                    Auth::User => WithoutToken::SameUser,
                    Auth::Token => WithoutToken::Refused,
                },
            },
            hosts: guarding.allow_host.clone(),
            origins: guarding.allow_origin.clone(),
            limits: Limits {
                body: guarding.max_message.get(),
                sessions: guarding.max_sessions.get(),
                rate,
                ..Limits::default()
            },
            times: Times { idle: guarding.idle, ..Times::default() },
            tls: self.tls,
            ..FaceOptions::local()
        }
    }
}

fn loopback(unspecified: IpAddr) -> IpAddr {
    match unspecified {
        IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
    }
}

fn not_by_user(listen: SocketAddr) -> Failure {
    let message = format!("{listen} can be reached from other machines, where users mean nothing");
    Failure::usage(message, "leave `--auth user` out: clients need a token there")
}

/// Whoever is to come in needs something to come in with.
fn some_token(store: &TokenStore, listen: SocketAddr) -> Result<(), Failure> {
    let tokens = store.list().map_err(|error| super::commands::token_failed(error, store))?;
    if tokens.iter().any(|token| token.is_good(surroundings::now())) {
        return Ok(());
    }
    let message = format!("clients of {listen} need a token, and there is none");
    Err(Failure::plain(Kind::Usage, message)
        .hinted("make one with `switchboard token create --name <client>`, and try again"))
}

fn identity(guarding: &Guarding) -> Result<Option<TlsIdentity>, Failure> {
    let (Some(cert), Some(key)) = (&guarding.tls_cert, &guarding.tls_key) else {
        return Ok(None);
    };
    let identity = TlsIdentity::from_pem(read(cert)?, read(key)?);
    let hint = format!(
        "`{}` has to hold the certificate, and `{}` its private key, in PEM",
        cert.display(),
        key.display()
    );
    identity.check().map_err(|error| Failure::new("cannot serve with TLS", error).hinted(hint))?;
    Ok(Some(identity))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read `{}`", path.display()), error))
}
