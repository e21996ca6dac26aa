//! A hello whose answer is followed by something that is not JSON-RPC.

use std::{path::Path, time::Duration};

use nix::unistd::geteuid;
use switchboard_wire::json::Raw;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};

use super::{
    Error,
    reach::{Dialed, dial},
};
use crate::socket::{self, Answer, Hello, PROTOCOL, Place, Want, Welcome, is_ours};

/// A hub answers these without asking anybody.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer.
const LONGEST: usize = 64 << 10;

/// Says hello to the hub of this place; `None` if there is none. The stream is at what follows the answer.
pub(crate) async fn knock(
    place: &Place,
    version: &str,
    want: Want,
) -> Result<Option<(UnixStream, Welcome)>, Error> {
    let path = place.socket();
    let Dialed::Somebody(mut stream) = dial(&path).await? else {
        return Ok(None);
    };
    let peer = stream.peer_cred().map_err(socket::Error::io("look who listens on", &path))?;
    if !is_ours(peer.uid(), geteuid().as_raw()) {
        return Err(Error::NotAHub { path, fault: "belongs to another user" });
    }
    let hello = Hello {
        switchboard: PROTOCOL,
        version: version.to_owned(),
        want,
        cwd: std::path::PathBuf::new(),
        env: std::collections::BTreeMap::new(),
        view: Raw::empty_object(),
        client: None,
    };
    let answering = timeout(PATIENCE, say(&mut stream, &hello, &path));
    let welcome = answering.await.map_err(|_| Error::Silent { after: PATIENCE })??;
    Ok(welcome.map(|welcome| (stream, welcome)))
}

async fn say(
    stream: &mut UnixStream,
    hello: &Hello,
    path: &Path,
) -> Result<Option<Welcome>, Error> {
    let mut text = serde_json::to_vec(hello).map_err(Error::Hello)?;
    text.push(b'\n');
    // One that no longer reads may still have said why.
    let _ = stream.write_all(&text).await;
    let not_a_hub =
        || Error::NotAHub { path: path.to_owned(), fault: "does not speak as a hub does" };
    let Some(line) = line(stream).await else {
        return Ok(None);
    };
    match Answer::read(&line) {
        Ok(Answer::Granted(welcome)) => Ok(Some(welcome)),
        Ok(Answer::Refused { error }) => Err(Error::Refused(error)),
        Err(_) => Err(not_a_hub()),
    }
}

/// One line and not a byte more: what follows is somebody else's to read. It is short, and comes once.
async fn line(stream: &mut UnixStream) -> Option<String> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await.ok()? {
            b'\n' => return String::from_utf8(line).ok(),
            byte if line.len() < LONGEST => line.push(byte),
            _ => return None,
        }
    }
}
