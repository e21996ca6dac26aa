//! The bridge between Rust and interface version 2: the function table of a plugin, and the host's functions
//! for a call.
//!
//! Used by the macros `plugin!` and `export!`, and by `Context`. All `unsafe` of the crate is here. The host
//! promises, as the header says: the host's table outlives the instance, a call outlives `handle`, texts are
//! UTF-8 and live until the function that takes them returns.

#![allow(unsafe_code, reason = "the interface is made of pointers")]

use std::{
    any::Any,
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use serde_json::{Value, json};

use crate::{
    Context, Failure, Plugin, Result,
    abi::v2::{self, Answer, Call, Host, Text},
};

/// A plugin's definition, from which [`crate::plugin!`] makes a function table.
pub trait PluginDefinition: 'static {
    /// The plugin's name.
    const NAME: &'static str;
    /// The plugin's version.
    const VERSION: &'static str;

    /// The plugin with all its items.
    fn plugin() -> Plugin;
}

/// The instance that a host's pointer refers to.
struct Instance {
    plugin: Plugin,
    host: *const Host,
}

/// The host's functions for one call.
#[derive(Debug)]
pub(crate) struct HostLine {
    host: *const Host,
    call: *const Call,
}

/// The function table of a plugin.
pub fn entry<A: PluginDefinition>() -> &'static v2::Plugin {
    const {
        &v2::Plugin {
            magic: v2::MAGIC,
            abi: v2::ABI,
            size: v2::Plugin::SIZE,
            flags: v2::THREAD_SAFE,
            name: Text::of(A::NAME),
            version: Text::of(A::VERSION),
            create: Some(create::<A>),
            destroy: Some(destroy),
            describe: Some(describe),
            handle: Some(handle),
            release: Some(release),
            subscribe: Some(subscribe),
            get_extension: None,
        }
    }
}

unsafe extern "C-unwind" fn create<A: PluginDefinition>(
    host: *const Host,
    instance: *mut *mut c_void,
    answer: *mut Answer,
) -> i32 {
    let made = guarded(|| Ok(A::plugin()));
    match made {
        Ok(plugin) => {
            let made = Box::into_raw(Box::new(Instance { plugin, host }));
            // SAFETY: the host passes a valid out-pointer for the instance.
            unsafe { instance.write(made.cast()) };
            v2::OK
        }
        // SAFETY: the host passes a valid out-pointer for the answer.
        Err(failure) => unsafe { refuse(&failure, answer) },
    }
}

unsafe extern "C-unwind" fn destroy(instance: *mut c_void) {
    // SAFETY: the instance came from `create`, and the host destroys it once.
    drop(unsafe { Box::from_raw(instance.cast::<Instance>()) });
}

unsafe extern "C-unwind" fn describe(instance: *mut c_void, answer: *mut Answer) -> i32 {
    // SAFETY: the instance came from `create`; the host passes a valid out-pointer for the answer.
    unsafe {
        let instance = &*instance.cast::<Instance>();
        reply(guarded(|| Ok(instance.plugin.describe())), answer)
    }
}

unsafe extern "C-unwind" fn handle(
    instance: *mut c_void,
    call: *const Call,
    method: Text,
    params: Text,
    answer: *mut Answer,
) -> i32 {
    // SAFETY: the instance came from `create`; texts live while this runs; the out-pointer for the answer is
    // valid.
    unsafe {
        let instance = &*instance.cast::<Instance>();
        let (method, params) = (borrow(method), borrow(params));
        let cx = Context::hosted(HostLine { host: instance.host, call });
        let outcome = guarded(|| {
            let params: Value = serde_json::from_str(params).map_err(Failure::invalid)?;
            instance.plugin.handle(method, params, &cx)
        });
        reply(outcome, answer)
    }
}

unsafe extern "C-unwind" fn release(_instance: *mut c_void, answer: *mut Answer) {
    // SAFETY: an answer of ours was given by `give_answer`, and is released once.
    unsafe { release_answer(answer) };
}

unsafe extern "C-unwind" fn subscribe(instance: *mut c_void, uri: Text, on: i32) {
    // SAFETY: the instance came from `create`; the text lives while this runs.
    let (instance, uri) = unsafe { (&*instance.cast::<Instance>(), borrow(uri)) };
    // A panic here has no caller to report it to.
    let _ = guarded(|| {
        instance.plugin.subscribed(uri, on != 0);
        Ok(())
    });
}

/// Runs a plugin function; its panic becomes a failed call instead of a crash.
fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        Err(Failure::Rpc {
            code: -32603,
            message: format!("the plugin panicked: {}", words(&*payload)),
            data: None,
        })
    })
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it does not say why")
}

