//! A hello that leaves the socket at the first byte after the reply, for protocols other than JSON-RPC lines.
//!
//! Used by [`crate::admin::client`] to speak HTTP on the hub's socket. It does not start a hub.

use std::{path::Path, time::Duration};

use nix::unistd::geteuid;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};

use super::{
    HubAttachError,
    connect::{DialOutcome, dial},
};
use crate::socket::{self, ClientHello, HelloPurpose, HelloReply, HubInfo, HubPaths, is_own_user};

/// How long the hub may take to reply; it replies without reading files.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest reply.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Sends a hello to the hub at `place`; `None` if no hub runs. The stream is at the first byte after the reply.
pub(crate) async fn connect_with_hello(
    place: &HubPaths,
    version: &str,
    want: HelloPurpose,
) -> Result<Option<(UnixStream, HubInfo)>, HubAttachError> {
    let path = place.socket_path();
    let DialOutcome::Somebody(mut stream) = dial(&path).await? else {
        return Ok(None);
    };
    let peer = stream.peer_cred().map_err(socket::SocketError::io("look who listens on", &path))?;
    if !is_own_user(peer.uid(), geteuid().as_raw()) {
        return Err(HubAttachError::NotAHub { path, fault: "belongs to another user" });
    }
    let hello = ClientHello::without_workspace(version, want);
    let answering = timeout(ANSWER_TIMEOUT, exchange_hello(&mut stream, &hello, &path));
    let welcome =
        answering.await.map_err(|_| HubAttachError::Silent { after: ANSWER_TIMEOUT })??;
    Ok(welcome.map(|welcome| (stream, welcome)))
}

async fn exchange_hello(
    stream: &mut UnixStream,
    hello: &ClientHello,
    path: &Path,
) -> Result<Option<HubInfo>, HubAttachError> {
    let mut text = serde_json::to_vec(hello).map_err(HubAttachError::Hello)?;
    text.push(b'\n');
    // A hub that no longer reads may have sent a refusal before.
    let _ = stream.write_all(&text).await;
    let not_a_hub =
        || HubAttachError::NotAHub { path: path.to_owned(), fault: "does not speak as a hub does" };
    let Some(line) = read_line(stream).await else {
        return Ok(None);
    };
    match HelloReply::parse(&line) {
        Ok(HelloReply::Granted(welcome)) => Ok(Some(welcome)),
        Ok(HelloReply::Refused { error }) => Err(HubAttachError::Refused(error)),
        Err(_) => Err(not_a_hub()),
    }
}

/// Reads one line and not a byte more: the bytes after it belong to the HTTP client. Byte by byte is fine for one short
/// line.
async fn read_line(stream: &mut UnixStream) -> Option<String> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await.ok()? {
            b'\n' => return String::from_utf8(line).ok(),
            byte if line.len() < MAX_ANSWER_BYTES => line.push(byte),
            _ => return None,
        }
    }
}
