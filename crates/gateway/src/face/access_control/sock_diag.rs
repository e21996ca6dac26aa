//! The owner of one TCP socket of this machine, from the kernel's `sock_diag` interface.
//!
//! Used by `peer`. The kernel answers at once, for any number of sockets; `/proc/net/tcp` takes longer with each
//! socket that was closed within a minute. It does not admit or refuse (`access_control`).

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::{AsRawFd, OwnedFd},
};

use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket},
};

/// The request for one socket, by its two ends (`SOCK_DIAG_BY_FAMILY`).
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// The flag of a request (`NLM_F_REQUEST`), and the type of an error message (`NLMSG_ERROR`).
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
/// The kernel's numbers of the address families.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// States of sockets that a process holds: open, and open at this end only.
const HELD_STATES: [u8; 2] = [1, 8];

/// The size of a request: the netlink header (length, type, flags, number, sender); family, protocol, extensions,
/// states; the two ends.
const QUESTION_BYTES: u32 = 16 + 8 + 48;
/// Offsets in an answer.
const KIND_OFFSET: usize = 4;
const ERROR_OFFSET: usize = 16;
const STATE_OFFSET: usize = 17;
/// After four small members, the two ends, the expiry and both queues.
const USER_OFFSET: usize = 16 + 4 + 48 + 12;

/// The user of the socket that is bound to `near` and connected to `far`, if a process holds it. `None` also if the
/// kernel lacks `sock_diag`.
pub(super) fn find_owner(near: SocketAddr, far: SocketAddr) -> io::Result<Option<u32>> {
    let kernel: OwnedFd = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    send(kernel.as_raw_fd(), &build_question(near, far), MsgFlags::empty())?;
    let mut answer = [0; 512];
    // The kernel answers before `send` returns.
    let length = recv(kernel.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT)?;
    parse_answer(&answer[..length])
}

fn build_question(near: SocketAddr, far: SocketAddr) -> Vec<u8> {
    let (near_ip, far_ip) = (near.ip().to_canonical(), far.ip().to_canonical());
    let mut asked = Vec::new();
    asked.extend(QUESTION_BYTES.to_ne_bytes());
    asked.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    asked.extend(NLM_F_REQUEST.to_ne_bytes());
    asked.extend([0; 8]);
    asked.extend([if near_ip.is_ipv4() { AF_INET } else { AF_INET6 }, IPPROTO_TCP, 0, 0]);
    // Sockets in any state.
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

fn parse_answer(answer: &[u8]) -> io::Result<Option<u32>> {
    let unreadable = || io::Error::other("an answer that cannot be read");
    match u16::from_ne_bytes(bytes(answer, KIND_OFFSET).ok_or_else(unreadable)?) {
        SOCK_DIAG_BY_FAMILY => {
            let [state] = bytes(answer, STATE_OFFSET).ok_or_else(unreadable)?;
            let user = u32::from_ne_bytes(bytes(answer, USER_OFFSET).ok_or_else(unreadable)?);
            Ok(HELD_STATES.contains(&state).then_some(user))
        }
        NLMSG_ERROR => {
            let error = i32::from_ne_bytes(bytes(answer, ERROR_OFFSET).ok_or_else(unreadable)?);
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
                // Not every machine has IPv6.
                Err(error) if bind.starts_with('[') && error.kind() == AddrNotAvailable => continue,
                listener => listener.unwrap(),
            };
            let there = listener.local_addr().unwrap();
            let client = TcpStream::connect(there).unwrap();
            let here = client.local_addr().unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let us = Some(nix::unistd::geteuid().as_raw());
            assert_eq!(find_owner(here, there).unwrap(), us, "{bind}");
            assert_eq!(find_owner(there, here).unwrap(), us, "{bind}");
            let nobody = SocketAddr::new(here.ip(), 1);
            assert_eq!(find_owner(nobody, there).unwrap(), None, "{bind}");
            assert_eq!(
                find_owner(there, nobody).unwrap(),
                None,
                "{bind}: who listens is not connected"
            );
            // After both ends have closed, the first end stays in TIME-WAIT for a while, without an owner.
            drop(client);
            drop(accepted);
            assert_eq!(find_owner(here, there).unwrap(), None, "{bind}");
        }
    }

    #[test]
    fn answers_that_are_none_are_errors() {
        let answer = |kind: u16, length: usize| {
            let mut answer = vec![0; length];
            answer[KIND_OFFSET..KIND_OFFSET + 2].copy_from_slice(&kind.to_ne_bytes());
            answer
        };
        for answer in [
            vec![],
            answer(0, 100),
            answer(SOCK_DIAG_BY_FAMILY, USER_OFFSET + 3),
            answer(NLMSG_ERROR, 18),
        ] {
            assert!(parse_answer(&answer).is_err(), "{answer:?}");
        }
        let mut refused = answer(NLMSG_ERROR, 36);
        refused[ERROR_OFFSET..ERROR_OFFSET + 4].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(parse_answer(&refused).unwrap_err().raw_os_error(), Some(1));
        let mut open = answer(SOCK_DIAG_BY_FAMILY, 100);
        (open[STATE_OFFSET], open[USER_OFFSET]) = (1, 7);
        assert_eq!(parse_answer(&open).unwrap(), Some(u32::from_ne_bytes([7, 0, 0, 0])));
        open[STATE_OFFSET] = 6;
        assert_eq!(parse_answer(&open).unwrap(), None, "nobody holds what is on its way out");
    }
}
