//! A worker's service: reads the host's messages and lets the thread pool answer them.
//!
//! Used by `worker` once the plugin is loaded. It does not know how a plugin answers (`worker::v1`,
//! `worker::v2`).

use std::{
    borrow::Cow,
    fs::File,
    io::{BufRead as _, BufReader},
    os::fd::OwnedFd,
    sync::Arc,
};

use switchboard_wire::{
    envelope::{MessageOrBatch, Notification, Request, RpcError, RpcMessage, code, parse},
    json::Raw,
    meta::method,
};

use super::{
    LoadedPlugin,
    channel::HostChannel,
    interest::Interest,
    thread_pool::{Job, MAX_THREADS, ThreadPool},
};
use crate::messages::{
    SubscribedResources, WorkerFailed, WorkerReady, format_notification, worker_method,
};

/// The most that one read takes from the host.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// Answers the host for one plugin.
pub(super) struct PluginService {
    channel: Arc<HostChannel>,
    plugin: Arc<dyn LoadedPlugin>,
    interest: Interest,
}

// === impl PluginService ===

impl PluginService {
    pub(super) fn new(channel: &Arc<HostChannel>, plugin: Arc<dyn LoadedPlugin>) -> Arc<Self> {
        Arc::new(Self { channel: channel.clone(), plugin, interest: Interest::default() })
    }

    /// Answers until the host closes its end. A thread of its own reads; the thread that loaded the plugin is the first
    /// to run calls, and the only one for a plugin that is not thread-safe.
    pub(super) fn serve(
        self: Arc<Self>,
        input: OwnedFd,
        ready: &WorkerReady,
    ) -> Result<(), WorkerFailed> {
        let pool = ThreadPool::new(if ready.thread_safe { MAX_THREADS } else { 1 });
        let (service, readers_pool) = (self.clone(), pool.clone());
        let reader = std::thread::Builder::new().name("reader".into());
        let reading = reader.spawn(move || {
            service.read(input, &readers_pool);
            readers_pool.close();
        });
        reading.map_err(|error| {
            WorkerFailed::new("start", format!("it has no room for a thread: {error}"))
        })?;
        let ready = Raw::from_value(ready)
            .map_err(|error| WorkerFailed::new("start", error.to_string()))?;
        self.channel.send(&format_notification(worker_method::READY, &ready));
        pool.run();
        self.plugin.end();
        Ok(())
    }

    /// Reads the host's messages until the channel closes.
    fn read(self: &Arc<Self>, input: OwnedFd, pool: &Arc<ThreadPool>) {
        let mut input = BufReader::with_capacity(READ_BUFFER_BYTES, File::from(input));
        let mut line = Vec::new();
        while matches!(input.read_until(b'\n', &mut line), Ok(bytes) if bytes > 0) {
            // The host checks its own lines. A line that is no message has no id to answer.
            if let Ok(text) = std::str::from_utf8(&line)
                && let Ok(MessageOrBatch::One(message)) = parse(text.trim_end().to_owned().into())
                && let Some(job) = self.handle_message(message)
            {
                pool.submit(job);
            }
            line.clear();
        }
    }

    /// Handles a message, or returns a job if handling it may take long.
    fn handle_message(self: &Arc<Self>, message: RpcMessage) -> Option<Job> {
        match message {
            RpcMessage::Request(request) => Some(self.begin_request(request)),
            RpcMessage::Notification(note) => self.handle_notification(&note),
            RpcMessage::Response(response) => {
                self.channel.deliver_answer(&response);
                None
            }
        }
    }

    fn begin_request(self: &Arc<Self>, request: Request) -> Job {
        let call = self.channel.begin(request.id().as_u64().unwrap_or_default());
        let service = self.clone();
        Box::new(move || {
            let outcome = match request.method().as_ref() {
                worker_method::DESCRIBE => Some(service.describe()),
                _ => service.plugin.answer(&call, &request),
            };
            service.channel.finish(&call, outcome);
        })
    }

    fn handle_notification(self: &Arc<Self>, note: &Notification) -> Option<Job> {
        let params = note.params();
        match note.method().as_ref() {
            method::CANCELLED => {
                let id = params.and_then(|params| params.get("requestId").ok().flatten());
                let id = id.and_then(|id| id.as_str().parse().ok());
                self.channel.cancel(id.unwrap_or_default());
                None
            }
            worker_method::SUBSCRIBED => {
                let wanted =
                    params.as_ref().and_then(|params| params.decode::<SubscribedResources>().ok());
                let uris = wanted.into_iter().flat_map(|wanted| wanted.uris);
                self.interest.set_wanted(uris.map(Cow::into_owned).collect());
                let service = self.clone();
                Some(Box::new(move || service.interest.tell_plugin(&*service.plugin)))
            }
            _ => None,
        }
    }

    /// The plugin's current description.
    fn describe(&self) -> Result<Raw, RpcError> {
        let wrong = |why: String| RpcError::new(code::INTERNAL_ERROR, why);
        let ready = self.plugin.ready().map_err(|failed| wrong(failed.why))?;
        Raw::from_value(&ready).map_err(|error| wrong(error.to_string()))
    }
}
