//! A plugin of interface version 2, and the host table that it gets.
//!
//! Used by `worker`. The tables are defined in `switchboard_plugin_sdk::abi::v2`.

#![allow(unsafe_code, reason = "the interface is made of pointers")]

use std::{
    ffi::c_void,
    ptr,
    sync::{Arc, OnceLock},
};

use serde_json::json;
use switchboard_plugin_sdk::abi::v2::{self, Answer, Host, Text};
use switchboard_plugin_sdk::{give_answer, release_answer};
use switchboard_wire::{
    envelope::{Request, ResponseOutcome, RpcError, code},
    json::{JsonKind, Raw, quote},
    meta::method,
};

use super::{
    LoadedPlugin,
    channel::{HostAnswer, HostCall, HostChannel},
};
use crate::messages::{WorkerFailed, WorkerReady};

/// The channel for notifications without a call.
static CHANNEL: OnceLock<Arc<HostChannel>> = OnceLock::new();

const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

static HOST: Host = Host {
    magic: v2::MAGIC,
    abi: v2::ABI,
    size: Host::SIZE,
    log,
    progress,
    cancelled,
    notify,
    elicit,
    request,
    release,
    get_extension,
};

/// The plugin's table and its one instance.
pub(super) struct V2Plugin {
    table: &'static v2::Plugin,
    instance: *mut c_void,
    channel: Arc<HostChannel>,
}

// SAFETY: only a plugin that declares itself thread-safe is called from more than one thread at once.
unsafe impl Send for V2Plugin {}
// SAFETY: as above.
unsafe impl Sync for V2Plugin {}

/// The target of an `sb_call` pointer.
struct CallContext<'a> {
    call: &'a HostCall,
    channel: &'a HostChannel,
}

// === impl V2Plugin ===

impl V2Plugin {
    pub(super) fn of_program(
        table: &'static v2::Plugin,
        channel: &Arc<HostChannel>,
    ) -> Result<Self, WorkerFailed> {
        Self::new(table, channel)
    }

    pub(super) fn of_library(
        entry: v2::Entry,
        channel: &Arc<HostChannel>,
    ) -> Result<Self, WorkerFailed> {
        // SAFETY: the symbol is of this type; the table is static in a library that stays loaded.
        let table = unsafe { entry().as_ref() };
        let table = table
            .ok_or_else(|| WorkerFailed::new("create", "`switchboard_plugin_v2` returned NULL"))?;
        Self::new(table, channel)
    }

    fn new(table: &'static v2::Plugin, channel: &Arc<HostChannel>) -> Result<Self, WorkerFailed> {
        let failed = |why: String| WorkerFailed::new("create", why);
        if table.magic != v2::MAGIC {
            return Err(failed("its table does not begin with the magic number".into()));
        }
        if table.abi != v2::ABI || table.size < v2::Plugin::SIZE {
            let (abi, size) = (table.abi, table.size);
            return Err(failed(format!("its table is of version {abi}, with {size} bytes")));
        }
        let create = table.create.ok_or_else(|| failed("`create` is NULL".into()))?;
        let missing = [
            ("destroy", table.destroy.is_none()),
            ("describe", table.describe.is_none()),
            ("handle", table.handle.is_none()),
            ("release", table.release.is_none()),
        ];
        if let Some((name, _)) = missing.iter().find(|(_, missing)| *missing) {
            return Err(failed(format!("`{name}` is NULL")));
        }
        let _ = CHANNEL.set(channel.clone());
        let mut plugin = Self { table, instance: ptr::null_mut(), channel: channel.clone() };
        let (mut instance, mut answer) = (ptr::null_mut(), Answer::NONE);
        // SAFETY: a function of the plugin, of this type; both out-pointers are ours.
        let status = unsafe { create(&raw const HOST, &raw mut instance, &raw mut answer) };
        plugin.instance = instance;
        if status == v2::OK {
            return Ok(plugin);
        }
        let why = match plugin.run_for_answer(|place| {
            // SAFETY: `place` points to the answer in `run_for_answer`.
            unsafe { place.write(answer) };
            v2::ERROR
        }) {
            Some(Err(error)) => error.message,
            _ => "it does not say why".to_owned(),
        };
        Err(WorkerFailed::new("initialize", why))
    }

