//! Connects to the hub's socket, starts a hub if none listens, and sends the hello.
//!
//! Used by `attach` and `reconnect`; `requests` and `hello_stream` use `dial`. It does not relay messages (`relay`
//! does) and does not spawn the process itself (`start` does).

use std::{io, path::Path, pin::Pin, process::ExitStatus, time::Duration};

use nix::unistd::geteuid;
use serde::de::DeserializeOwned;
use switchboard_wire::link::{LinkFrame, LinkReader, LinkWriter, lines};
use tokio::{
    net::UnixStream,
    time::{Instant, sleep, timeout},
};

use super::{AttachOptions, HubAttachError, start::StartingHub};
use crate::socket::{
    self, ClientHello, HelloRefusal, HelloRefusalKind, HelloReply, HubInfo, is_own_user,
};

/// How often the socket is tried while a hub is starting.
const CONNECT_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The link to a hub that accepted the hello.
pub(super) struct HubLink {
    /// The hub's version; empty until the hub has replied.
    pub(super) version: String,
    pub(super) writer: LinkWriter,
    pub(super) reader: LinkReader,
    /// Writes to the socket. Must be polled; ends when the writer is dropped.
    pub(super) writing: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The outcome of an attempt to connect.
pub(super) enum DialOutcome {
    Somebody(UnixStream),
    Nobody,
    /// A hub listens, but its accept queue is full.
    Full,
}

/// The outcome of a hello.
enum GreetOutcome<T> {
    Yes(T),
    /// The hub is ending, or closed the connection.
    Leaving,
}

/// Finds a hub or starts one, and sends the hello.
pub(super) async fn connect_or_start(options: &AttachOptions) -> Result<HubLink, HubAttachError> {
    let mut search = HubSearch::new(options);
    loop {
        let stream = search.connect().await?;
        match greet(options, stream).await? {
            GreetOutcome::Yes(reached) => return Ok(reached),
            GreetOutcome::Leaving => search.wait(None, NotReached::NoHub).await?,
        }
    }
}

/// Finds a hub or starts one, without a hello.
pub async fn ensure_running(options: &AttachOptions) -> Result<(), HubAttachError> {
    HubSearch::new(options).connect().await.map(drop)
}

/// A search for a hub, which starts one if none listens.
struct HubSearch<'a> {
    options: &'a AttachOptions,
    deadline: Instant,
    starting: Option<StartingHub>,
}

/// Why the last attempt reached no hub.
enum NotReached {
    /// No hub listens.
    NoHub,
    /// A hub listens, but its accept queue is full.
    QueueFull,
}

// === impl HubSearch ===

impl<'a> HubSearch<'a> {
    fn new(options: &'a AttachOptions) -> Self {
        Self { options, deadline: Instant::now() + options.timing.start, starting: None }
    }

    /// Connects to the hub, once one listens.
    async fn connect(&mut self) -> Result<UnixStream, HubAttachError> {
        loop {
            // Read before the socket is tried: a started hub that found another hub exits, and then that other hub
            // answers.
            let ended = self.starting.as_mut().and_then(StartingHub::exit_status);
            let missing = match dial(&self.options.place.socket_path()).await? {
                DialOutcome::Somebody(stream) => return Ok(stream),
                DialOutcome::Full => NotReached::QueueFull,
                DialOutcome::Nobody => NotReached::NoHub,
            };
            self.wait(ended, missing).await?;
        }
    }

    /// Starts a hub unless this search already did, and sleeps for one poll interval.
    async fn wait(
        &mut self,
        ended: Option<ExitStatus>,
        missing: NotReached,
    ) -> Result<(), HubAttachError> {
        match (&self.starting, ended) {
            (Some(starting), Some(status)) => {
                return Err(HubAttachError::Ended { status, log: starting.log_tail() });
            }
            (None, _) if matches!(missing, NotReached::NoHub) => {
                self.starting = start(self.options).await?;
            }
            _ => {}
        }
        if Instant::now() > self.deadline {
            let log = self.starting.as_ref().map(StartingHub::log_tail).unwrap_or_default();
            return Err(HubAttachError::Late { after: self.options.timing.start, log });
        }
        sleep(CONNECT_POLL_INTERVAL).await;
        Ok(())
    }
}

