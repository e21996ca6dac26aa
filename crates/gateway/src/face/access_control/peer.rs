//! The peer of a local connection: which user of this machine is at the other end.
//!
//! Used by `access_control` and `connections`. The kernel knows both ends of every local connection with their
//! owners. A connection keeps its peer, so the user is looked up once. It does not admit or refuse
//! (`access_control`).

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::OnceLock,
};

use http::HeaderValue;
use tokio::sync::OnceCell;

#[cfg(target_os = "linux")]
use super::sock_diag;
use crate::face::connections::PeerKey;

/// The other end of a connection.
#[derive(Debug)]
pub(in crate::face) struct Peer {
    pub(in crate::face) remote: SocketAddr,
    /// The local address of the connection.
    pub(in crate::face) local: SocketAddr,
    user: OnceCell<LocalUser>,
    /// The host name that passed the check: a client seldom uses another.
    ///
    /// A copy: a header value is a slice of the read buffer, and would keep the buffer in memory.
    known: OnceLock<Box<[u8]>>,
}

/// A user of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LocalUser {
    /// The user who runs this hub.
    HubUser,
    /// Another user; `None` if the kernel does not say which.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    Other(Option<u32>),
}

// === impl Peer ===

impl Peer {
    pub(in crate::face) fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self { remote, local, user: OnceCell::new(), known: OnceLock::new() }
    }

    /// Whether exactly this host name passed the check before.
    pub(super) fn knows(&self, name: &HeaderValue) -> bool {
        self.known.get().is_some_and(|known| **known == *name.as_bytes())
    }

    /// Stores a host name that passed the check.
    pub(super) fn learn(&self, name: &HeaderValue) {
        let _ = self.known.set(name.as_bytes().into());
    }

    /// Whether a process of our own user, on this machine, is at the other end.
    pub(super) async fn is_same_user(&self) -> bool {
        self.is_local() && self.user().await == LocalUser::HubUser
    }

    /// The key under which connections are counted.
    pub(in crate::face) async fn key(&self) -> PeerKey {
        if !self.is_local() {
            return PeerKey::of_address(self.remote.ip());
        }
        match self.user().await {
            LocalUser::HubUser => PeerKey::HubUser,
            LocalUser::Other(user) => PeerKey::OtherUser(user),
        }
    }

    fn is_local(&self) -> bool {
        self.remote.ip().to_canonical().is_loopback()
    }

    /// The user at the other end, looked up once: the kernel forgets a socket that its process has closed.
    async fn user(&self) -> LocalUser {
        let (remote, local) = (self.remote, self.local);
        *self.user.get_or_init(|| async move { local_user(remote, local).await }).await
    }
}

#[cfg(target_os = "linux")]
async fn local_user(remote: SocketAddr, local: SocketAddr) -> LocalUser {
    let owner = match sock_diag::find_owner(remote, local) {
        Ok(Some(owner)) => Some(owner),
        // A kernel without `sock_diag` finds no socket, and a sandbox may forbid the query.
        untold => {
            tracing::debug!(?untold, "the kernel does not tell of this connection");
            listed_owner(remote, local).await
        }
    };
    if owner == Some(nix::unistd::geteuid().as_raw()) {
        return LocalUser::HubUser;
    }
    LocalUser::Other(owner)
}

/// Searches the tables of `/proc/net` in a blocking thread, since they may be long.
#[cfg(target_os = "linux")]
async fn listed_owner(remote: SocketAddr, local: SocketAddr) -> Option<u32> {
    let looking = tokio::task::spawn_blocking(move || {
        ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|table| {
            let table = std::fs::read_to_string(table);
            table
                .inspect_err(|error| tracing::warn!(%error, "no table of connections"))
                .ok()
                .and_then(|table| find_owner(&table, remote, local))
        })
    });
    looking.await.ok().flatten()
}

/// Other systems have no socket table; a loopback address counts as our own user.
#[cfg(not(target_os = "linux"))]
async fn local_user(_: SocketAddr, _: SocketAddr) -> LocalUser {
    LocalUser::HubUser
}