    /// Runs a function that writes an answer, and releases the answer. `None` if the call was cancelled.
    fn run_for_answer(
        &self,
        run: impl FnOnce(*mut Answer) -> i32,
    ) -> Option<Result<Raw, RpcError>> {
        let wrong = |text: &str| RpcError::new(code::INTERNAL_ERROR, format!("the plugin {text}"));
        let mut answer = Answer::NONE;
        let status = run(&raw mut answer);
        // SAFETY: the plugin's text lives until it is released, which happens once.
        let text = unsafe {
            let text = text_bytes(answer.text).to_vec();
            if let Some(release) = self.table.release.filter(|_| !answer.text.ptr.is_null()) {
                release(self.instance, &raw mut answer);
            }
            text
        };
        if status == v2::CANCELLED {
            return None;
        }
        let text = String::from_utf8(text).map_err(|_| wrong("returned what is not UTF-8"));
        let json =
            text.and_then(|text| Raw::parse(text).map_err(|_| wrong("returned what is not JSON")));
        Some(match (status, json) {
            (v2::OK, Ok(result)) if result.kind() == JsonKind::Object => Ok(result),
            (v2::OK, Ok(_)) => Err(wrong("returned what is not an object")),
            (v2::OK | v2::ERROR, Err(error)) => Err(error),
            (v2::ERROR, Ok(error)) => Err(RpcError::from_raw(&error)),
            (other, _) => Err(wrong(&format!("returned the status {other}, which is none"))),
        })
    }
}

impl LoadedPlugin for V2Plugin {
    fn ready(&self) -> Result<WorkerReady, WorkerFailed> {
        let Some(describe) = self.table.describe else {
            return Err(WorkerFailed::new("create", "`describe` is NULL"));
        };
        // SAFETY: a function of the plugin, of this type.
        let described = self.run_for_answer(|answer| unsafe { describe(self.instance, answer) });
        let described = match described {
            Some(Ok(described)) => described,
            Some(Err(error)) => return Err(WorkerFailed::new("list", error.message)),
            None => return Err(WorkerFailed::new("list", "`describe` was cancelled")),
        };
        // SAFETY: texts of the table are static in the plugin.
        let text = |text| unsafe { String::from_utf8_lossy(text_bytes(text)).into_owned() };
        Ok(WorkerReady {
            abi: v2::ABI,
            name: text(self.table.name),
            version: text(self.table.version),
            thread_safe: self.table.flags & v2::THREAD_SAFE != 0,
            described: described.to_string(),
        })
    }

    fn answer(&self, call: &HostCall, request: &Request) -> Option<Result<Raw, RpcError>> {
        let handle = self.table.handle.filter(|_| !call.is_cancelled())?;
        let (method, params) = (request.method(), request.params());
        let params = params.unwrap_or_else(Raw::empty_object);
        let on_call = CallContext { call, channel: &self.channel };
        self.run_for_answer(|answer| {
            let (method, params) = (Text::of(&method), Text::of(params.as_str()));
            // SAFETY: a function of the plugin, of this type; call and texts outlive it.
            unsafe { handle(self.instance, (&raw const on_call).cast(), method, params, answer) }
        })
    }

    fn subscribe(&self, uri: &str, on: bool) {
        if let Some(subscribe) = self.table.subscribe {
            // SAFETY: a function of the plugin, of this type; the text outlives it.
            unsafe { subscribe(self.instance, Text::of(uri), i32::from(on)) };
        }
    }

    fn end(&self) {
        if let Some(destroy) = self.table.destroy {
            // SAFETY: the instance is not used after this.
            unsafe { destroy(self.instance) };
        }
    }
}

// === the host's table ===

/// # Safety
/// The text must live for `'a`, or be none.
unsafe fn text_bytes<'a>(text: Text) -> &'a [u8] {
    if text.ptr.is_null() {
        return &[];
    }
    // SAFETY: the caller promises the text's lifetime.
    unsafe { std::slice::from_raw_parts(text.ptr, text.len) }
}

/// # Safety
/// The text must live while this runs, or be none.
unsafe fn json_of(text: Text) -> Option<Raw> {
    // SAFETY: the caller promises the text's lifetime.
    let text = std::str::from_utf8(unsafe { text_bytes(text) }).ok()?;
    if text.is_empty() { Some(Raw::empty_object()) } else { Raw::parse(text.to_owned()).ok() }
}

