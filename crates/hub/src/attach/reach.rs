//! Finding the hub, or starting it.

use std::{io, path::Path, pin::Pin, process::ExitStatus, time::Duration};

use nix::unistd::geteuid;
use serde::de::DeserializeOwned;
use switchboard_wire::link::{Frame, LinkReader, LinkWriter, lines};
use tokio::{
    net::UnixStream,
    time::{Instant, sleep, timeout},
};

use super::{AttachOptions, Error, start::Starting};
use crate::socket::{self, Answer, Hello, Lock, Refusal, RefusalKind, Welcome, is_ours};

/// How often a socket is tried while a hub is starting.
const LOOK: Duration = Duration::from_millis(10);

/// A hub that has let us in.
pub(super) struct Reached {
    /// The hub's version, once it has said it.
    pub(super) version: String,
    pub(super) writer: LinkWriter,
    pub(super) reader: LinkReader,
    /// Must be polled; ends when the writer is gone.
    pub(super) writing: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What came of an attempt to connect.
pub(super) enum Dialed {
    Somebody(UnixStream),
    Nobody,
    /// Somebody, who has more callers waiting than fit.
    Full,
}

/// Lets us in, or not now.
enum Said<T> {
    Yes(T),
    /// It is going, or gone.
    Leaving,
}

/// Finds a hub or starts one, and says hello.
pub(super) async fn reach(options: &AttachOptions) -> Result<Reached, Error> {
    let mut search = Search::new(options);
    loop {
        let stream = search.somebody().await?;
        match greet(options, stream).await? {
            Said::Yes(reached) => return Ok(reached),
            Said::Leaving => search.wait(None, Missing::Hub).await?,
        }
    }
}

/// Finds a hub or starts one, and leaves it at that.
pub async fn wake(options: &AttachOptions) -> Result<(), Error> {
    Search::new(options).somebody().await.map(drop)
}

/// Looks for a hub, and starts one where there is none.
struct Search<'a> {
    options: &'a AttachOptions,
    deadline: Instant,
    starting: Option<Starting>,
}

/// What was not found.
enum Missing {
    /// Nobody is there.
    Hub,
    /// Somebody is, who has no time.
    Room,
}

// === impl Search ===

impl<'a> Search<'a> {
    fn new(options: &'a AttachOptions) -> Self {
        Self { options, deadline: Instant::now() + options.timing.start, starting: None }
    }

    /// Whoever listens.
    async fn somebody(&mut self) -> Result<UnixStream, Error> {
        loop {
            // Looked at before the socket: a hub that found another one there ends, and the other one answers.
            let ended = self.starting.as_mut().and_then(Starting::ended);
            let missing = match dial(&self.options.place.socket()).await? {
                Dialed::Somebody(stream) => return Ok(stream),
                Dialed::Full => Missing::Room,
                Dialed::Nobody => Missing::Hub,
            };
            self.wait(ended, missing).await?;
        }
    }

    /// Starts a hub if that was not done yet, and gives it a moment.
    async fn wait(&mut self, ended: Option<ExitStatus>, missing: Missing) -> Result<(), Error> {
        match (&self.starting, ended) {
            (Some(starting), Some(status)) => {
                return Err(Error::Ended { status, log: starting.said() });
            }
            (None, _) if matches!(missing, Missing::Hub) => {
                self.starting = start(self.options).await?;
            }
            _ => {}
        }
        if Instant::now() > self.deadline {
            let log = self.starting.as_ref().map(Starting::said).unwrap_or_default();
            return Err(Error::Late { after: self.options.timing.start, log });
        }
        sleep(LOOK).await;
        Ok(())
    }
}

/// Starts a hub, unless somebody else is at it or has just done so.
async fn start(options: &AttachOptions) -> Result<Option<Starting>, Error> {
    let Some(lock) = Lock::take(&options.place.starting())? else {
        return Ok(None);
    };
    match dial(&options.place.socket()).await? {
        Dialed::Nobody => Starting::begin(&options.start, lock).map(Some),
        Dialed::Somebody(_) | Dialed::Full => Ok(None),
    }
}

/// Connects to `path`.
pub(super) async fn dial(path: &Path) -> Result<Dialed, Error> {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, NotFound, WouldBlock};
    match UnixStream::connect(path).await {
        Ok(stream) => Ok(Dialed::Somebody(stream)),
        Err(error) => match error.kind() {
            ConnectionRefused | ConnectionReset | NotFound => Ok(Dialed::Nobody),
            WouldBlock => Ok(Dialed::Full),
            _ => Err(socket::Error::io("connect to", path)(error).into()),
        },
    }
}

/// Says hello for a client that wants to speak MCP.
async fn greet(options: &AttachOptions, stream: UnixStream) -> Result<Said<Reached>, Error> {
    let path = options.place.socket();
    let mut reached = open(&path, stream, options.message_limit)?;
    let hello = options.hello();
    let answer: Option<Welcome> =
        match say(&mut reached, &hello, &path, options.timing.answer).await {
            Err(Error::Refused(Refusal { kind: RefusalKind::Stopping, .. })) => None,
            answer => answer?,
        };
    let Some(welcome) = answer else {
        return Ok(Said::Leaving);
    };
    tracing::debug!(version = welcome.version, hub = welcome.hub, "attached");
    reached.version = welcome.version;
    Ok(Said::Yes(reached))
}

/// A link to whoever answered, if it is us: what the hello holds is for nobody else.
pub(super) fn open(path: &Path, stream: UnixStream, limit: usize) -> Result<Reached, Error> {
    let peer = stream.peer_cred().map_err(socket::Error::io("look who listens on", path))?;
    if !is_ours(peer.uid(), geteuid().as_raw()) {
        return Err(Error::NotAHub { path: path.to_owned(), fault: "belongs to another user" });
    }
    let (read, write) = stream.into_split();
    let (writer, reader, writing) = lines::link(read, write, limit);
    Ok(Reached { version: String::new(), writer, reader, writing: Box::pin(writing) })
}

/// Says hello and reads the answer; `None` if the other side is gone.
pub(super) async fn say<T: DeserializeOwned>(
    hub: &mut Reached,
    hello: &Hello,
    path: &Path,
    patience: Duration,
) -> Result<Option<T>, Error> {
    let text = serde_json::to_string(hello).map_err(Error::Hello)?;
    let answer = async {
        hub.writer.send(text.into()).await?;
        hub.reader.next().await
    };
    let answer = tokio::select! {
        answer = timeout(patience, answer) => answer,
        // A peer that no longer reads may still have said why.
        () = &mut hub.writing => timeout(patience, hub.reader.next()).await,
    };
    let not_a_hub = |fault| Error::NotAHub { path: path.to_owned(), fault };
    let line = match answer {
        Err(_) => return Err(Error::Silent { after: patience }),
        Ok(Err(_) | Ok(None)) => return Ok(None),
        Ok(Ok(Some(Frame::Broken(_)))) => return Err(not_a_hub("does not speak as a hub does")),
        Ok(Ok(Some(Frame::Text(line)))) => line,
    };
    match Answer::read(&line) {
        Ok(Answer::Granted(answer)) => Ok(Some(answer)),
        Ok(Answer::Refused { error }) => Err(Error::Refused(error)),
        Err(_) => Err(not_a_hub("does not speak as a hub does")),
    }
}
