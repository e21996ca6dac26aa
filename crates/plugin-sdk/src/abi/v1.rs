//! Interface version 1: one kind of item for each plugin, NUL-terminated strings, one call at a time.
//!
//! Used by the host's worker. A plugin exports `CreatePlugin` and `DestroyPlugin`. All of its texts but the
//! results are static in it.

use std::ffi::{c_char, c_int};

/// The symbol that creates a plugin: [`Create`].
pub const CREATE: &[u8] = b"CreatePlugin\0";
/// The symbol that destroys a plugin: [`Destroy`].
pub const DESTROY: &[u8] = b"DestroyPlugin\0";

/// `PluginAPI* CreatePlugin()`
pub type Create = unsafe extern "C-unwind" fn() -> *mut PluginApi;
/// `void DestroyPlugin(PluginAPI*)`
pub type Destroy = unsafe extern "C-unwind" fn(*mut PluginApi);

/// The kind of items of a plugin, as `GetType` returns it. A plugin may return any number, so this is no
/// enum.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginType(pub c_int);

/// A tool.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PluginTool {
    /// The tool's name.
    pub name: *const c_char,
    /// The tool's description.
    pub description: *const c_char,
    /// The schema of the tool's arguments, as JSON.
    pub input_schema: *const c_char,
}

/// A prompt.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PluginPrompt {
    /// The prompt's name.
    pub name: *const c_char,
    /// The prompt's description.
    pub description: *const c_char,
    /// The list of the prompt's arguments, as JSON.
    pub arguments: *const c_char,
}

/// A resource.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PluginResource {
    /// The resource's name.
    pub name: *const c_char,
    /// The resource's description.
    pub description: *const c_char,
    /// The resource's URI.
    pub uri: *const c_char,
    /// The resource's media type.
    pub mime: *const c_char,
}

/// The host's functions for a plugin.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NotificationSystem {
    /// Takes the plugin's name and a complete notification, from any thread.
    pub send_to_client: Option<unsafe extern "C-unwind" fn(*const c_char, *const c_char)>,
}

/// The function table that `CreatePlugin` returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[expect(
    missing_docs,
    reason = "the names are those of the functions; the header says what each does"
)]
pub struct PluginApi {
    pub get_name: Option<unsafe extern "C-unwind" fn() -> *const c_char>,
    pub get_version: Option<unsafe extern "C-unwind" fn() -> *const c_char>,
    pub get_type: Option<unsafe extern "C-unwind" fn() -> PluginType>,
    /// Nonzero means success.
    pub initialize: Option<unsafe extern "C-unwind" fn() -> c_int>,
    /// The result is allocated with `new char[]` and freed by the host; NULL means failure.
    pub handle_request: Option<unsafe extern "C-unwind" fn(*const c_char) -> *mut c_char>,
    pub shutdown: Option<unsafe extern "C-unwind" fn()>,
    pub get_tool_count: Option<unsafe extern "C-unwind" fn() -> c_int>,
    pub get_tool: Option<unsafe extern "C-unwind" fn(c_int) -> *const PluginTool>,
    pub get_prompt_count: Option<unsafe extern "C-unwind" fn() -> c_int>,
    pub get_prompt: Option<unsafe extern "C-unwind" fn(c_int) -> *const PluginPrompt>,
    pub get_resource_count: Option<unsafe extern "C-unwind" fn() -> c_int>,
    pub get_resource: Option<unsafe extern "C-unwind" fn(c_int) -> *const PluginResource>,
    /// Set by the host before `initialize`.
    pub notifications: *mut NotificationSystem,
}

// === impl PluginType ===

impl PluginType {
    /// Tools.
    pub const TOOLS: Self = Self(0);
    /// Prompts.
    pub const PROMPTS: Self = Self(1);
    /// Resources.
    pub const RESOURCES: Self = Self(2);
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn everything_lies_where_compiled_plugins_expect_it() {
        let sizes = [
            (size_of::<PluginType>(), 4),
            (size_of::<PluginTool>(), 24),
            (size_of::<PluginPrompt>(), 24),
            (size_of::<PluginResource>(), 32),
            (size_of::<NotificationSystem>(), 8),
            (size_of::<PluginApi>(), 104),
        ];
        let offsets = [
            (offset_of!(PluginTool, input_schema), 16),
            (offset_of!(PluginPrompt, arguments), 16),
            (offset_of!(PluginResource, uri), 16),
            (offset_of!(PluginResource, mime), 24),
            (offset_of!(PluginApi, get_name), 0),
            (offset_of!(PluginApi, get_version), 8),
            (offset_of!(PluginApi, get_type), 16),
            (offset_of!(PluginApi, initialize), 24),
            (offset_of!(PluginApi, handle_request), 32),
            (offset_of!(PluginApi, shutdown), 40),
            (offset_of!(PluginApi, get_tool_count), 48),
            (offset_of!(PluginApi, get_tool), 56),
            (offset_of!(PluginApi, get_prompt_count), 64),
            (offset_of!(PluginApi, get_prompt), 72),
            (offset_of!(PluginApi, get_resource_count), 80),
            (offset_of!(PluginApi, get_resource), 88),
            (offset_of!(PluginApi, notifications), 96),
        ];
        for (number, (found, expected)) in sizes.into_iter().chain(offsets).enumerate() {
            assert_eq!(found, expected, "row {number}");
        }
    }
}
