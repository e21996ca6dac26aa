//! Addresses of skills in a view of several servers: a server's URI together with the name of the server.
//!
//! Used by `skills`. Two servers may have the same URI, so a client gets `skill://<server>.switchboard/<rest>` for
//! `skill://<rest>`, and `skill://<scheme>+<server>.switchboard/<rest>` for a URI of another scheme. The form is exact
//! both ways, also for a URI that already looks like it. The server stands in the authority of the address, so files
//! and folders of a skill keep their places below it, and no `..` in a path leads to another server. It does not know
//! which servers exist.

use crate::bridge::authority_label::{AUTHORITY_SUFFIX, decode_label, encode_label};

const SCHEME: &str = "skill";
const SCHEME_END: &str = "://";
/// What stands between another scheme and the server.
const SCHEME_SEPARATOR: char = '+';

/// A server, and one of its URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::bridge) struct SkillAddress {
    pub(in crate::bridge) server: String,
    pub(in crate::bridge) uri: String,
}

/// The address of a server's URI; `None` if the URI has no `://`, which no URI of a skill may lack.
pub(super) fn issue(server: &str, uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(SCHEME_END).filter(|(scheme, _)| is_scheme(scheme))?;
    let mut address = [SCHEME, SCHEME_END].concat();
    if scheme != SCHEME {
        address.push_str(&encode_label(scheme));
        address.push(SCHEME_SEPARATOR);
    }
    address.push_str(&encode_label(server));
    address.push_str(AUTHORITY_SUFFIX);
    address.push('/');
    address.push_str(rest);
    Some(address)
}

// === impl SkillAddress ===

impl SkillAddress {
    /// Reads an address. A text that [`issue`] cannot have returned is none, but for the case of the server, which
    /// hosts may change.
    pub(super) fn parse(address: &str) -> Option<Self> {
        let address = address.strip_prefix(SCHEME)?.strip_prefix(SCHEME_END)?;
        let (authority, rest) = address.split_once('/')?;
        let authority = authority.to_ascii_lowercase();
        let labels = authority.strip_suffix(AUTHORITY_SUFFIX)?;
        let (scheme, server) = match labels.split_once(SCHEME_SEPARATOR) {
            Some((scheme, server)) => (decode_label(scheme)?, decode_label(server)?),
            None => (SCHEME.to_owned(), decode_label(labels)?),
        };
        let uri = format!("{scheme}{SCHEME_END}{rest}");
        let is_exact = issue(&server, &uri)? == format!("{SCHEME}{SCHEME_END}{authority}/{rest}");
        is_exact.then_some(Self { server, uri })
    }
}

fn is_scheme(scheme: &str) -> bool {
    let is_other = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_the_server_and_keeps_the_uri() {
        for (server, uri, expected) in [
            ("docs", "skill://pdf/SKILL.md", "skill://docs.switchboard/pdf/SKILL.md"),
            ("docs", "skill://acme/a/b?x#y", "skill://docs.switchboard/acme/a/b?x#y"),
            ("a.b", "skill://pdf/SKILL.md", "skill://a.b.switchboard/pdf/SKILL.md"),
            ("My/App ü", "skill://p", "skill://~4dy~2f~41pp~20~c3~bc.switchboard/p"),
            ("git", "github://o/r/SKILL.md", "skill://github+git.switchboard/o/r/SKILL.md"),
            ("git", "a+B.c-d://o", "skill://a~2b~42.c-d+git.switchboard/o"),
            ("a+b", "skill://x", "skill://a~2bb.switchboard/x"),
            ("docs", "skill://", "skill://docs.switchboard/"),
            ("docs", "file:///x", "skill://file+docs.switchboard//x"),
            // A URI that looks like an address of another server, or climbs to it, stays with its own.
            ("b", "skill://a.switchboard/x", "skill://b.switchboard/a.switchboard/x"),
            ("b", "skill://../a.switchboard/x", "skill://b.switchboard/../a.switchboard/x"),
            ("a~62", "skill://x", "skill://a~7e62.switchboard/x"),
        ] {
            assert_eq!(issue(server, uri).as_deref(), Some(expected));
            let whole = SkillAddress { server: server.to_owned(), uri: uri.to_owned() };
            assert_eq!(SkillAddress::parse(expected), Some(whole));
            assert!(url::Url::parse(expected).is_ok(), "{expected}");
        }
        let changed = SkillAddress::parse("skill://DOCS.Switchboard/Pdf").unwrap();
        assert_eq!((&*changed.server, &*changed.uri), ("docs", "skill://Pdf"));
    }

    #[test]
    fn other_texts_are_no_addresses() {
        for uri in ["urn:x", "", "no scheme://x", "1a://x", "://x"] {
            assert_eq!(issue("docs", uri), None, "{uri}");
        }
        for address in [
            "skill://pdf/SKILL.md",
            "skill://acme.example/SKILL.md",
            "skill://docs.switchboard",
            "skill://.switchboard/x",
            "ui://docs.switchboard/x",
            "skill://do~63s.switchboard/x",
            "skill://docs~2.switchboard/x",
            "skill://docs~ff.switchboard/x",
            "skill://docs~+1.switchboard/x",
            "skill://docs@a.switchboard/x",
            "skill://skill+docs.switchboard/x",
            "skill://1a+docs.switchboard/x",
            "skill://+docs.switchboard/x",
        ] {
            assert_eq!(SkillAddress::parse(address), None, "{address}");
        }
    }
}
