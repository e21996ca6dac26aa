//! Passing a descriptor through a Unix socket, together with one byte.
//!
//! Used by `guarded_child` (send) and `guard::main_loop` (receive) for the child's standard input.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use crate::child;

const CARRIER_BYTE: u8 = b'+';

/// Sends a descriptor as the first message on a channel, where there is always room for it.
pub(crate) fn send(channel: &UnixStream, descriptor: &impl std::os::fd::AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd().as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    sendmsg::<()>(
        channel.as_raw_fd(),
        &[IoSlice::new(&[CARRIER_BYTE])],
        &rights,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    Ok(())
}

/// Receives a descriptor, with close-on-exec set.
pub(crate) fn receive(channel: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(channel.as_raw_fd(), &mut bytes, Some(&mut space), flags)?;
    let received = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmRights(numbers) => numbers.first().copied(),
        _ => None,
    });
    received.map(child::take_ownership).ok_or(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _, pipe};

    use super::*;

    #[test]
    fn what_is_handed_over_is_the_same() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (reader, mut writer) = pipe().unwrap();
        send(&near, &reader).unwrap();
        drop(reader);
        (&near).write_all(b"and then").unwrap();
        drop(near);
        let received = receive(&far).unwrap();
        writer.write_all(b"through the pipe").unwrap();
        drop(writer);
        let mut text = String::new();
        std::fs::File::from(received).read_to_string(&mut text).unwrap();
        far.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through the pipeand then");
    }

    #[test]
    fn an_end_without_it_is_an_error() {
        let (near, far) = UnixStream::pair().unwrap();
        (&near).write_all(b"+").unwrap();
        drop(near);
        assert!(receive(&far).is_err());
        assert!(receive(&far).is_err());
    }
}
