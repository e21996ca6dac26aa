//! A plugin of interface version 1.
//!
//! Used by `worker`. Calls into it are serialised by a pool of one thread. Its notifications name no call, so
//! they belong to the running call, whichever thread sends them.

#![allow(unsafe_code, reason = "the interface is made of pointers")]

use std::{
    ffi::{CStr, CString, c_char, c_int},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use switchboard_plugin_sdk::abi::v1::{NotificationSystem, PluginApi, PluginType};
use switchboard_wire::{
    envelope::{MessageOrBatch, Request, RpcError, RpcMessage, code, parse},
    json::{JsonEdit, JsonKind, Raw, quote},
    meta,
};

use super::{
    LoadedPlugin,
    channel::{HostCall, HostChannel},
    library::V1Symbols,
};
use crate::messages::{WorkerFailed, WorkerReady};

/// More items than any plugin has; a larger count is garbage.
const MAX_ITEMS: c_int = 10_000;

/// The channel for notifications, in a static because the interface passes no context.
static CHANNEL: OnceLock<Arc<HostChannel>> = OnceLock::new();
/// The id of the running call; 0 for none.
static RUNNING_CALL: AtomicU64 = AtomicU64::new(0);

/// The loaded plugin.
pub(super) struct V1Plugin {
    symbols: V1Symbols,
    api: *mut PluginApi,
}

// SAFETY: the interface is bound to no thread, and the pool of one thread serialises calls.
unsafe impl Send for V1Plugin {}
// SAFETY: as above.
unsafe impl Sync for V1Plugin {}

// === impl V1Plugin ===

impl V1Plugin {
    pub(super) fn new(
        symbols: V1Symbols,
        channel: &Arc<HostChannel>,
    ) -> Result<Self, WorkerFailed> {
        // SAFETY: the symbol is of this type.
        let api = unsafe { (symbols.create)() };
        if api.is_null() {
            return Err(WorkerFailed::new("create", "`CreatePlugin` returned NULL"));
        }
        let plugin = Self { symbols, api };
        let initialize = required("Initialize", plugin.api().initialize)?;
        required("GetName", plugin.api().get_name)?;
        required("GetVersion", plugin.api().get_version)?;
        required("GetType", plugin.api().get_type)?;
        required("HandleRequest", plugin.api().handle_request)?;
        required("Shutdown", plugin.api().shutdown)?;
        let _ = CHANNEL.set(channel.clone());
        let notifications = Box::new(NotificationSystem { send_to_client: Some(send_to_client) });
        // SAFETY: the plugin's table is writable, and the pointer written lives as long as the process.
        unsafe { (*api).notifications = Box::into_raw(notifications) };
        // SAFETY: a function of the plugin, of this type.
        match unsafe { initialize() } {
            0 => Err(WorkerFailed::new("initialize", "`Initialize` failed")),
            _ => Ok(plugin),
        }
    }

    fn api(&self) -> &PluginApi {
        // SAFETY: the plugin's table lives until `DestroyPlugin`.
        unsafe { &*self.api }
    }

    fn items(&self) -> Result<Value, WorkerFailed> {
        let api = self.api();
        let kind = required("GetType", api.get_type)?;
        // SAFETY: a function of the plugin, of this type.
        let kind = unsafe { kind() };
        // SAFETY: items are static in the plugin; so are their texts.
        unsafe {
            match kind {
                PluginType::TOOLS => {
                    let tools =
                        list_items(("GetTool", api.get_tool_count, api.get_tool), |tool| {
                            let schema = json_or_text(tool.input_schema);
                            let mut shown = describe_item(tool.name, tool.description)?;
                            shown["inputSchema"] = schema;
                            Ok(shown)
                        })?;
                    Ok(json!({ "tools": tools }))
                }
                PluginType::PROMPTS => {
                    let prompts = list_items(
                        ("GetPrompt", api.get_prompt_count, api.get_prompt),
                        |prompt| {
                            let mut shown = describe_item(prompt.name, prompt.description)?;
                            if !prompt.arguments.is_null() {
                                shown["arguments"] = json_or_text(prompt.arguments);
                            }
                            Ok(shown)
                        },
                    )?;
                    Ok(json!({ "prompts": prompts }))
                }
                PluginType::RESOURCES => {
                    let all = ("GetResource", api.get_resource_count, api.get_resource);
                    let resources = list_items(all, |resource| {
                        let mut shown = describe_item(resource.name, resource.description)?;
                        shown["uri"] = json!(text_from_ptr(resource.uri).unwrap_or_default());
                        if let Some(mime) = text_from_ptr(resource.mime) {
                            shown["mimeType"] = json!(mime);
                        }
                        Ok(shown)
                    })?;
                    Ok(json!({ "resources": resources }))
                }
                PluginType(other) => Err(WorkerFailed::new(
                    "list",
                    format!("`GetType` returned {other}, which is no kind"),
                )),
            }
        }
    }

    fn handle(&self, request: &str) -> Result<Raw, RpcError> {
        let wrong = |text: &str| RpcError::new(code::INTERNAL_ERROR, format!("the plugin {text}"));
        let Some(handle) = self.api().handle_request else {
            return Err(wrong("has no `HandleRequest`"));
        };
        // JSON escapes NUL, so the text contains none.
        let request = CString::new(request).map_err(|_| wrong("was sent a NUL"))?;
        // SAFETY: the request lives during the call; the result is freed with the plugin's own allocator.
        let result = unsafe {
            let result = handle(request.as_ptr());
            if result.is_null() {
                return Err(wrong("failed: it returned NULL"));
            }
            let copy = CStr::from_ptr(result).to_bytes().to_vec();
            (self.symbols.free)(result.cast());
            copy
        };
        let result = String::from_utf8(result).map_err(|_| wrong("returned what is not UTF-8"))?;
        let result = Raw::parse(result).map_err(|_| wrong("returned what is not JSON"))?;
        match result.kind() {
            JsonKind::Object => Ok(result),
            _ => Err(wrong("returned what is not an object")),
        }
    }
}

impl LoadedPlugin for V1Plugin {
    fn ready(&self) -> Result<WorkerReady, WorkerFailed> {
        let api = self.api();
        // SAFETY: functions of the plugin, of these types; their texts are static in it.
        let (name, version) = unsafe {
            (
                text_from_ptr(required("GetName", api.get_name)?()),
                text_from_ptr(required("GetVersion", api.get_version)?()),
            )
        };
        let name = name.filter(|name| !name.is_empty());
        Ok(WorkerReady {
            abi: 1,
            name: name.ok_or_else(|| WorkerFailed::new("list", "`GetName` returned no name"))?,
            version: version.unwrap_or_default(),
            thread_safe: false,
            described: self.items()?.to_string(),
        })
    }

    fn answer(&self, call: &HostCall, request: &Request) -> Option<Result<Raw, RpcError>> {
        if call.is_cancelled() {
            return None;
        }
        RUNNING_CALL.store(call.id, Ordering::SeqCst);
        let answer = self.handle(&with_text_token(request));
        RUNNING_CALL.store(0, Ordering::SeqCst);
        Some(answer)
    }

    fn subscribe(&self, _uri: &str, _on: bool) {
        // Version 1 has no subscriptions; all of its updates are passed on.
    }

    fn end(&self) {
        // SAFETY: the plugin is not used after this.
        unsafe {
            if let Some(shutdown) = self.api().shutdown {
                shutdown();
            }
            (self.symbols.destroy)(self.api);
        }
    }
}

/// Makes the progress token a string, as version 1 plugins expect. The host restores the client's token.
fn with_text_token(request: &Request) -> String {
    let path = ["_meta", meta::PROGRESS_TOKEN];
    let token = request.params().and_then(|params| params.get_path(&path).ok().flatten());
    let token = token.filter(|token| token.kind() != JsonKind::String);
    let edited = token.and_then(|token| {
        let token = quote(token.as_str());
        request.rewrite(&request.id(), &[JsonEdit::set(&path, &token)]).ok()
    });
    edited.map_or_else(|| request.text().to_string(), |text| text.to_string())
}

fn required<T>(name: &str, function: Option<T>) -> Result<T, WorkerFailed> {
    function.ok_or_else(|| WorkerFailed::new("create", format!("`{name}` is NULL")))
}

type ItemFunctions<T> = (
    &'static str,
    Option<unsafe extern "C-unwind" fn() -> c_int>,
    Option<unsafe extern "C-unwind" fn(c_int) -> *const T>,
);

/// # Safety
/// The functions must be the plugin's own, and the items they return static in it.
unsafe fn list_items<T>(
    (name, count, get): ItemFunctions<T>,
    show: impl Fn(&T) -> Result<Value, WorkerFailed>,
) -> Result<Vec<Value>, WorkerFailed> {
    let count = required(&format!("{name}Count"), count)?;
    let get = required(name, get)?;
    // SAFETY: the caller promises the plugin's own functions.
    let count = unsafe { count() };
    if !(0..=MAX_ITEMS).contains(&count) {
        return Err(WorkerFailed::new("list", format!("`{name}Count` returned {count}")));
    }
    let item = |index| {
        // SAFETY: the caller promises the plugin's own functions.
        let item = unsafe { get(index).as_ref() };
        item.ok_or_else(|| WorkerFailed::new("list", format!("`{name}({index})` returned NULL")))
    };
    (0..count).map(|index| show(item(index)?)).collect()
}

/// # Safety
/// The texts must end with a NUL, or be NULL.
unsafe fn describe_item(
    name: *const c_char,
    description: *const c_char,
) -> Result<Value, WorkerFailed> {
    // SAFETY: the caller promises NUL-terminated texts.
    let (name, description) = unsafe { (text_from_ptr(name), text_from_ptr(description)) };
    let name = name.ok_or_else(|| WorkerFailed::new("list", "an item has no name"))?;
    let mut shown = json!({ "name": name });
    if let Some(description) = description {
        shown["description"] = json!(description);
    }
    Ok(shown)
}

/// # Safety
/// The text must end with a NUL, or be NULL.
unsafe fn text_from_ptr(text: *const c_char) -> Option<String> {
    // SAFETY: the caller promises a NUL-terminated text.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    text.map(|text| text.to_string_lossy().into_owned())
}

/// Parses JSON. Other text stays a string, which the host refuses where it is not allowed.
///
/// # Safety
/// The text must end with a NUL, or be NULL.
unsafe fn json_or_text(json: *const c_char) -> Value {
    // SAFETY: the caller promises a NUL-terminated text.
    let json = unsafe { text_from_ptr(json) }.unwrap_or_default();
    serde_json::from_str(&json).unwrap_or(Value::String(json))
}

/// The callback through which a plugin sends a notification to the client.
unsafe extern "C-unwind" fn send_to_client(_plugin: *const c_char, notification: *const c_char) {
    // SAFETY: a text of the plugin that ends with a NUL.
    let Some(notification) = (unsafe { text_from_ptr(notification) }) else { return };
    // A text that is no notification is dropped.
    if let Some(channel) = CHANNEL.get()
        && let Ok(MessageOrBatch::One(RpcMessage::Notification(note))) = parse(notification.into())
    {
        let params = note.params().unwrap_or_else(Raw::empty_object);
        channel.note(RUNNING_CALL.load(Ordering::SeqCst), &note.method(), &params);
    }
}
