//! The standard streams of this process as a link, for a server that its client starts.
//!
//! Used by `switchboard connect`, `builtin` and `plugin`. It does not serve (`serve`) and starts no
//! process.

use std::{io, os::fd::AsFd, pin::Pin};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::unix::pipe,
};

use crate::link::{LinkReader, LinkWriter, lines};

/// A link over the standard streams. The returned future writes and must be polled; it ends when
/// the last [`LinkWriter`] is dropped and all messages are written.
///
/// Pipes are used directly. A terminal or a file goes through tokio's threads, which is slower and
/// works everywhere.
pub fn stdio_link(limit: usize) -> (LinkWriter, LinkReader, impl Future<Output = ()> + Send) {
    lines::line_link(input(), output(), limit)
}

fn input() -> Pin<Box<dyn AsyncRead + Send + Sync>> {
    let own = || -> io::Result<pipe::Receiver> {
        pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)
    };
    match own() {
        Ok(pipe) => Box::pin(pipe),
        Err(_) => Box::pin(tokio::io::stdin()),
    }
}

fn output() -> Pin<Box<dyn AsyncWrite + Send + Sync>> {
    let own = || -> io::Result<pipe::Sender> {
        pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)
    };
    match own() {
        Ok(pipe) => Box::pin(pipe),
        Err(_) => Box::pin(tokio::io::stdout()),
    }
}
