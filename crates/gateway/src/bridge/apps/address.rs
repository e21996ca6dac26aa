//! The addresses under which clients of several servers see UI resources.
//!
//! Used by `apps::translate` and `apps`. Two servers may have the same `ui://` address, and a host asks for a UI by its
//! address alone. So a client of several servers sees `ui://<server>.switchboard/<rest>` in place of `ui://<rest>`.
//!
//! Every `ui://` address of every server is written in this form, also one that already looks like it. So no address
//! of a server can be mistaken for that of another one, and each is exact both ways. The server stands in the
//! authority: a host that resolves `..` in the path cannot turn it into another server. It does not check whether the
//! server exists.

use switchboard_core::catalog::is_ui_uri;

use crate::bridge::authority_label::{AUTHORITY_SUFFIX, decode_label, encode_label};

/// The length of `ui://` in any spelling.
const SCHEME_BYTES: usize = "ui://".len();

/// A UI resource of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct UiAddress {
    /// The server.
    pub(in super::super) server: String,
    /// The resource's own URI at the server.
    pub(in super::super) uri: String,
}

// === impl UiAddress ===

impl UiAddress {
    /// The resource that a client means by `address`; `None` if the address has not the form that clients are given.
    pub(in super::super) fn parse(address: &str) -> Option<Self> {
        if !is_ui_uri(address) {
            return None;
        }
        let (scheme, rest) = address.split_at(SCHEME_BYTES);
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let authority = authority.to_ascii_lowercase();
        let server = decode_label(authority.strip_suffix(AUTHORITY_SUFFIX)?)?;
        let path = path.strip_prefix('/').unwrap_or(path);
        Some(Self { server, uri: [scheme, path].concat() })
    }
}

/// The address for clients of a server's own `uri`; `None` if the URI is not of a UI resource.
pub(in super::super) fn to_address(server: &str, uri: &str) -> Option<String> {
    if !is_ui_uri(uri) {
        return None;
    }
    let (scheme, rest) = uri.split_at(SCHEME_BYTES);
    Some([scheme, &encode_label(server), AUTHORITY_SUFFIX, "/", rest].concat())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_names_its_server() {
        let long = "x".repeat(1 << 20);
        for (server, uri, address) in [
            ("git-hub", "ui://widget/a.html", "ui://git-hub.switchboard/widget/a.html"),
            ("a_b.c", "ui://x", "ui://a_b.c.switchboard/x"),
            ("My App", "ui://x?q=1#f", "ui://~4dy~20~41pp.switchboard/x?q=1#f"),
            ("plugin:é", "ui://x", "ui://plugin~3a~c3~a9.switchboard/x"),
            ("s", "ui://", "ui://s.switchboard/"),
            ("s", "ui:///x", "ui://s.switchboard//x"),
            ("s", "ui://?q", "ui://s.switchboard/?q"),
            ("s", "ui://a%2Fb/%2e%2E/c", "ui://s.switchboard/a%2Fb/%2e%2E/c"),
            ("s", "ui://t/{id}{?q}", "ui://s.switchboard/t/{id}{?q}"),
            ("s", "UI://X/y", "UI://s.switchboard/X/y"),
            // An address that looks like one of another server, or climbs to it, stays with its own.
            ("evil", "ui://good.switchboard/x", "ui://evil.switchboard/good.switchboard/x"),
            ("evil", "ui://../good.switchboard/x", "ui://evil.switchboard/../good.switchboard/x"),
            ("a~62", "ui://x", "ui://a~7e62.switchboard/x"),
            ("s", &format!("ui://{long}"), &format!("ui://s.switchboard/{long}")),
        ] {
            assert_eq!(to_address(server, uri).as_deref(), Some(address));
            let meant = UiAddress { server: server.to_owned(), uri: uri.to_owned() };
            assert_eq!(UiAddress::parse(address), Some(meant));
        }
    }

    #[test]
    fn hosts_may_normalize_an_address() {
        for (address, uri) in [
            ("ui://S.Switchboard/X", "ui://X"),
            ("ui://s.switchboard", "ui://"),
            ("ui://s.switchboard?q", "ui://?q"),
        ] {
            let meant = UiAddress { server: "s".to_owned(), uri: uri.to_owned() };
            assert_eq!(UiAddress::parse(address), Some(meant), "{address}");
        }
    }

    #[test]
    fn other_texts_are_no_address() {
        for text in [
            "",
            "ui:",
            "ui:/s.switchboard/x",
            "ui://",
            "ui://.switchboard/x",
            "ui://s.switchboard.example/x",
            "ui://switchboard/s/x",
            "ui://user@s.switchboard/x",
            "ui://s.switchboard:80/x",
            "ui://~61.switchboard/x",
            "ui://~6.switchboard/x",
            "ui://~ff.switchboard/x",
            "ui://~zz.switchboard/x",
            "ui://é.switchboard/x",
            "https://s.switchboard/x",
            "uié//s.switchboard/x",
        ] {
            assert_eq!(UiAddress::parse(text), None, "{text}");
        }
        for uri in ["", "ui:x", "note://a", "https://s/x", "xui://s"] {
            assert_eq!(to_address("s", uri), None, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn every_address_is_exact_both_ways(server in ".{1,20}", rest in ".{0,60}", upper: bool) {
            let uri = format!("{}{rest}", if upper { "UI://" } else { "ui://" });
            let address = to_address(&server, &uri).unwrap();
            let meant = UiAddress::parse(&address).unwrap();
            prop_assert_eq!(&meant, &UiAddress { server: server.clone(), uri });
            prop_assert_eq!(to_address(&meant.server, &meant.uri), Some(address.clone()));
        }

        #[test]
        fn addresses_of_two_servers_differ(one in ".{1,8}", two in ".{1,8}", a in ".{0,20}", b in ".{0,20}") {
            prop_assume!(one != two);
            let address = |server: &str, rest: &str| to_address(server, &format!("ui://{rest}"));
            prop_assert_ne!(address(&one, &a), address(&two, &b));
        }

        #[test]
        fn reading_never_fails(text in ".{0,60}") {
            let _ = UiAddress::parse(&text);
            let _ = UiAddress::parse(&format!("ui://{text}.switchboard/"));
        }
    }
}
