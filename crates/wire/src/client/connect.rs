//! Connecting: opens the transport of a `ServerTarget`, starts the session's tasks and greets the
//! server.
//!
//! Used by `Client::connect` only. It does not decide the era (`handshake`) and does not reconnect
//! (`core::connection`).

use std::sync::Arc;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Client, ServerInbox,
    channel::{LinkChannel, ServerChannel},
    http_channel::HttpChannel,
    options::ClientOptions,
    session::ClientSession,
    stray_text::StrayText,
    target::{HttpTarget, ServerTarget, StdioTarget},
};
use crate::{
    Error, Version,
    envelope::MessageOrBatch,
    http::HttpEndpoint,
    link::{self, LinkFrame, LinkReader, LinkWriter, lines, pair, sse},
    ws,
};
use switchboard_process as process;
use switchboard_process::Process;

/// A session with running tasks that has not greeted its server yet.
struct StartedSession {
    session: Arc<ClientSession>,
    inbox: ServerInbox,
    tasks: TaskTracker,
}

/// Connects to `target`. When `given_up` is cancelled, it stops the tasks and the process it
/// started, and fails.
pub(super) async fn connect(
    target: ServerTarget,
    options: ClientOptions,
    given_up: &CancellationToken,
    stray: &StrayText,
) -> Result<(Client, ServerInbox), Error> {
    let key = target.key();
    let eras = options.eras.clone();
    let known = eras.as_ref().and_then(|eras| eras.get(&key));
    let opened = match target {
        ServerTarget::Stdio(stdio) => stdio_session(stdio, options, known, given_up, stray).await?,
        ServerTarget::Http(target) => http_session(target, options, known, given_up).await?,
        ServerTarget::Sse(target) => sse_session(&target, options, given_up).await?,
        ServerTarget::WebSocket { url, pool, options: ws } => {
            let connecting = ws::connect_websocket(&pool, &url, *ws);
            let (writer, reader) = run_unless_cancelled(given_up, connecting).await??;
            let end = link::websocket_link(writer, reader);
            link_session(options, end, None, given_up).greet(known, given_up).await?
        }
        ServerTarget::InProcess(end) => {
            link_session(options, end, None, given_up).greet(known, given_up).await?
        }
    };
    if let (Some(eras), Some(facts)) = (eras, opened.session.facts()) {
        eras.put(&key, facts.version);
    }
    let client = Client::assemble(opened.session, opened.tasks).await;
    Ok((client, opened.inbox))
}

/// The output of `connecting`, or an error if the connection is given up first.
async fn run_unless_cancelled<T>(
    given_up: &CancellationToken,
    connecting: impl Future<Output = T>,
) -> Result<T, Error> {
    given_up.run_until_cancelled(connecting).await.ok_or(Error::Closed)
}

// === impl StartedSession ===

impl StartedSession {
    async fn greet(
        self,
        known: Option<Version>,
        given_up: &CancellationToken,
    ) -> Result<Self, Error> {
        match run_unless_cancelled(given_up, self.session.greet(known)).await {
            Ok(Ok(())) => Ok(self),
            Err(given_up) => {
                self.end().await;
                Err(given_up)
            }
            Ok(Err(error)) => {
                let error = self.cause(error).await;
                self.end().await;
                Err(error)
            }
        }
    }

    /// Why the session ended. The exit of a process explains more than its closed pipe.
    async fn cause(&self, error: Error) -> Error {
        match (&self.session.channel, &error) {
            (ServerChannel::Link(LinkChannel { process: Some(process), .. }), Error::Closed) => {
                exit_error(process).await
            }
            _ => error,
        }
    }