/// # Safety
/// The pointer must be one that `handle` was given and has not returned from yet, or NULL.
unsafe fn call_context<'a>(call: *const v2::Call) -> Option<&'a CallContext<'a>> {
    // SAFETY: the caller promises a pointer of a running `handle`, or NULL.
    unsafe { call.cast::<CallContext<'a>>().as_ref() }
}

unsafe extern "C-unwind" fn log(call: *const v2::Call, level: i32, logger: Text, data: Text) {
    // SAFETY: the header requires valid pointers of plugins.
    let (call, logger, data) = unsafe { (call_context(call), text_bytes(logger), json_of(data)) };
    let (Some(on), Some(data)) = (call, data) else { return };
    let level =
        usize::try_from(level).ok().and_then(|level| LOG_LEVELS.get(level)).unwrap_or(&"info");
    let logger = match std::str::from_utf8(logger) {
        Ok(logger) if !logger.is_empty() => format!(r#""logger":{},"#, quote(logger)),
        _ => String::new(),
    };
    let params = format!(r#"{{"level":"{level}",{logger}"data":{data}}}"#);
    if let Ok(params) = Raw::parse(params) {
        on.channel.note(on.call.id, method::LOG, &params);
    }
}

unsafe extern "C-unwind" fn progress(call: *const v2::Call, done: f64, total: f64, message: Text) {
    // SAFETY: the header requires valid pointers of plugins.
    let (call, message) = unsafe { (call_context(call), text_bytes(message)) };
    let Some(on) = call else { return };
    let mut params = json!({ "progress": done });
    if total >= 0.0 {
        params["total"] = json!(total);
    }
    let message = String::from_utf8_lossy(message);
    if !message.is_empty() {
        params["message"] = json!(message);
    }
    on.channel.note(on.call.id, method::PROGRESS, &Raw::from(params));
}

unsafe extern "C-unwind" fn cancelled(call: *const v2::Call) -> i32 {
    // SAFETY: the header requires valid pointers of plugins.
    unsafe { call_context(call) }.map_or(0, |on| i32::from(on.call.is_cancelled()))
}

unsafe extern "C-unwind" fn notify(call: *const v2::Call, name: Text, params: Text) {
    // SAFETY: the header requires valid pointers of plugins.
    let (call, name, params) = unsafe { (call_context(call), text_bytes(name), json_of(params)) };
    let (Ok(name), Some(params)) = (std::str::from_utf8(name), params) else { return };
    match (call, CHANNEL.get()) {
        (Some(on), _) => on.channel.note(on.call.id, name, &params),
        (None, Some(channel)) => channel.note(0, name, &params),
        (None, None) => {}
    }
}

unsafe extern "C-unwind" fn elicit(
    call: *const v2::Call,
    params: Text,
    answer: *mut Answer,
) -> i32 {
    // SAFETY: the header requires valid pointers of plugins.
    unsafe { request(call, Text::of(method::ELICIT), params, answer) }
}

unsafe extern "C-unwind" fn request(
    call: *const v2::Call,
    name: Text,
    params: Text,
    answer: *mut Answer,
) -> i32 {
    // SAFETY: the header requires valid pointers of plugins.
    let (call, name, params) = unsafe { (call_context(call), text_bytes(name), json_of(params)) };
    let outcome = match (call, std::str::from_utf8(name), params) {
        (Some(on), Ok(name), Some(params)) => on.channel.ask(on.call, name, &params),
        _ => HostAnswer::Answer(ResponseOutcome::Error(RpcError::new(
            code::INVALID_PARAMS,
            "a question needs a call, a method, and parameters that are JSON",
        ))),
    };
    let (status, text) = match outcome {
        HostAnswer::Cancelled => return v2::CANCELLED,
        HostAnswer::Answer(ResponseOutcome::Result(result)) => (v2::OK, result.to_string()),
        HostAnswer::Answer(ResponseOutcome::Error(error)) => {
            (v2::ERROR, error.to_raw().to_string())
        }
    };
    // SAFETY: the plugin passes a valid out-pointer for the answer.
    unsafe { give_answer(text, status, answer) }
}

unsafe extern "C-unwind" fn release(answer: *mut Answer) {
    // SAFETY: an answer of ours was given by `give_answer`, and is released once.
    unsafe { release_answer(answer) };
}

/// There are no extensions yet.
unsafe extern "C-unwind" fn get_extension(_id: Text) -> *const c_void {
    ptr::null()
}
