//! The check whether a request to a URL is encrypted or stays on this machine.
//!
//! Used by `resolve::connectors`, `settings::parse` and `sources::connectors` before they send a token, or anything
//! to a URL that came from the network. It does not resolve host names.

use url::{Host, Url};

/// Whether `url` uses TLS, or points to this machine.
pub fn is_encrypted_or_local(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    matches!(url.scheme(), "https" | "wss") || is_loopback(&url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_encrypted_or_local;

    #[test]
    fn plain_text_stays_on_this_machine() {
        for url in [
            "https://a.example/x",
            "wss://a.example",
            "http://127.0.0.1:1/",
            "http://[::1]/",
            "ws://localhost:80/",
        ] {
            assert!(is_encrypted_or_local(url), "{url}");
        }
        for url in [
            "http://a.example",
            "ws://a.example",
            "http://10.0.0.1/",
            "http://localhost.example/",
            "http://127.0.0.1.example/",
            "a.example",
            "",
        ] {
            assert!(!is_encrypted_or_local(url), "{url}");
        }
    }
}
