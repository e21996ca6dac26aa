//! Network zones: how far away an address is, and which zones a URL's author may name.
//!
//! Used by `chosen_hosts`, `fetch` and `sign_in`. A server's metadata name URLs that we then fetch. A public
//! server must not make us fetch from the user's network, and no server from the link-local addresses where
//! clouds keep credentials. It does not resolve names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// How far away an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkZone {
    /// This machine.
    Loopback,
    /// The user's own network.
    Private,
    /// Link-local addresses, where clouds also serve the machine's credentials.
    Link,
    /// The internet.
    Public,
    /// Not the address of a host.
    Nowhere,
}

// === impl NetworkZone ===

impl NetworkZone {
    /// The zone of an address.
    pub fn of_address(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// The zone that a URL points to, as far as the URL shows it without DNS.
    pub fn of_url(url: &Url) -> Option<Self> {
        match url.host()? {
            Host::Ipv4(address) => Some(of_v4(address)),
            Host::Ipv6(address) => Some(of_v6(address)),
            Host::Domain(name) => is_localhost(name).then_some(Self::Loopback),
        }
    }

    /// Of two zones, the one that may name less. Zones that may name different zones have only the internet
    /// in common.
    pub(crate) fn most_restricted(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Private, Self::Loopback) | (Self::Loopback, Self::Private) => Self::Private,
            _ => Self::Public,
        }
    }

    /// Whether a host in this zone may send us to `other`.
    pub fn may_name(self, other: Self) -> bool {
        match other {
            Self::Public => true,
            Self::Loopback => self == Self::Loopback,
            Self::Private => matches!(self, Self::Loopback | Self::Private),
            Self::Link => self == Self::Link,
            Self::Nowhere => false,
        }
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

fn of_v4(address: Ipv4Addr) -> NetworkZone {
    let [a, b, ..] = address.octets();
    if address.is_loopback() {
        NetworkZone::Loopback
    } else if address.is_link_local() {
        NetworkZone::Link
    } else if address.is_private() || (a == 100 && b & 0xc0 == 64) {
        NetworkZone::Private // 100.64.0.0/10 is carrier-grade NAT.
    } else if a == 0 || address.is_multicast() || address.is_broadcast() {
        NetworkZone::Nowhere
    } else {
        NetworkZone::Public
    }
}

fn of_v6(address: Ipv6Addr) -> NetworkZone {
    let [first, second, .., upper, lower] = address.segments();
    if let Some(inside) = address.to_ipv4_mapped() {
        return of_v4(inside);
    }
    if first == 0x64 && second == 0xff9b {
        // An IPv6 address that a NAT64 translator uses for an IPv4 address.
        let inside = (u32::from(upper) << 16) | u32::from(lower);
        return of_v4(Ipv4Addr::from(inside));
    }
    if address.is_loopback() {
        NetworkZone::Loopback
    } else if address.is_unicast_link_local() {
        NetworkZone::Link
    } else if address.is_unique_local() {
        NetworkZone::Private
    } else if address.is_unspecified() || address.is_multicast() {
        NetworkZone::Nowhere
    } else {
        NetworkZone::Public
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn addresses_lie_where_they_lie() {
        for (address, zone) in [
            ("127.0.0.1", NetworkZone::Loopback),
            ("127.9.9.9", NetworkZone::Loopback),
            ("::1", NetworkZone::Loopback),
            ("::ffff:127.0.0.1", NetworkZone::Loopback),
            ("10.1.2.3", NetworkZone::Private),
            ("172.31.0.1", NetworkZone::Private),
            ("192.168.1.1", NetworkZone::Private),
            ("100.64.0.1", NetworkZone::Private),
            ("100.128.0.1", NetworkZone::Public),
            ("fd00::1", NetworkZone::Private),
            ("169.254.169.254", NetworkZone::Link),
            ("::ffff:169.254.169.254", NetworkZone::Link),
            ("64:ff9b::a9fe:a9fe", NetworkZone::Link),
            ("fe80::1", NetworkZone::Link),
            ("0.0.0.0", NetworkZone::Nowhere),
            ("::", NetworkZone::Nowhere),
            ("224.0.0.1", NetworkZone::Nowhere),
            ("8.8.8.8", NetworkZone::Public),
            ("2606:4700::1111", NetworkZone::Public),
        ] {
            assert_eq!(NetworkZone::of_address(address.parse().unwrap()), zone, "{address}");
        }
    }

    #[test]
    fn nobody_points_inwards() {
        use NetworkZone::{Link, Loopback, Nowhere, Private, Public};
        let all = [Loopback, Private, Link, Public, Nowhere];
        let named =
            |from: NetworkZone| all.into_iter().filter(|to| from.may_name(*to)).collect::<Vec<_>>();
        assert_eq!(named(Public), [Public]);
        assert_eq!(named(Private), [Private, Public]);
        assert_eq!(named(Loopback), [Loopback, Private, Public]);
        assert_eq!(named(Link), [Link, Public]);
        for (one, other) in all.into_iter().flat_map(|one| all.map(|other| (one, other))) {
            let least = one.most_restricted(other);
            let is_common = |to: &NetworkZone| one.may_name(*to) && other.may_name(*to);
            assert!(
                named(least).iter().all(|to| *to == Public || is_common(to)),
                "{one:?} {other:?}"
            );
        }
    }
}