/// Starts a hub, unless another process is starting one or has just done so.
async fn start(options: &AttachOptions) -> Result<Option<StartingHub>, HubAttachError> {
    let Some(lock) = socket::try_lock(&options.place.start_lock_path())? else {
        return Ok(None);
    };
    match dial(&options.place.socket_path()).await? {
        DialOutcome::Nobody => StartingHub::begin(&options.start, lock).map(Some),
        DialOutcome::Somebody(_) | DialOutcome::Full => Ok(None),
    }
}

/// Connects to `path`.
pub(super) async fn dial(path: &Path) -> Result<DialOutcome, HubAttachError> {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, NotFound, WouldBlock};
    match UnixStream::connect(path).await {
        Ok(stream) => Ok(DialOutcome::Somebody(stream)),
        Err(error) => match error.kind() {
            ConnectionRefused | ConnectionReset | NotFound => Ok(DialOutcome::Nobody),
            WouldBlock => Ok(DialOutcome::Full),
            _ => Err(socket::SocketError::io("connect to", path)(error).into()),
        },
    }
}

/// Sends the hello of a client that wants MCP.
async fn greet(
    options: &AttachOptions,
    stream: UnixStream,
) -> Result<GreetOutcome<HubLink>, HubAttachError> {
    let path = options.place.socket_path();
    let mut reached = open_link(&path, stream, options.message_limit)?;
    let hello = options.hello();
    let answer: Option<HubInfo> =
        match send_hello(&mut reached, &hello, &path, options.timing.answer).await {
            Err(HubAttachError::Refused(HelloRefusal {
                kind: HelloRefusalKind::Stopping, ..
            })) => None,
            answer => answer?,
        };
    let Some(welcome) = answer else {
        return Ok(GreetOutcome::Leaving);
    };
    tracing::debug!(version = welcome.version, hub = welcome.hub, "attached");
    reached.version = welcome.version;
    Ok(GreetOutcome::Yes(reached))
}

/// Opens a link to the peer, if the peer runs as our user: the hello holds environment variables.
pub(super) fn open_link(
    path: &Path,
    stream: UnixStream,
    limit: usize,
) -> Result<HubLink, HubAttachError> {
    let peer = stream.peer_cred().map_err(socket::SocketError::io("look who listens on", path))?;
    if !is_own_user(peer.uid(), geteuid().as_raw()) {
        return Err(HubAttachError::NotAHub {
            path: path.to_owned(),
            fault: "belongs to another user",
        });
    }
    let (read, write) = stream.into_split();
    let (writer, reader, writing) = lines::line_link(read, write, limit);
    Ok(HubLink { version: String::new(), writer, reader, writing: Box::pin(writing) })
}

/// Sends the hello and reads the reply; `None` if the peer has closed.
pub(super) async fn send_hello<T: DeserializeOwned>(
    hub: &mut HubLink,
    hello: &ClientHello,
    path: &Path,
    patience: Duration,
) -> Result<Option<T>, HubAttachError> {
    let text = serde_json::to_string(hello).map_err(HubAttachError::Hello)?;
    let answer = async {
        hub.writer.send(text.into()).await?;
        hub.reader.next().await
    };
    let answer = tokio::select! {
        answer = timeout(patience, answer) => answer,
        // A peer that no longer reads may have sent a refusal before.
        () = &mut hub.writing => timeout(patience, hub.reader.next()).await,
    };
    let not_a_hub = |fault| HubAttachError::NotAHub { path: path.to_owned(), fault };
    let line = match answer {
        Err(_) => return Err(HubAttachError::Silent { after: patience }),
        Ok(Err(_) | Ok(None)) => return Ok(None),
        Ok(Ok(Some(LinkFrame::Broken(_)))) => {
            return Err(not_a_hub("does not speak as a hub does"));
        }
        Ok(Ok(Some(LinkFrame::Text(line)))) => line,
    };
    match HelloReply::parse(&line) {
        Ok(HelloReply::Granted(answer)) => Ok(Some(answer)),
        Ok(HelloReply::Refused { error }) => Err(HubAttachError::Refused(error)),
        Err(_) => Err(not_a_hub("does not speak as a hub does")),
    }
}
