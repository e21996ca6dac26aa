//! The addresses of NATS: URLs separated by commas, and whether they may be used.
//!
//! Used by `nats` and the program. Beyond this machine a connection needs TLS and credentials. It connects to nothing.

use std::str::FromStr;

use async_nats::ServerAddr;
use url::{Host, Url};

use super::NatsCredentials;
use crate::ClusterError;

/// The most addresses.
const MAX_ADDRESSES: usize = 16;

/// One or more addresses of one NATS system. `Debug` shows no user.
#[derive(Clone)]
pub struct NatsAddresses(Vec<Url>);

// === impl NatsAddresses ===

impl NatsAddresses {
    /// The addresses without users, for people.
    pub fn redacted(&self) -> String {
        let shown = |url: &Url| {
            let port = url.port().unwrap_or(4222);
            format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default())
        };
        self.0.iter().map(shown).collect::<Vec<_>>().join(",")
    }

    /// Whether every connection has to be encrypted.
    pub(super) fn need_tls(&self) -> bool {
        self.0.iter().any(|url| url.scheme() == "tls")
    }

    /// Refuses addresses of other machines without TLS or without credentials.
    pub(super) fn check_protection(&self, has_credentials: bool) -> Result<(), ClusterError> {
        let Some(url) = self.0.iter().find(|url| !is_loopback(url)) else { return Ok(()) };
        let host = url.host_str().unwrap_or_default();
        let reason = if url.scheme() != "tls" {
            format!(
                "{host} is another machine, so the connection has to be encrypted: write tls://"
            )
        } else if !has_credentials {
            format!(
                "{host} is another machine, so NATS has to know who comes: name a user in the URL, or a file with \
                 --cluster-credentials-file"
            )
        } else {
            return Ok(());
        };
        Err(ClusterError::Address { reason })
    }

    /// The credentials in the URLs, if there are any.
    pub(super) fn credentials(&self) -> Option<NatsCredentials> {
        let url = self.0.iter().find(|url| !url.username().is_empty())?;
        let decode = |text: &str| {
            url::form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        let user = decode(url.username());
        Some(match url.password() {
            Some(password) => NatsCredentials::User { user, password: decode(password) },
            None => NatsCredentials::Token(user),
        })
    }

    /// The addresses as the library takes them. Credentials go another way, so that none is in its messages.
    pub(super) fn without_users(&self) -> Result<Vec<ServerAddr>, ClusterError> {
        let plain = self.redacted();
        let parsed: Result<_, std::io::Error> = plain.split(',').map(str::parse).collect();
        parsed.map_err(|error| ClusterError::Address { reason: error.to_string() })
    }
}

impl FromStr for NatsAddresses {
    type Err = ClusterError;

    fn from_str(text: &str) -> Result<Self, ClusterError> {
        let refused = |reason: &str| ClusterError::Address { reason: reason.to_owned() };
        let urls = text.split(',').map(|part| parse(part.trim()));
        let urls: Vec<_> = urls.collect::<Result<_, _>>().map_err(|reason| refused(&reason))?;
        if urls.len() > MAX_ADDRESSES {
            return Err(refused("there are more than 16"));
        }
        if urls.iter().any(|url| url.scheme() != urls[0].scheme()) {
            return Err(refused("write nats:// before all addresses, or tls:// before all"));
        }
        Ok(Self(urls))
    }
}

/// Parses one URL. The reasons repeat no part of it, since it may hold a password.
fn parse(text: &str) -> Result<Url, String> {
    let scheme = "write nats://HOST:PORT, or tls://HOST:PORT beyond this machine";
    let url = Url::parse(text).map_err(|error| format!("{error}; {scheme}"))?;
    if !matches!(url.scheme(), "nats" | "tls") {
        return Err(scheme.to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(format!("a host is missing; {scheme}"));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err("nothing may follow the port".to_owned());
    }
    Ok(url)
}

/// Whether a URL points to this machine. A scheme that browsers do not know leaves an address as text.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain("localhost")) => true,
        Some(Host::Domain(name)) => {
            name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

impl std::fmt::Debug for NatsAddresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NatsAddresses({})", self.redacted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, has_credentials: bool) -> Result<(), String> {
        let addresses: NatsAddresses =
            text.parse().map_err(|error: ClusterError| error.to_string())?;
        addresses.check_protection(has_credentials).map_err(|error| error.to_string())
    }

    #[test]
    fn beyond_this_machine_a_connection_is_encrypted_and_has_credentials() {
        for (text, has_credentials, refusal) in [
            ("nats://127.0.0.1:4222", false, None),
            ("nats://localhost", false, None),
            ("nats://[::1]:4222,nats://127.0.0.2", false, None),
            ("tls://nats.example:4222", true, None),
            ("nats://nats.example:4222", true, Some("write tls://")),
            ("nats://127.0.0.1,nats://10.0.0.1", true, Some("write tls://")),
            ("nats://localhost.example", true, Some("write tls://")),
            ("nats://127.0.0.1.example", true, Some("write tls://")),
            ("tls://nats.example", false, Some("--cluster-credentials-file")),
        ] {
            match (check(text, has_credentials), refusal) {
                (Ok(()), None) => {}
                (Err(error), Some(part)) if error.contains(part) => {}
                (other, _) => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for text in [
            "",
            "127.0.0.1:4222",
            "http://u:hunter2@a",
            "nats://",
            "nats://u:hunter2@a/path",
            "nats://u:hunter2@a?x",
            "nats://u:hunter2@a,tls://b",
            "nats://u:hunter2@a:99999",
        ] {
            let error = text.parse::<NatsAddresses>().unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn nobody_sees_the_user() {
        let addresses: NatsAddresses = "nats://ann:p%40ss+w@127.0.0.1:1".parse().unwrap();
        assert_eq!(addresses.redacted(), "nats://127.0.0.1:1");
        assert_eq!(format!("{addresses:?}"), "NatsAddresses(nats://127.0.0.1:1)");
        let Some(NatsCredentials::User { user, password }) = addresses.credentials() else {
            panic!("there is a user")
        };
        assert_eq!((&*user, &*password), ("ann", "p@ss+w"));
        let token: NatsAddresses = "nats://secret@127.0.0.1".parse().unwrap();
        assert!(matches!(token.credentials(), Some(NatsCredentials::Token(it)) if it == "secret"));
    }
}
