//! A loaded shared object, and the interface version that it exports.
//!
//! Used by `worker`. It does not call the plugin (`worker::v1`, `worker::v2`).

#![allow(unsafe_code, reason = "foreign code is loaded")]

use std::{ffi::c_void, path::Path};

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use switchboard_plugin_sdk::abi::{v1, v2};

use crate::messages::WorkerFailed;

/// A shared object. It stays loaded until the process exits.
pub(super) struct PluginLibrary(Loaded);

/// The exported interface version, with its entry points.
pub(super) enum AbiVersion {
    One(V1Symbols),
    Two(v2::Entry),
}

/// The symbols of interface version 1.
pub(super) struct V1Symbols {
    pub(super) create: v1::Create,
    pub(super) destroy: v1::Destroy,
    pub(super) free: FreeResult,
}

/// The function that frees a result: the plugin's own `operator delete[]`, else `free`.
pub(super) type FreeResult = unsafe extern "C-unwind" fn(*mut c_void);

/// The mangled name of `operator delete[](void*)`.
const DELETE_ARRAY: &[u8] = b"_ZdaPv\0";
const FREE: &[u8] = b"free\0";

// === impl PluginLibrary ===

impl PluginLibrary {
    pub(super) fn open(path: &Path) -> Result<Self, WorkerFailed> {
        // SAFETY: the initialisers run and may do anything, which is why this process serves no one else.
        let loaded = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        loaded.map(Self).map_err(|error| WorkerFailed::new("load", loader_error_text(&error, path)))
    }

    pub(super) fn version(self) -> Result<AbiVersion, WorkerFailed> {
        // SAFETY: the types are those that the headers give these names.
        let version = unsafe {
            match (self.symbol(v2::ENTRY), self.symbol(v1::CREATE), self.symbol(v1::DESTROY)) {
                (Some(entry), ..) => AbiVersion::Two(entry),
                (None, Some(create), Some(destroy)) => {
                    let free = self.symbol(DELETE_ARRAY).or_else(|| self.symbol(FREE));
                    let free = free.ok_or_else(|| missing_symbol("free"))?;
                    AbiVersion::One(V1Symbols { create, destroy, free })
                }
                (None, None, _) => {
                    return Err(missing_symbol("switchboard_plugin_v2` nor `CreatePlugin"));
                }
                (None, Some(_), None) => return Err(missing_symbol("DestroyPlugin")),
            }
        };
        std::mem::forget(self.0);
        Ok(version)
    }

    /// # Safety
    /// `T` must be a function pointer of the symbol's type.
    unsafe fn symbol<T: Copy>(&self, name: &[u8]) -> Option<T> {
        // SAFETY: the caller promises the symbol's type.
        unsafe { self.0.get::<T>(name) }.ok().map(|symbol| *symbol)
    }
}

/// The loader's message without the name of the private copy, which no user knows.
fn loader_error_text(error: &libloading::Error, path: &Path) -> String {
    let said =
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    said.replace(&format!("{}: ", path.display()), "")
}

fn missing_symbol(what: &str) -> WorkerFailed {
    WorkerFailed::new("load", format!("it does not export `{what}`"))
}
