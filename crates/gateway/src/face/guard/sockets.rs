//! What the kernel knows of one socket of this machine, asked for by its two ends.
//!
//! It answers at once, however many sockets there are; its tables of all of them take longer with each that was closed
//! a minute ago.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::{AsRawFd, OwnedFd},
};

use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket},
};

/// What is asked for: one socket, by its ends (`SOCK_DIAG_BY_FAMILY`).
const BY_FAMILY: u16 = 20;
/// A message that asks (`NLM_F_REQUEST`), and one that says what went wrong (`NLMSG_ERROR`).
const ASKS: u16 = 1;
const FAILED: u16 = 2;
/// How the kernel numbers them.
const V4: u8 = 2;
const V6: u8 = 10;
const TCP: u8 = 6;
/// States of sockets that some process holds: open, and open at this end only.
const HELD: [u8; 2] = [1, 8];

/// Bytes of a question: before every message its length, kind, flags, number and sender; then family, protocol, what
/// else to tell, states; then the ends.
const QUESTION: u32 = 16 + 8 + 48;
/// Where things stand in an answer.
const KIND: usize = 4;
const ERROR: usize = 16;
const STATE: usize = 17;
/// After four small members, the ends, the expiry and both queues.
const USER: usize = 16 + 4 + 48 + 12;

/// The user of the socket that is bound to `near` and connected to `far`, if some process holds it. `None` also where
/// the kernel lacks the part that knows.
pub(super) fn owner(near: SocketAddr, far: SocketAddr) -> io::Result<Option<u32>> {
    let kernel: OwnedFd = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    send(kernel.as_raw_fd(), &question(near, far), MsgFlags::empty())?;
    let mut answer = [0; 512];
    // It was answered before the question was taken.
    let length = recv(kernel.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT)?;
    read(&answer[..length])
}

fn question(near: SocketAddr, far: SocketAddr) -> Vec<u8> {
    let (near_ip, far_ip) = (near.ip().to_canonical(), far.ip().to_canonical());
    let mut asked = Vec::new();
    asked.extend(QUESTION.to_ne_bytes());
    asked.extend(BY_FAMILY.to_ne_bytes());
    asked.extend(ASKS.to_ne_bytes());
    asked.extend([0; 8]);
    asked.extend([if near_ip.is_ipv4() { V4 } else { V6 }, TCP, 0, 0]);
    // In any state.
    asked.extend(u32::MAX.to_ne_bytes());
    asked.extend(near.port().to_be_bytes());
    asked.extend(far.port().to_be_bytes());
    for ip in [near_ip, far_ip] {
        match ip {
            IpAddr::V4(ip) => asked.extend(ip.octets().into_iter().chain([0; 12])),
            IpAddr::V6(ip) => asked.extend(ip.octets()),
        }
    }
    // On any interface, with any cookie.
    asked.extend([0; 4]);
    asked.extend([u8::MAX; 8]);
    asked
}

fn read(answer: &[u8]) -> io::Result<Option<u32>> {
    let unreadable = || io::Error::other("an answer that cannot be read");
    match u16::from_ne_bytes(bytes(answer, KIND).ok_or_else(unreadable)?) {
        BY_FAMILY => {
            let [state] = bytes(answer, STATE).ok_or_else(unreadable)?;
            let user = u32::from_ne_bytes(bytes(answer, USER).ok_or_else(unreadable)?);
            Ok(HELD.contains(&state).then_some(user))
        }
        FAILED => {
            let error = i32::from_ne_bytes(bytes(answer, ERROR).ok_or_else(unreadable)?);
            match Errno::from_raw(-error) {
                Errno::ENOENT => Ok(None),
                error => Err(error.into()),
            }
        }
        _ => Err(unreadable()),
    }
}

fn bytes<const N: usize>(answer: &[u8], at: usize) -> Option<[u8; N]> {
    answer.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use std::{
        io::ErrorKind::AddrNotAvailable,
        net::{TcpListener, TcpStream},
    };

    use super::*;

    #[test]
    fn the_owner_of_either_end_while_somebody_holds_it() {
        for bind in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let listener = match TcpListener::bind(bind) {
                // Not every machine has the newer addresses.
                Err(error) if bind.starts_with('[') && error.kind() == AddrNotAvailable => continue,
                listener => listener.unwrap(),
            };
            let there = listener.local_addr().unwrap();
            let client = TcpStream::connect(there).unwrap();
            let here = client.local_addr().unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let us = Some(nix::unistd::geteuid().as_raw());
            assert_eq!(owner(here, there).unwrap(), us, "{bind}");
            assert_eq!(owner(there, here).unwrap(), us, "{bind}");
            let nobody = SocketAddr::new(here.ip(), 1);
            assert_eq!(owner(nobody, there).unwrap(), None, "{bind}");
            assert_eq!(owner(there, nobody).unwrap(), None, "{bind}: who listens is not connected");
            // Closed at both ends, the first keeps a trace for a while, which is nobody's.
            drop(client);
            drop(accepted);
            assert_eq!(owner(here, there).unwrap(), None, "{bind}");
        }
    }

    #[test]
    fn answers_that_are_none_are_errors() {
        let answer = |kind: u16, length: usize| {
            let mut answer = vec![0; length];
            answer[KIND..KIND + 2].copy_from_slice(&kind.to_ne_bytes());
            answer
        };
        for answer in [vec![], answer(0, 100), answer(BY_FAMILY, USER + 3), answer(FAILED, 18)] {
            assert!(read(&answer).is_err(), "{answer:?}");
        }
        let mut refused = answer(FAILED, 36);
        refused[ERROR..ERROR + 4].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(read(&refused).unwrap_err().raw_os_error(), Some(1));
        let mut open = answer(BY_FAMILY, 100);
        (open[STATE], open[USER]) = (1, 7);
        assert_eq!(read(&open).unwrap(), Some(u32::from_ne_bytes([7, 0, 0, 0])));
        open[STATE] = 6;
        assert_eq!(read(&open).unwrap(), None, "nobody holds what is on its way out");
    }
}
