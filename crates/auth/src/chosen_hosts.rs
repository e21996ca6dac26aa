//! The hosts that the user chose, with the network zones they were in when they answered.
//!
//! Used by `fetch` to decide which URLs a server may send us to: a URL named by a chosen host may lie as far
//! inside as the host itself. A host name proves nothing about that, because its owner can let it resolve to
//! any address at any moment. So only addresses that were connected to count, and of several addresses the
//! zone that may name the least.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use url::{Host, Url};

use crate::network_zone::NetworkZone;

/// The hosts that the user chose: the server's, and the host of a configured metadata URL.
#[derive(Debug)]
pub(crate) struct ChosenHosts(Vec<ChosenHost>);

#[derive(Debug)]
struct ChosenHost {
    /// The host as in a URL, in lower case.
    host: String,
    /// The zone, if the URL holds an IP address or `localhost` and needs no DNS.
    literal: Option<NetworkZone>,
    /// The zone when the host answered; after several answers, the most restricted zone.
    seen: Mutex<Option<NetworkZone>>,
}

// === impl ChosenHosts ===

impl ChosenHosts {
    /// Takes the hosts of `urls`. `first` is the recorded zone of the first host.
    pub(crate) fn new(urls: &[&Url], first: Option<NetworkZone>) -> Self {
        let hosts: Vec<_> = urls.iter().map(|url| ChosenHost::new(url)).collect();
        if let (Some(host), Some(zone)) = (hosts.first(), first) {
            host.record_zone(zone);
        }
        Self(hosts)
    }

    /// Whether any chosen host may name a URL in `zone`. A host that has not answered yet counts as public,
    /// the zone that may name the least.
    pub(crate) fn may_name(&self, zone: NetworkZone) -> bool {
        self.0.iter().any(|host| host.zone().unwrap_or(NetworkZone::Public).may_name(zone))
    }

    /// Whether `host` may be connected to at `address`. A chosen host may be anywhere the first time.
    pub(crate) fn may_reach(&self, host: &str, address: IpAddr) -> bool {
        let is_new = self.find(host).is_some_and(|chosen| chosen.zone().is_none());
        is_new || self.may_name(NetworkZone::of_address(address))
    }

    /// Records the address from which the host of `url` answered.
    pub(crate) fn record_address(&self, url: &Url, address: Option<IpAddr>) {
        let host = url.host_str().and_then(|host| self.find(host));
        if let (Some(host), Some(address)) = (host, address) {
            host.record_zone(NetworkZone::of_address(address));
        }
    }

    /// The zone of the first host when it answered.
    pub(crate) fn first_zone(&self) -> Option<NetworkZone> {
        self.0.first().and_then(|host| *host.lock_seen())
    }

    fn find(&self, host: &str) -> Option<&ChosenHost> {
        self.0.iter().find(|chosen| chosen.host.eq_ignore_ascii_case(host))
    }
}

// === impl ChosenHost ===

impl ChosenHost {
    fn new(url: &Url) -> Self {
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            _ => url.host_str().unwrap_or_default().to_owned(),
        };
        Self { host, literal: NetworkZone::of_url(url), seen: Mutex::default() }
    }

    fn zone(&self) -> Option<NetworkZone> {
        self.literal.or_else(|| *self.lock_seen())
    }

    fn record_zone(&self, zone: NetworkZone) {
        let mut seen = self.lock_seen();
        *seen = Some(seen.map_or(zone, |before| before.most_restricted(zone)));
    }

    fn lock_seen(&self) -> MutexGuard<'_, Option<NetworkZone>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_is_trusted_as_far_as_it_was_inside_each_time() {
        let url: Url = "https://mcp.corp.example/mcp".parse().unwrap();
        let chosen = ChosenHosts::new(&[&url], None);
        assert!(chosen.may_reach("mcp.corp.example", address("10.0.0.1")));
        assert!(!chosen.may_reach("login.corp.example", address("10.0.0.2")));
        chosen.record_address(&url, Some(address("10.0.0.1")));
        assert!(chosen.may_reach("login.corp.example", address("10.0.0.2")));
        assert!(!chosen.may_reach("mcp.corp.example", address("127.0.0.1")));
        chosen.record_address(&url, Some(address("8.8.8.8")));
        assert!(!chosen.may_reach("login.corp.example", address("10.0.0.2")));
        assert!(!chosen.may_reach("mcp.corp.example", address("10.0.0.1")));
        chosen.record_address(&url, Some(address("10.0.0.1")));
        assert!(
            !chosen.may_reach("login.corp.example", address("10.0.0.2")),
            "once public, always"
        );
    }
}