    async fn end(&self) {
        self.session.closing.cancel();
        self.session.fail_all(&Error::Closed);
        if let ServerChannel::Link(LinkChannel { process: Some(process), .. }) =
            &self.session.channel
        {
            process.stop().await;
        }
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// The exit status of a process that closed its output, as an error.
async fn exit_error(process: &Process) -> Error {
    const EXIT_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(500);
    match tokio::time::timeout(EXIT_TIMEOUT, process.wait_exit()).await {
        Ok(exit) => Error::Exited { exit, stderr: process.stderr_tail() },
        Err(_) => Error::Closed,
    }
}

async fn stdio_session(
    stdio: StdioTarget,
    options: ClientOptions,
    known: Option<Version>,
    given_up: &CancellationToken,
    stray: &StrayText,
) -> Result<StartedSession, Error> {
    let opened = spawn(&stdio, options.clone(), given_up, stray).await?;
    match opened.greet(known, given_up).await {
        // Some servers exit on the unknown method `server/discover`; greet them with `initialize`.
        Err(Error::Exited { .. } | Error::Io { .. }) if may_be_legacy(&options, known) => {
            let legacy = Some(Version::LATEST_LEGACY);
            spawn(&stdio, options, given_up, stray).await?.greet(legacy, given_up).await
        }
        result => result,
    }
}

/// Whether the first greeting was `server/discover`, which only a modern server understands.
fn may_be_legacy(options: &ClientOptions, known: Option<Version>) -> bool {
    options.greeting == super::VersionNegotiation::Probe
        && known.is_none_or(|version| version.era() == crate::Era::Modern)
}

/// Starts the process. It is not cancelled half-way, so that a process that has begun can be
/// stopped.
async fn spawn(
    stdio: &StdioTarget,
    options: ClientOptions,
    given_up: &CancellationToken,
    stray: &StrayText,
) -> Result<StartedSession, Error> {
    let spawned = process::spawn(stdio.command.clone(), &stdio.guard, stdio.stderr.clone()).await?;
    let limit = options.limits.max_message;
    let stdout = process::StdoutPipe::new(spawned.stdout);
    let (writer, reader, writing) = lines::line_link(stdout, spawned.stdin, limit);
    let process = Some((spawned.process, stray.clone()));
    let opened = link_session(options, (writer, reader), process, given_up);
    let closing = opened.session.closing.clone();
    opened.tasks.spawn(closing.run_until_cancelled_owned(writing));
    Ok(opened)
}

fn link_session(
    options: ClientOptions,
    end: pair::LinkEnd,
    process: Option<(Process, StrayText)>,
    given_up: &CancellationToken,
) -> StartedSession {
    let (process, stray) = process.unzip();
    let (writer, reader): (LinkWriter, LinkReader) = end;
    let channel = ServerChannel::Link(LinkChannel { writer, process });
    let (session, inbox) = ClientSession::new(options, channel, given_up.child_token());
    let tasks = TaskTracker::new();
    tasks.spawn(read_link(session.clone(), reader, stray));
    StartedSession { session, inbox, tasks }
}

/// Routes the messages of a link until the link ends.
async fn read_link(session: Arc<ClientSession>, mut reader: LinkReader, stray: Option<StrayText>) {
    let closing = session.closing.clone();
    let reading = async {
        loop {
            match reader.next().await {
                Ok(Some(frame)) => {
                    if let (Some(stray), LinkFrame::Text(text)) = (&stray, &frame) {
                        stray.note(text);
                    }
                    route(&session, frame.parse()).await;
                }
                Ok(None) => return Error::Closed,
                Err(error) => return error,
            }
        }
    };
    let reading = async {
        tokio::select! {
            error = reading => error,
            never = session.send_unsent() => match never {},
        }
    };
    let error = match closing.run_until_cancelled(reading).await {
        None => Error::Closed,
        Some(Error::Closed) => match &session.channel {
            ServerChannel::Link(LinkChannel { process: Some(process), .. }) => {
                exit_error(process).await
            }
            _ => Error::Closed,
        },
        Some(error) => error,
    };
    session.fail_all(&error);
    session.closing.cancel();
}

async fn route(
    session: &Arc<ClientSession>,
    parsed: Result<MessageOrBatch, crate::envelope::MalformedMessage>,
) {
    match parsed {
        Ok(MessageOrBatch::One(message)) => session.route(message).await,
        Ok(MessageOrBatch::Batch(messages)) => {
            for message in messages {
                match message {
                    Ok(message) => session.route(message).await,
                    Err(malformed) => session.route_malformed(malformed).await,
                }
            }
        }
        Err(malformed) => session.route_malformed(malformed).await,
    }
}

async fn http_session(
    target: HttpTarget,
    options: ClientOptions,
    known: Option<Version>,
    given_up: &CancellationToken,
) -> Result<StartedSession, Error> {
    let endpoint =
        HttpEndpoint::new(target.pool.clone(), target.url.clone(), target.options.clone());
    let (channel, chores) = HttpChannel::new(endpoint);
    let (session, inbox) =
        ClientSession::new(options.clone(), ServerChannel::Http(channel), given_up.child_token());
    let tasks = TaskTracker::new();
    let chief = session.clone();
    let closing = session.closing.clone();
    tasks.spawn(closing.run_until_cancelled_owned(async move {
        if let ServerChannel::Http(http) = &chief.channel {
            tokio::select! {
                () = http.send_background_messages(chores, || chief.facts()) => {}
                never = chief.send_unsent() => match never {},
            }
        }
    }));
    let opened = StartedSession { session, inbox, tasks };
    match opened.greet(known, given_up).await {
        Err(Error::Status { status: 400 | 404 | 405, .. }) => {
            sse_session(&target, options, given_up).await
        }
        result => result,
    }
}

async fn sse_session(
    target: &HttpTarget,
    options: ClientOptions,
    given_up: &CancellationToken,
) -> Result<StartedSession, Error> {
    let connecting = sse::connect_sse(&target.pool, &target.url, &target.options);
    let (writer, reader) = run_unless_cancelled(given_up, connecting).await??;
    let opened = link_session(options, link::sse_link(writer, reader), None, given_up);
    // HTTP+SSE is older than the modern era, so there is no era to probe.
    let legacy = Some(Version::LATEST_LEGACY);
    opened.greet(legacy, given_up).await
}
