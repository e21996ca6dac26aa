//! The SDK for native plugins of Switchboard.
//!
//! Used by plugin authors (`switchboard plugin new` copies it into each Rust project) and by the built-in
//! plugins.
//!
//! A function with an attribute becomes a tool, a prompt, a resource or a template; its parameters become the schema
//! that clients see, and its documentation the description:
//!
//! ```
//! use switchboard_plugin_sdk::{Context, Result, plugin, tool};
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(
//!     /// The first
//!     a: i64,
//!     /// The second
//!     b: i64,
//!     cx: &Context,
//! ) -> Result<String> {
//!     cx.log("info", "adding");
//!     Ok((a + b).to_string())
//! }
//!
//! plugin! { name: "adding", version: "1.0.0", items: [add] }
//! # fn main() {}
//! ```
//!
//! With `export!()` beside it, and built as a `cdylib`, that is a file that `switchboard plugin serve` loads.
//! Functions run on threads of a worker process, several at a time; a function that fails returns an error,
//! and one that crashes ends only the calls of its own plugin.
//!
//! For C and C++ there is one header for each interface version in `include/`. This crate does not know how a
//! host runs plugins.

pub mod abi;
pub mod content;
mod context;
mod export;
mod failure;
mod item;
mod plugin;
mod return_types;
pub mod uri;

pub use content::{Content, Contents, Json, Message, ToolResult};
pub use context::{Context, UserAnswer};
pub use export::{PluginDefinition, entry};
pub use failure::{Failure, Result};
pub use item::{Arguments, Item, ItemInfo, ToolHints};
pub use plugin::Plugin;
pub use return_types::{IntoContents, IntoMessages, IntoText, IntoToolResult};
pub use switchboard_plugin_macros::{prompt, resource, template, tool};

// The host's half of the interface frees answers in the same way.
#[doc(hidden)]
pub use export::{give_answer, release_answer};
// Code that the attributes generate refers to these crates through this one.
#[doc(hidden)]
pub use {schemars, serde, serde_json};

/// The plugin of this crate: its name, its version, its items.
///
/// Makes `plugin()`, for tests, and `entry()`, the table that a host reads; [`export!`] lets a host find it.
#[macro_export]
macro_rules! plugin {
    (name: $name:expr, version: $version:expr, $(instructions: $instructions:expr,)? items: [$($item:ident),* $(,)?] $(,)?) => {
        /// Everything this plugin offers.
        pub fn plugin() -> $crate::Plugin {
            $crate::Plugin::new($name, $version)$(.instructions($instructions))?$(.with($item::item()))*
        }

        $crate::plugin! { @table $name, $version }
    };
    (name: $name:expr, version: $version:expr, make: $make:expr $(,)?) => {
        /// Everything this plugin offers.
        pub fn plugin() -> $crate::Plugin {
            $make($crate::Plugin::new($name, $version))
        }

        $crate::plugin! { @table $name, $version }
    };
    (@table $name:expr, $version:expr) => {
        #[doc(hidden)]
        pub struct ThisPlugin;

        impl $crate::PluginDefinition for ThisPlugin {
            const NAME: &'static str = $name;
            const VERSION: &'static str = $version;

            fn plugin() -> $crate::Plugin {
                plugin()
            }
        }

        /// The table that a host reads.
        pub fn entry() -> &'static $crate::abi::v2::Plugin {
            $crate::entry::<ThisPlugin>()
        }
    };
}

/// Exports the plugin of this crate, so that built as a `cdylib` it is a file that a host loads.
///
/// One binary can hold many plugins and export one: those that are part of the program are not exported.
#[macro_export]
macro_rules! export {
    () => {
        #[allow(unsafe_code, reason = "a symbol by which the host finds the plugin")]
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn switchboard_plugin_v2() -> *const $crate::abi::v2::Plugin {
            entry()
        }
    };
}
