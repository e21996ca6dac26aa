//! Between Rust and the binary interface: the table of a plugin, and a call's line to its host.
//!
//! All `unsafe` of the crate is here. What a host promises (the header says it): the host's table outlives the
//! instance, a call outlives `handle`, texts are UTF-8 and live as long as the function they are given to runs.

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

/// Whoever wrote a plugin: what the macro [`crate::plugin!`] makes a table of.
pub trait PluginDefinition: 'static {
    /// The plugin's name.
    const NAME: &'static str;
    /// Its version.
    const VERSION: &'static str;

    /// What it offers.
    fn plugin() -> Plugin;
}

/// What a host holds on to.
struct Instance {
    plugin: Plugin,
    host: *const Host,
}

/// A call's line to its host.
#[derive(Debug)]
pub(crate) struct HostLine {
    host: *const Host,
    call: *const Call,
}

/// The table of a plugin.
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
            // SAFETY: the host gives a place for the instance.
            unsafe { instance.write(made.cast()) };
            v2::OK
        }
        // SAFETY: the host gives a place for the answer.
        Err(failure) => unsafe { refuse(&failure, answer) },
    }
}

unsafe extern "C-unwind" fn destroy(instance: *mut c_void) {
    // SAFETY: it came from `create`, and the host destroys it once.
    drop(unsafe { Box::from_raw(instance.cast::<Instance>()) });
}

unsafe extern "C-unwind" fn describe(instance: *mut c_void, answer: *mut Answer) -> i32 {
    // SAFETY: the instance came from `create`; the host gives a place for the answer.
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
    // SAFETY: the instance came from `create`; texts live while this runs; there is a place for the answer.
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
    // Whoever panics here has nobody to tell.
    let _ = guarded(|| {
        instance.plugin.subscribed(uri, on != 0);
        Ok(())
    });
}

/// A panic of the author's is a failed call, not a crash.
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
/// `answer` must be a place to write to.
unsafe fn reply(outcome: Result<Value>, answer: *mut Answer) -> i32 {
    match outcome {
        // SAFETY: as promised.
        Ok(value) => unsafe { give_answer(value.to_string(), v2::OK, answer) },
        // SAFETY: as promised.
        Err(failure) => unsafe { refuse(&failure, answer) },
    }
}

/// # Safety
/// `answer` must be a place to write to.
unsafe fn refuse(failure: &Failure, answer: *mut Answer) -> i32 {
    if *failure == Failure::Cancelled {
        return v2::CANCELLED;
    }
    // SAFETY: as promised.
    unsafe { give_answer(failure.to_rpc().to_string(), v2::ERROR, answer) }
}

/// Writes a text to where the other side of the interface wants its answer. Hosts use it too.
///
/// # Safety
/// `answer` must be a place to write to.
pub unsafe fn give_answer(text: String, status: i32, answer: *mut Answer) -> i32 {
    let text = Box::new(text);
    let shown = Text::of(&text);
    let owner = Box::into_raw(text).cast();
    // SAFETY: as promised.
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
    // SAFETY: as promised; what is not UTF-8 after all is taken as nothing.
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr, text.len) };
    std::str::from_utf8(bytes).unwrap_or_default()
}

// === impl Line ===

impl HostLine {
    fn host(&self) -> &Host {
        // SAFETY: the host outlives the instance, and the instance this call.
        unsafe { &*self.host }
    }

    pub(crate) fn log(&self, level: usize, logger: &str, data: &str) {
        let level = i32::try_from(level).unwrap_or_default();
        // SAFETY: the call is under way; the texts live until the function returns.
        unsafe { (self.host().log)(self.call, level, Text::of(logger), Text::of(data)) }
    }

    pub(crate) fn progress(&self, progress: f64, total: f64, message: &str) {
        // SAFETY: as above.
        unsafe { (self.host().progress)(self.call, progress, total, Text::of(message)) }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        // SAFETY: the call is under way.
        unsafe { (self.host().cancelled)(self.call) != 0 }
    }

    pub(crate) fn notify(&self, method: &str, params: &str) {
        // SAFETY: as above.
        unsafe { (self.host().notify)(self.call, Text::of(method), Text::of(params)) }
    }

    pub(crate) fn announce(&self, method: &str, params: &str) {
        // SAFETY: a notification need not belong to a call.
        unsafe { (self.host().notify)(ptr::null(), Text::of(method), Text::of(params)) }
    }

    pub(crate) fn elicit(&self, params: &str) -> Result<String> {
        let ask = |answer: *mut Answer| {
            // SAFETY: the call is under way, and there is a place for the answer.
            unsafe { (self.host().elicit)(self.call, Text::of(params), answer) }
        };
        self.asked(ask)
    }

    pub(crate) fn request(&self, method: &str, params: &str) -> Result<String> {
        let ask = |answer: *mut Answer| {
            // SAFETY: as above.
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

/// The client's error, as ours.
pub(crate) fn refused(error: &Value) -> Failure {
    Failure::Rpc {
        code: error["code"].as_i64().unwrap_or(-32603),
        message: error["message"].as_str().unwrap_or("the client did not answer").to_owned(),
        data: error.get("data").cloned(),
    }
}