/// # Safety
/// `answer` must be valid for writes.
unsafe fn reply(outcome: Result<Value>, answer: *mut Answer) -> i32 {
    match outcome {
        // SAFETY: the caller promises a valid `answer`.
        Ok(value) => unsafe { give_answer(value.to_string(), v2::OK, answer) },
        // SAFETY: the caller promises a valid `answer`.
        Err(failure) => unsafe { refuse(&failure, answer) },
    }
}

/// # Safety
/// `answer` must be valid for writes.
unsafe fn refuse(failure: &Failure, answer: *mut Answer) -> i32 {
    if *failure == Failure::Cancelled {
        return v2::CANCELLED;
    }
    // SAFETY: the caller promises a valid `answer`.
    unsafe { give_answer(failure.to_rpc().to_string(), v2::ERROR, answer) }
}

/// Writes a text to where the other side of the interface wants its answer. Hosts use it too.
///
/// # Safety
/// `answer` must be valid for writes.
pub unsafe fn give_answer(text: String, status: i32, answer: *mut Answer) -> i32 {
    let text = Box::new(text);
    let shown = Text::of(&text);
    let owner = Box::into_raw(text).cast();
    // SAFETY: the caller promises a valid `answer`.
    unsafe { answer.write(Answer { text: shown, owner }) };
    status
}

/// Frees the text of an answer. Hosts use it too.
///
/// # Safety
/// `answer` must come from [`give_answer`], or hold none.
pub unsafe fn release_answer(answer: *mut Answer) {
    // SAFETY: as promised, the owner is a boxed string; the answer holds none afterwards.
    unsafe {
        let owner = (*answer).owner;
        if !owner.is_null() {
            drop(Box::from_raw(owner.cast::<String>()));
        }
        answer.write(Answer::NONE);
    }
}

/// # Safety
/// The text must be UTF-8 that lives for `'a`, or none.
unsafe fn borrow<'a>(text: Text) -> &'a str {
    if text.ptr.is_null() {
        return "";
    }
    // SAFETY: the caller promises the text's lifetime; a text that is not UTF-8 counts as empty.
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr, text.len) };
    std::str::from_utf8(bytes).unwrap_or_default()
}

// === impl HostLine ===

impl HostLine {
    fn host(&self) -> &Host {
        // SAFETY: the host's table outlives the instance, and the instance outlives this call.
        unsafe { &*self.host }
    }

    pub(crate) fn log(&self, level: usize, logger: &str, data: &str) {
        let level = i32::try_from(level).unwrap_or_default();
        // SAFETY: the call is running; the texts live until the function returns.
        unsafe { (self.host().log)(self.call, level, Text::of(logger), Text::of(data)) }
    }

    pub(crate) fn progress(&self, progress: f64, total: f64, message: &str) {
        // SAFETY: the call is running; the text lives until the function returns.
        unsafe { (self.host().progress)(self.call, progress, total, Text::of(message)) }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        // SAFETY: the call is running.
        unsafe { (self.host().cancelled)(self.call) != 0 }
    }

    pub(crate) fn notify(&self, method: &str, params: &str) {
        // SAFETY: the call is running; the texts live until the function returns.
        unsafe { (self.host().notify)(self.call, Text::of(method), Text::of(params)) }
    }

    pub(crate) fn announce(&self, method: &str, params: &str) {
        // SAFETY: a notification may have no call.
        unsafe { (self.host().notify)(ptr::null(), Text::of(method), Text::of(params)) }
    }

    pub(crate) fn elicit(&self, params: &str) -> Result<String> {
        let ask = |answer: *mut Answer| {
            // SAFETY: the call is running, and the out-pointer for the answer is valid.
            unsafe { (self.host().elicit)(self.call, Text::of(params), answer) }
        };
        self.asked(ask)
    }

    pub(crate) fn request(&self, method: &str, params: &str) -> Result<String> {
        let ask = |answer: *mut Answer| {
            // SAFETY: the call is running, and the out-pointer for the answer is valid.
            unsafe { (self.host().request)(self.call, Text::of(method), Text::of(params), answer) }
        };
        self.asked(ask)
    }

    fn asked(&self, ask: impl FnOnce(*mut Answer) -> i32) -> Result<String> {
        let mut answer = Answer::NONE;
        let status = ask(&raw mut answer);
        // SAFETY: the host's text lives until it is released, which happens once.
        let text = unsafe {
            let text = borrow(answer.text).to_owned();
            (self.host().release)(&raw mut answer);
            text
        };
        match status {
            v2::OK => Ok(text),
            v2::CANCELLED => Err(Failure::Cancelled),
            _ => Err(refused(&serde_json::from_str(&text).unwrap_or_else(|_| json!({})))),
        }
    }
}

/// Converts the client's error.
pub(crate) fn refused(error: &Value) -> Failure {
    Failure::Rpc {
        code: error["code"].as_i64().unwrap_or(-32603),
        message: error["message"].as_str().unwrap_or("the client did not answer").to_owned(),
        data: error.get("data").cloned(),
    }
}
