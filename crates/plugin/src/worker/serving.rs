//! A worker at work: what the host says, taken in turn and given to the threads that answer.

use std::{
    borrow::Cow,
    io::{self, BufRead as _},
    os::fd::OwnedFd,
    sync::Arc,
};

use switchboard_wire::{
    envelope::{Message, Notification, Parsed, Request, RpcError, code, parse},
    json::Raw,
    meta::method,
};

use super::{
    Answerer,
    channel::Channel,
    crew::{self, Crew},
    interest::Interest,
};
use crate::told::{Failed, Ready, Wanted, said};

/// What is read at once.
const BUFFER: usize = 64 * 1024;

/// Where requests come in and answers go out.
pub(super) struct Desk {
    channel: Arc<Channel>,
    crew: Arc<Crew>,
    plugin: Arc<dyn Answerer>,
    interest: Interest,
}

// === impl Desk ===

impl Desk {
    pub(super) fn new(
        channel: &Arc<Channel>,
        plugin: Arc<dyn Answerer>,
        ready: &Ready,
    ) -> Arc<Self> {
        let most = if ready.thread_safe { crew::MOST } else { 1 };
        let crew = Arc::new(Crew::new(most));
        Arc::new(Self { channel: channel.clone(), crew, plugin, interest: Interest::default() })
    }

    /// Answers until the host is gone. It is ready once somebody hears. The thread that loaded the plugin is the first
    /// to answer.
    pub(super) fn serve(self: Arc<Self>, input: OwnedFd, ready: &Ready) -> Result<(), Failed> {
        let desk = self.clone();
        let reading = std::thread::Builder::new().name("reader".into()).spawn(move || {
            desk.read(input);
            desk.crew.end();
        });
        reading.map_err(|error| {
            Failed::new("start", format!("it has no room for a thread: {error}"))
        })?;
        self.channel.say(&said(said::READY, ready));
        self.crew.work();
        self.plugin.end();
        Ok(())
    }

    fn read(self: &Arc<Self>, input: OwnedFd) {
        let mut input = io::BufReader::with_capacity(BUFFER, std::fs::File::from(input));
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            // The host writes what it has checked; anything else has nobody to be told.
            if let Ok(text) = std::str::from_utf8(&line)
                && let Ok(Parsed::One(message)) = parse(text.trim_end().to_owned().into())
            {
                self.take(message);
            }
        }
    }

    fn take(self: &Arc<Self>, message: Message) {
        match message {
            Message::Request(request) => self.begin(request),
            Message::Response(response) => self.channel.answered(&response),
            Message::Notification(note) => self.hear(&note),
        }
    }

    fn begin(self: &Arc<Self>, request: Request) {
        let call = self.channel.begin(request.id().as_u64().unwrap_or_default());
        let desk = self.clone();
        self.crew.add(Box::new(move || {
            let outcome = match request.method().as_ref() {
                said::DESCRIBE => Some(desk.describe()),
                _ => desk.plugin.answer(&call, &request),
            };
            desk.channel.finish(&call, outcome);
        }));
    }

    fn hear(self: &Arc<Self>, note: &Notification) {
        let params = note.params();
        match note.method().as_ref() {
            method::CANCELLED => {
                let id = params.and_then(|params| params.get("requestId").ok().flatten());
                let id = id.and_then(|id| id.as_str().parse().ok());
                self.channel.cancel(id.unwrap_or_default());
            }
            said::WANTED => {
                let wanted = params.as_ref().and_then(|params| params.decode::<Wanted>().ok());
                let uris = wanted.into_iter().flat_map(|wanted| wanted.uris);
                self.interest.want(uris.map(Cow::into_owned).collect());
                let desk = self.clone();
                self.crew.add(Box::new(move || desk.interest.tell(&*desk.plugin)));
            }
            _ => {}
        }
    }

    /// What the plugin offers by now.
    fn describe(&self) -> Result<Raw, RpcError> {
        let wrong = |why: String| RpcError::new(code::INTERNAL_ERROR, why);
        let ready = self.plugin.ready().map_err(|failed| wrong(failed.why))?;
        Raw::of(&ready).map_err(|error| wrong(error.to_string()))
    }
}
