//! The limit of open connections, in total and for each peer.
//!
//! Used by `accept` for every connection. A peer that opens connections and stays silent takes its own share and no
//! more. The user who runs this hub has no share limit: that user can end the hub anyway. It does not limit sessions
//! (`sessions`).

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

/// The peer of a connection, as far as it is known before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PeerKey {
    /// The user who runs this hub, on this machine.
    HubUser,
    /// Another user of this machine; `None` if the kernel does not say which.
    OtherUser(Option<u32>),
    /// Another machine. One machine has many IPv6 addresses, so those count by network.
    Address(IpAddr),
}

/// The slots for connections. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct ConnectionSlots(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max: usize,
    max_per_peer: usize,
    held: Mutex<SlotCounts>,
}

#[derive(Debug, Default)]
struct SlotCounts {
    all: usize,
    by_peer: HashMap<PeerKey, usize>,
}

/// One connection's slot; its peer need not be known yet.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: ConnectionSlots,
    peer: Option<PeerKey>,
}

// === impl PeerKey ===

impl PeerKey {
    /// The peer at an address.
    pub(super) fn of_address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> 64 << 64;
                Ipv6Addr::from_bits(network).into()
            }
        })
    }
}

// === impl ConnectionSlots ===

impl ConnectionSlots {
    /// Slots for `max` connections; a peer may take a fourth.
    pub(super) fn new(max: usize) -> Self {
        let max_per_peer = (max / 4).max(1);
        Self(Arc::new(Shared { max, max_per_peer, held: Mutex::default() }))
    }

    /// Takes a slot. Returns `None` if all are taken.
    pub(super) fn take(&self) -> Option<ConnectionSlot> {
        let mut held = self.lock();
        if held.all >= self.0.max {
            return None;
        }
        held.all += 1;
        Some(ConnectionSlot { slots: self.clone(), peer: None })
    }

    fn lock(&self) -> MutexGuard<'_, SlotCounts> {
        self.0.held.lock()
    }
}

// === impl ConnectionSlot ===

impl ConnectionSlot {
    /// Counts the slot for this peer. Returns `false` if the peer has its share already.
    pub(super) fn assign(&mut self, peer: PeerKey) -> bool {
        if peer == PeerKey::HubUser {
            return true;
        }
        let mut held = self.slots.lock();
        let count = held.by_peer.entry(peer).or_default();
        if *count >= self.slots.0.max_per_peer {
            return false;
        }
        *count += 1;
        self.peer = Some(peer);
        true
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut held = self.slots.lock();
        held.all -= 1;
        let Some(peer) = self.peer else { return };
        if let Some(count) = held.by_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                held.by_peer.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(slots: &ConnectionSlots, peer: PeerKey) -> Option<ConnectionSlot> {
        let mut slot = slots.take()?;
        slot.assign(peer).then_some(slot)
    }

    fn open_all(slots: &ConnectionSlots, peer: PeerKey) -> Vec<ConnectionSlot> {
        std::iter::from_fn(|| open(slots, peer)).take(100).collect()
    }

    #[test]
    fn a_peer_has_its_share_and_no_more() {
        let slots = ConnectionSlots::new(16);
        let address = |text: &str| PeerKey::of_address(text.parse().unwrap());
        let one = open_all(&slots, PeerKey::OtherUser(Some(7)));
        assert_eq!(one.len(), 4);
        assert_eq!(open_all(&slots, PeerKey::OtherUser(None)).len(), 4, "given back at once");
        let other = open_all(&slots, address("192.0.2.1"));
        assert_eq!(other.len(), 4);
        assert!(open(&slots, address("::ffff:192.0.2.1")).is_none(), "the same machine");
        let own = open_all(&slots, PeerKey::HubUser);
        assert_eq!(own.len(), 8, "all that are left");
        assert!(slots.take().is_none());
        drop(one);
        assert!(open(&slots, PeerKey::OtherUser(Some(7))).is_some());
        drop((other, own));
        assert!(slots.lock().by_peer.is_empty() && slots.lock().all == 0);
    }

    #[test]
    fn a_machine_is_one_network_of_the_newer_addresses() {
        let key = |text: &str| PeerKey::of_address(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
    }

    #[test]
    fn there_is_always_one_for_a_peer() {
        let slots = ConnectionSlots::new(1);
        assert!(open(&slots, PeerKey::OtherUser(Some(7))).is_some());
    }
}
