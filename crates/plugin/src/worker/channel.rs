//! A worker's channel to the host: sends whole messages from any thread, and waits for answers to questions.
//!
//! Used by `worker::serving`, `worker::v1` and `worker::v2`. The host's side is `worker_process`.

use std::{
    collections::HashMap,
    fs::File,
    io::Write as _,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use switchboard_wire::{
    envelope::{Id, Request, Response, ResponseOutcome, RpcError, code},
    json::{Raw, quote},
};

use crate::messages::worker_method;

/// How often a thread that waits for an answer checks whether its call was cancelled.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Bytes that may wait to be written; above that, senders wait.
const MAX_UNWRITTEN_BYTES: usize = 256 * 1024;

/// The channel to the host.
pub(super) struct HostChannel {
    output: File,
    spoken: Mutex<OutputBuffer>,
    room: Condvar,
    calls: Mutex<HashMap<u64, HostCall>>,
    asked: Mutex<HashMap<u64, mpsc::SyncSender<ResponseOutcome>>>,
    ids: AtomicU64,
}

/// The messages that wait to be written.
#[derive(Default)]
struct OutputBuffer {
    lines: Vec<u8>,
    /// Whether a thread is writing; it also writes the messages that others add meanwhile.
    is_written: bool,
    /// How many threads wait for room.
    waiting: usize,
}

/// A running call.
#[derive(Clone)]
pub(super) struct HostCall {
    pub(super) id: u64,
    cancelled: Arc<AtomicBool>,
}

/// The result of a question to the host.
pub(super) enum HostAnswer {
    Answer(ResponseOutcome),
    Cancelled,
}

// === impl HostCall ===

impl HostCall {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

// === impl OutputBuffer ===

impl OutputBuffer {
    /// Adds a message. A line break in JSON stands between two tokens, so it can become a space.
    fn add(&mut self, text: &str) {
        let begin = self.lines.len();
        self.lines.extend_from_slice(text.as_bytes());
        let breaks = self.lines[begin..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r'));
        breaks.for_each(|byte| *byte = b' ');
        self.lines.push(b'\n');
    }
}

// === impl HostChannel ===

impl HostChannel {
    pub(super) fn new(output: OwnedFd) -> Self {
        Self {
            output: output.into(),
            spoken: Mutex::default(),
            room: Condvar::new(),
            calls: Mutex::default(),
            asked: Mutex::default(),
            ids: AtomicU64::new(1),
        }
    }

    /// Sends one message. Of threads that send at once, one writes for all.
    pub(super) fn send(&self, text: &str) {
        let mut spoken = self.spoken.lock();
        while spoken.lines.len() >= MAX_UNWRITTEN_BYTES {
            spoken.waiting += 1;
            self.room.wait(&mut spoken);
            spoken.waiting -= 1;
        }
        spoken.add(text);
        if !std::mem::replace(&mut spoken.is_written, true) {
            self.write(spoken);
        }
    }

    /// Writes until the buffer stays empty.
    fn write<'a>(&'a self, mut spoken: MutexGuard<'a, OutputBuffer>) {
        let mut lines = Vec::new();
        while !spoken.lines.is_empty() {
            std::mem::swap(&mut lines, &mut spoken.lines);
            let is_awaited = spoken.waiting > 0;
            drop(spoken);
            if (&self.output).write_all(&lines).is_err() {
                // The host is gone, and the worker has nothing left to do.
                std::process::exit(0);
            }
            if is_awaited {
                self.room.notify_all();
            }
            lines.clear();
            spoken = self.spoken.lock();
        }
        spoken.is_written = false;
    }

    pub(super) fn begin(&self, id: u64) -> HostCall {
        let call = HostCall { id, cancelled: Arc::default() };
        self.calls.lock().insert(id, call.clone());
        call
    }

    pub(super) fn finish(&self, call: &HostCall, outcome: Option<Result<Raw, RpcError>>) {
        self.calls.lock().remove(&call.id);
        let id = Id::number(call.id);
        let response = match outcome {
            Some(Ok(result)) => Response::result(&id, &result),
            Some(Err(error)) => Response::error(Some(&id), &error),
            None => Response::error(Some(&id), &RpcError::new(code::INTERNAL_ERROR, "cancelled")),
        };
        self.send(response.text());
    }

    pub(super) fn cancel(&self, id: u64) {
        if let Some(call) = self.calls.lock().get(&id) {
            call.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Sends a notification of the plugin; `call` 0 belongs to no call.
    pub(super) fn note(&self, call: u64, method: &str, params: &Raw) {
        let note = worker_method::NOTE;
        let method = quote(method);
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"{note}","params":{{"call":{call},"method":{method},"params":{params}}}}}"#
        ));
    }

    /// Asks the client of the call, and waits for the answer.
    pub(super) fn ask(&self, call: &HostCall, method: &str, params: &Raw) -> HostAnswer {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = mpsc::sync_channel(1);
        self.asked.lock().insert(id, reply);
        let (call_id, method) = (Raw::from(call.id), Raw::string(method));
        let wrapped = Raw::object([("call", &call_id), ("method", &method), ("params", params)]);
        self.send(Request::new(&Id::number(id), worker_method::ASK, Some(&wrapped)).text());
        loop {
            match answer.recv_timeout(CANCEL_POLL_INTERVAL) {
                Ok(outcome) => return HostAnswer::Answer(outcome),
                Err(mpsc::RecvTimeoutError::Timeout) if !call.is_cancelled() => {}
                Err(_) => {
                    self.asked.lock().remove(&id);
                    return HostAnswer::Cancelled;
                }
            }
        }
    }

    pub(super) fn deliver_answer(&self, response: &Response) {
        let id = response.id().and_then(|id| id.as_u64());
        if let Some(reply) = id.and_then(|id| self.asked.lock().remove(&id)) {
            // The asking thread may have stopped waiting.
            let _ = reply.try_send(response.outcome());
        }
    }
}
