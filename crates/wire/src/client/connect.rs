//! From a target to a greeted session.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::{
    Client, Inbox,
    channel::{Channel, LinkChannel},
    http_channel::HttpChannel,
    options::ClientOptions,
    session::Session,
    target::{HttpTarget, Stdio, Target},
};
use crate::{
    Error, Version,
    envelope::Parsed,
    http::Endpoint,
    link::{self, LinkReader, LinkWriter, lines, pair, sse},
    process::{self, Process},
    ws,
};

/// A session whose tasks run, not yet greeted.
struct Opened {
    session: Arc<Session>,
    inbox: Inbox,
    tasks: TaskTracker,
}

pub(super) async fn connect(
    target: Target,
    options: ClientOptions,
) -> Result<(Client, Inbox), Error> {
    let key = target.key();
    let eras = options.eras.clone();
    let known = eras.as_ref().and_then(|eras| eras.get(&key));
    let opened = match target {
        Target::Stdio(stdio) => stdio_session(stdio, options, known).await?,
        Target::Http(target) => http_session(target, options, known).await?,
        Target::Sse(target) => sse_session(&target, options).await?,
        Target::WebSocket { url, pool, options: ws } => {
            let (writer, reader) = ws::connect(&pool, &url, *ws).await?;
            let opened = link_session(options, link::of_web_socket(writer, reader), None);
            opened.greeted(known).await?
        }
        Target::InProcess(end) => link_session(options, end, None).greeted(known).await?,
    };
    if let (Some(eras), Some(facts)) = (eras, opened.session.facts()) {
        eras.put(&key, facts.version);
    }
    let client = Client::assemble(opened.session, opened.tasks).await;
    Ok((client, opened.inbox))
}

// === impl Opened ===

impl Opened {
    async fn greeted(self, known: Option<Version>) -> Result<Self, Error> {
        match self.session.greet(known).await {
            Ok(()) => Ok(self),
            Err(error) => {
                let error = self.cause(error).await;
                self.end().await;
                Err(error)
            }
        }
    }

    /// Why it ended: a process that died says more than the pipe it left behind.
    async fn cause(&self, error: Error) -> Error {
        match (&self.session.channel, &error) {
            (Channel::Link(LinkChannel { process: Some(process), .. }), Error::Closed) => {
                end_of(process).await
            }
            _ => error,
        }
    }

    async fn end(&self) {
        self.session.closing.cancel();
        self.session.fail_all(&Error::Closed);
        if let Channel::Link(LinkChannel { process: Some(process), .. }) = &self.session.channel {
            process.stop().await;
        }
    }
}

/// What became of a process that closed its output.
async fn end_of(process: &Process) -> Error {
    const GRACE: std::time::Duration = std::time::Duration::from_millis(500);
    match tokio::time::timeout(GRACE, process.exited()).await {
        Ok(exit) => Error::Exited { exit, stderr: process.stderr_tail() },
        Err(_) => Error::Closed,
    }
}

async fn stdio_session(
    stdio: Stdio,
    options: ClientOptions,
    known: Option<Version>,
) -> Result<Opened, Error> {
    let opened = spawn(&stdio, options.clone()).await?;
    match opened.greeted(known).await {
        // Some servers die of a question they do not know. Ask the old way.
        Err(Error::Exited { .. } | Error::Io { .. }) if may_be_legacy(&options, known) => {
            spawn(&stdio, options).await?.greeted(Some(Version::LATEST_LEGACY)).await
        }
        result => result,
    }
}

/// Whether the first greeting was one that only a modern server understands.
fn may_be_legacy(options: &ClientOptions, known: Option<Version>) -> bool {
    options.greeting == super::Greeting::Probe
        && known.is_none_or(|version| version.era() == crate::Era::Modern)
}

async fn spawn(stdio: &Stdio, options: ClientOptions) -> Result<Opened, Error> {
    let spawned = process::spawn(stdio.command.clone(), &stdio.guard, stdio.stderr.clone()).await?;
    let limit = options.limits.max_message;
    let (writer, reader, writing) = lines::link(spawned.stdout, spawned.stdin, limit);
    let opened = link_session(options, (writer, reader), Some(spawned.process));
    let closing = opened.session.closing.clone();
    opened.tasks.spawn(closing.run_until_cancelled_owned(writing));
    Ok(opened)
}

fn link_session(options: ClientOptions, end: pair::End, process: Option<Process>) -> Opened {
    let (writer, reader): (LinkWriter, LinkReader) = end;
    let (session, inbox) = Session::new(options, Channel::Link(LinkChannel { writer, process }));
    let tasks = TaskTracker::new();
    tasks.spawn(read_link(session.clone(), reader));
    Opened { session, inbox, tasks }
}

/// Sorts what comes in until nothing does.
async fn read_link(session: Arc<Session>, mut reader: LinkReader) {
    let closing = session.closing.clone();
    let reading = async {
        loop {
            match reader.next().await {
                Ok(Some(frame)) => route(&session, frame.parse()).await,
                Ok(None) => return Error::Closed,
                Err(error) => return error,
            }
        }
    };
    let error = match closing.run_until_cancelled(reading).await {
        None => Error::Closed,
        Some(Error::Closed) => match &session.channel {
            Channel::Link(LinkChannel { process: Some(process), .. }) => end_of(process).await,
            _ => Error::Closed,
        },
        Some(error) => error,
    };
    session.fail_all(&error);
    session.closing.cancel();
}

async fn route(session: &Arc<Session>, parsed: Result<Parsed, crate::envelope::Malformed>) {
    match parsed {
        Ok(Parsed::One(message)) => session.route(message).await,
        Ok(Parsed::Batch(messages)) => {
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
) -> Result<Opened, Error> {
    let endpoint = Endpoint::new(target.pool.clone(), target.url.clone(), target.options.clone());
    let (channel, mut chores) = HttpChannel::new(endpoint);
    let (session, inbox) = Session::new(options.clone(), Channel::Http(channel));
    let tasks = TaskTracker::new();
    let chief = session.clone();
    let closing = session.closing.clone();
    tasks.spawn(closing.run_until_cancelled_owned(async move {
        while let (Some(chore), Channel::Http(http)) = (chores.recv().await, &chief.channel) {
            http.send_chore(chore, chief.facts().as_deref()).await;
        }
    }));
    let opened = Opened { session, inbox, tasks };
    match opened.greeted(known).await {
        Err(Error::Status { status: 400 | 404 | 405, .. }) => sse_session(&target, options).await,
        result => result,
    }
}

async fn sse_session(target: &HttpTarget, options: ClientOptions) -> Result<Opened, Error> {
    let (writer, reader) = sse::connect(&target.pool, &target.url, &target.options).await?;
    let opened = link_session(options, link::of_sse(writer, reader), None);
    // The transport is older than anything there is to probe for.
    let legacy = Some(Version::LATEST_LEGACY);
    opened.greeted(legacy).await
}
