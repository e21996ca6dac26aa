//! A worker at work: what the host says, taken in turn and given to the threads that answer.

use std::{
    borrow::Cow,
    fs::File,
    io::{BufRead as _, BufReader},
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use switchboard_wire::{
    envelope::{Message, Notification, Parsed, Request, RpcError, code, parse},
    json::Raw,
    meta::method,
};

use super::{
    Answerer,
    channel::Channel,
    crew::{self, Crew, Job, Source},
    interest::Interest,
};
use crate::told::{Failed, Ready, Wanted, said};

/// What is read at once.
const BUFFER: usize = 64 * 1024;
/// For how long the next call is looked for before it is slept on. A client that calls again and again does so within
/// that time, and on a machine whose processors sleep deeply, waking one takes longer than most calls.
const GLANCE: Duration = Duration::from_micros(100);

/// Where requests come in and answers go out.
pub(super) struct Desk {
    channel: Arc<Channel>,
    plugin: Arc<dyn Answerer>,
    interest: Interest,
}

/// What the host says, as jobs.
struct Inbox {
    desk: Arc<Desk>,
    /// Locked by the one thread that reads.
    input: Mutex<BufReader<File>>,
}

// === impl Desk ===

impl Desk {
    pub(super) fn new(channel: &Arc<Channel>, plugin: Arc<dyn Answerer>) -> Arc<Self> {
        Arc::new(Self { channel: channel.clone(), plugin, interest: Interest::default() })
    }

    /// Answers until the host is gone. It is ready once somebody hears. The thread that loaded the plugin is the first
    /// to answer.
    pub(super) fn serve(self: Arc<Self>, input: OwnedFd, ready: &Ready) -> Result<(), Failed> {
        let most = if ready.thread_safe { crew::MOST } else { 1 };
        let input = Mutex::new(BufReader::with_capacity(BUFFER, File::from(input)));
        let crew = Arc::new(Crew::new(most, Inbox { desk: self.clone(), input }));
        let watching = crew.clone();
        let watch = std::thread::Builder::new().name("reader".into());
        watch.spawn(move || watching.watch()).map_err(|error| {
            Failed::new("start", format!("it has no room for a thread: {error}"))
        })?;
        self.channel.say(&said(said::READY, ready));
        crew.work();
        self.plugin.end();
        Ok(())
    }

    /// What is to be done about a message, if it takes longer than a look at it.
    fn take(self: &Arc<Self>, message: Message) -> Option<Job> {
        match message {
            Message::Request(request) => Some(self.begin(request)),
            Message::Notification(note) => self.hear(&note),
            Message::Response(response) => {
                self.channel.answered(&response);
                None
            }
        }
    }

    fn begin(self: &Arc<Self>, request: Request) -> Job {
        let call = self.channel.begin(request.id().as_u64().unwrap_or_default());
        let desk = self.clone();
        Box::new(move || {
            let outcome = match request.method().as_ref() {
                said::DESCRIBE => Some(desk.describe()),
                _ => desk.plugin.answer(&call, &request),
            };
            desk.channel.finish(&call, outcome);
        })
    }

    fn hear(self: &Arc<Self>, note: &Notification) -> Option<Job> {
        let params = note.params();
        match note.method().as_ref() {
            method::CANCELLED => {
                let id = params.and_then(|params| params.get("requestId").ok().flatten());
                let id = id.and_then(|id| id.as_str().parse().ok());
                self.channel.cancel(id.unwrap_or_default());
                None
            }
            said::WANTED => {
                let wanted = params.as_ref().and_then(|params| params.decode::<Wanted>().ok());
                let uris = wanted.into_iter().flat_map(|wanted| wanted.uris);
                self.interest.want(uris.map(Cow::into_owned).collect());
                let desk = self.clone();
                Some(Box::new(move || desk.interest.tell(&*desk.plugin)))
            }
            _ => None,
        }
    }

    /// What the plugin offers by now.
    fn describe(&self) -> Result<Raw, RpcError> {
        let wrong = |why: String| RpcError::new(code::INTERNAL_ERROR, why);
        let ready = self.plugin.ready().map_err(|failed| wrong(failed.why))?;
        Raw::of(&ready).map_err(|error| wrong(error.to_string()))
    }
}

// === impl Inbox ===

impl Inbox {
    fn input(&self) -> MutexGuard<'_, BufReader<File>> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Inbox {
    fn next(&self) -> Option<Job> {
        let (mut input, mut line) = (self.input(), Vec::new());
        loop {
            line.clear();
            glance(&input);
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
            // The host writes what it has checked; anything else has nobody to be told.
            if let Ok(text) = std::str::from_utf8(&line)
                && let Ok(Parsed::One(message)) = parse(text.trim_end().to_owned().into())
                && let Some(job) = self.desk.take(message)
            {
                return Some(job);
            }
        }
    }

    fn has_more(&self) -> bool {
        !self.input().buffer().is_empty()
    }
}

/// Stays awake for a moment, as long as nothing has come and nobody else has use for the processor.
fn glance(input: &BufReader<File>) {
    if !input.buffer().is_empty() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < GLANCE {
        let mut awaited = [PollFd::new(input.get_ref().as_fd(), PollFlags::POLLIN)];
        // Whatever is wrong with it, reading tells.
        if poll(&mut awaited, PollTimeout::ZERO) != Ok(0) {
            return;
        }
        std::thread::yield_now();
    }
}