/// The user of the socket that is bound to `near` and connected to `far`, in a table of the kernel.
///
/// Only a socket that a process still holds counts: a closing socket is listed as the superuser's.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn find_owner(table: &str, near: SocketAddr, far: SocketAddr) -> Option<u32> {
    const ESTABLISHED: &str = "01";
    const CLOSE_WAIT: &str = "08";
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        let held = matches!(fields.next()?, ESTABLISHED | CLOSE_WAIT);
        let found = held && is_address(local, near) && is_address(remote, far);
        // Queues, timer and retransmissions come before the user.
        found.then(|| fields.nth(3)?.parse().ok())?
    })
}

fn is_address(written: &str, address: SocketAddr) -> bool {
    parse(written).is_some_and(|(ip, port)| {
        port == address.port() && ip.to_canonical() == address.ip().to_canonical()
    })
}

/// Parses an address in the kernel's format: 32-bit words in native byte order, in hexadecimal.
fn parse(written: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = written.split_once(':')?;
    let words: Vec<u32> = ip
        .as_bytes()
        .chunks(8)
        .map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok())
        .collect::<Option<_>>()?;
    let ip = match *words.as_slice() {
        [word] => IpAddr::from(word.to_ne_bytes()),
        [a, b, c, d] => {
            let mut octets = [0; 16];
            for (octets, word) in octets.chunks_exact_mut(4).zip([a, b, c, d]) {
                octets.copy_from_slice(&word.to_ne_bytes());
            }
            IpAddr::V6(Ipv6Addr::from(octets))
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const V4: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1 0 100 0 0 10 0
   1: 0100007F:D431 0100007F:1CFC 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
   2: 0100007F:1CFC 0100007F:D431 01 00000000:00000000 00:00000000 00000000     7        0 3 1 0 20 4 30 10 -1
   3: 0100007F:D432 0100007F:1CFC 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0
   4: 0100007F:D433 0100007F:1CFC 08 00000000:00000000 00:00000000 00000000  1001        0 4 1 0
";
    const V6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:D431 00000000000000000000000001000000:1CFC 01 00000000:00000000 00:00000000 00000000  1002        0 5 1 0
   1: 0000000000000000FFFF00000100007F:D434 0000000000000000FFFF00000100007F:1CFC 01 00000000:00000000 00:00000000 00000000  1003        0 6 1 0
";

    #[test]
    fn the_owner_of_the_other_end() {
        for (table, near, far, expected) in [
            (V4, "127.0.0.1:54321", "127.0.0.1:7420", Some(1000)),
            (V4, "127.0.0.1:7420", "127.0.0.1:54321", Some(7)),
            (V4, "127.0.0.1:54322", "127.0.0.1:7420", None),
            (V4, "127.0.0.1:54323", "127.0.0.1:7420", Some(1001)),
            (V4, "127.0.0.1:54329", "127.0.0.1:7420", None),
            (V4, "[::ffff:127.0.0.1]:54321", "[::ffff:127.0.0.1]:7420", Some(1000)),
            (V4, "[::1]:54321", "[::1]:7420", None),
            (V6, "[::1]:54321", "[::1]:7420", Some(1002)),
            (V6, "127.0.0.1:54324", "127.0.0.1:7420", Some(1003)),
            ("", "127.0.0.1:1", "127.0.0.1:2", None),
            ("head\nnonsense\n0: xx yy 01\n", "127.0.0.1:1", "127.0.0.1:2", None),
        ] {
            let (near, far) = (near.parse().unwrap(), far.parse().unwrap());
            assert_eq!(find_owner(table, near, far), expected, "{near} {far}");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_of_our_own_is_ours() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) =
            tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
        let _client = client.unwrap();
        let (_, remote) = accepted.unwrap();
        assert!(Peer::new(remote, address).is_same_user().await);
        let us = Some(nix::unistd::geteuid().as_raw());
        assert_eq!(listed_owner(remote, address).await, us, "where one socket is not told of");
        assert!(!Peer::new("192.0.2.1:1".parse().unwrap(), address).is_same_user().await);
    }
}
