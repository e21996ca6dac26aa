//! Interface version 2: several kinds of items in one plugin, strings with a length, an instance, a context
//! for each call.
//!
//! Used by `export` and by the host's worker. A plugin exports [`ENTRY`], which returns a static [`Plugin`].
//! Payloads are JSON texts, so all present and future features of an item pass: annotations, output schemas,
//! templates, binary content. The side that allocated a text frees it.

use std::ffi::c_void;

/// The exported symbol: [`Entry`].
pub const ENTRY: &[u8] = b"switchboard_plugin_v2\0";
/// The first eight bytes of both tables.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SWBPLUG2");
/// The version both tables carry.
pub const ABI: u32 = 2;

/// `const sb_plugin *switchboard_plugin_v2(void)`
pub type Entry = unsafe extern "C-unwind" fn() -> *const Plugin;

/// Calls may run concurrently, on any thread.
pub const THREAD_SAFE: u64 = 1;

/// Success: the text is the result, a JSON object.
pub const OK: i32 = 0;
/// Failure: the text is a JSON-RPC error object.
pub const ERROR: i32 = 1;
/// The call was cancelled; there is no text.
pub const CANCELLED: i32 = 2;

/// A method of `request` that asks several questions at once: parameters and answer are objects with equal
/// keys, of `{"method", "params"}` and of `{"result"}` or `{"error"}`.
pub const QUESTIONS: &str = "switchboard/questions";

/// A method of `request` that turns the call into a task: the client gets a handle and polls it, and the
/// function continues. Returns an error if the client does not support tasks. The plugin declares the
/// extension `io.modelcontextprotocol/tasks`.
pub const TASK: &str = "switchboard/task";

/// A borrowed UTF-8 text. NULL for none.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// The first byte.
    pub ptr: *const u8,
    /// The length in bytes.
    pub len: usize,
}

/// A text that the allocating side frees: through [`Plugin::release`] or [`Host::release`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The text.
    pub text: Text,
    /// A pointer for the allocating side.
    pub owner: *mut c_void,
}

/// A running call. Opaque, and valid until `handle` returns.
#[repr(C)]
#[derive(Debug)]
pub struct Call {
    opaque: [u8; 0],
}

/// The host's function table. Any function may be called from any thread while the call runs.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`ABI`].
    pub abi: u32,
    /// The size of this table, so that later hosts may append to it.
    pub size: u32,
    /// Sends a log message: level 0 (debug) to 7 (emergency), logger, data as JSON.
    pub log: unsafe extern "C-unwind" fn(*const Call, i32, Text, Text),
    /// Reports progress: progress, total (negative if unknown), message.
    pub progress: unsafe extern "C-unwind" fn(*const Call, f64, f64, Text),
    /// Nonzero after the call was cancelled.
    pub cancelled: unsafe extern "C-unwind" fn(*const Call) -> i32,
    /// Sends a notification: method, parameters as JSON. Without a call it goes to every client.
    pub notify: unsafe extern "C-unwind" fn(*const Call, Text, Text),
    /// Asks the user: parameters of `elicitation/create`. Waits for the answer.
    pub elicit: unsafe extern "C-unwind" fn(*const Call, Text, *mut Answer) -> i32,
    /// Sends any request that a server may send to a client: method, parameters. Waits for the answer.
    pub request: unsafe extern "C-unwind" fn(*const Call, Text, Text, *mut Answer) -> i32,
    /// Frees an answer of `elicit` or `request`.
    pub release: unsafe extern "C-unwind" fn(*mut Answer),
    /// Returns a table that a later host may offer by name; NULL if the host has none.
    pub get_extension: unsafe extern "C-unwind" fn(Text) -> *const c_void,
}

/// The plugin's function table, static in the plugin.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`ABI`].
    pub abi: u32,
    /// The size of this table, so that later plugins may append to it.
    pub size: u32,
    /// [`THREAD_SAFE`], or 0.
    pub flags: u64,
    /// The plugin's name.
    pub name: Text,
    /// The plugin's version.
    pub version: Text,
    /// Creates an instance: [`OK`], or [`ERROR`] and the cause. The host table outlives the instance.
    pub create:
        Option<unsafe extern "C-unwind" fn(*const Host, *mut *mut c_void, *mut Answer) -> i32>,
    /// Destroys an instance.
    pub destroy: Option<unsafe extern "C-unwind" fn(*mut c_void)>,
    /// Describes the plugin: an object with any of `tools`, `prompts`, `resources`, `resourceTemplates`
    /// (lists as in MCP), `methods` (names of further methods that it handles), `completions` (bool),
    /// `instructions`.
    pub describe: Option<unsafe extern "C-unwind" fn(*mut c_void, *mut Answer) -> i32>,
    /// Answers a request: method, parameters as JSON.
    pub handle: Option<
        unsafe extern "C-unwind" fn(*mut c_void, *const Call, Text, Text, *mut Answer) -> i32,
    >,
    /// Frees an answer of this table's functions.
    pub release: Option<unsafe extern "C-unwind" fn(*mut c_void, *mut Answer)>,
    /// Tells whether a resource has subscribers (1) or no longer has any (0). May be NULL.
    pub subscribe: Option<unsafe extern "C-unwind" fn(*mut c_void, Text, i32)>,
    /// Returns a table that a later plugin may offer by name. May be NULL.
    pub get_extension: Option<unsafe extern "C-unwind" fn(*mut c_void, Text) -> *const c_void>,
}

// === impl Text ===

impl Text {
    /// No text.
    pub const NONE: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// The bytes of `text`, valid as long as `text` lives.
    pub const fn of(text: &str) -> Self {
        Self { ptr: text.as_ptr(), len: text.len() }
    }
}

// === impl Host ===

impl Host {
    /// The size of the table.
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen bytes")]
    pub const SIZE: u32 = size_of::<Self>() as u32;
}

// === impl Plugin ===

impl Plugin {
    /// The size of the table.
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen bytes")]
    pub const SIZE: u32 = size_of::<Self>() as u32;
}

// === impl Answer ===

impl Answer {
    /// No answer yet.
    pub const NONE: Self = Self { text: Text::NONE, owner: std::ptr::null_mut() };
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn everything_lies_where_the_header_says() {
        let rows = [
            (size_of::<Text>(), 16),
            (size_of::<Answer>(), 24),
            (offset_of!(Answer, owner), 16),
            (size_of::<Host>(), 80),
            (offset_of!(Host, abi), 8),
            (offset_of!(Host, size), 12),
            (offset_of!(Host, log), 16),
            (offset_of!(Host, progress), 24),
            (offset_of!(Host, cancelled), 32),
            (offset_of!(Host, notify), 40),
            (offset_of!(Host, elicit), 48),
            (offset_of!(Host, request), 56),
            (offset_of!(Host, release), 64),
            (offset_of!(Host, get_extension), 72),
            (size_of::<Plugin>(), 112),
            (offset_of!(Plugin, flags), 16),
            (offset_of!(Plugin, name), 24),
            (offset_of!(Plugin, version), 40),
            (offset_of!(Plugin, create), 56),
            (offset_of!(Plugin, destroy), 64),
            (offset_of!(Plugin, describe), 72),
            (offset_of!(Plugin, handle), 80),
            (offset_of!(Plugin, release), 88),
            (offset_of!(Plugin, subscribe), 96),
            (offset_of!(Plugin, get_extension), 104),
        ];
        for (number, (found, expected)) in rows.into_iter().enumerate() {
            assert_eq!(found, expected, "row {number}");
        }
    }
}
