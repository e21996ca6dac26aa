//! This process's own standard streams as a link, for a server that is launched by its client.

use std::{io, os::fd::AsFd, pin::Pin};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::unix::pipe,
};

use crate::link::{LinkReader, LinkWriter, lines};

/// The standard streams. The returned future writes and must be polled; it ends when the last
/// [`LinkWriter`] is gone and everything is written.
///
/// Pipes are used as they are. Anything else (a terminal, a file) goes through tokio's threads,
/// which is slower and works everywhere.
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
