//! The plugin host: native tools that cannot take the hub down.
//!
//! [`PluginServer`] finds shared objects in folders, runs each in a worker process of our own binary ([`worker`]), and shows
//! all of them together as one MCP server: a [`switchboard_wire::server::ServerHandler`] that the hub links to itself, and
//! that `switchboard plugin serve` serves alone.
//!
//! Whatever a plugin does, it does to its own calls: a crash, a hang, an exception or garbage is an error for them, a
//! [`PluginProblem`] with the cause, and a new worker. A file that changes is loaded beside the version that serves, and takes
//! its place only once it has shown that it is sound.
//!
//! The crate refuses to load foreign code into the process that uses it, and to know who may call what.

mod call;
mod catalog;
mod catalog_task;
mod fault;
mod files;
mod flood;
mod launch;
mod messages;
mod normalize;
mod offer;
mod options;
mod parked;
mod plugins;
mod question;
mod server;
mod slot;
mod subscriptions;
mod tasks;
mod watch;
pub mod worker;
mod worker_process;

pub use fault::{PluginFault, PluginProblem};
pub use files::{find_plugins, plugin_name};
pub use offer::PluginOffer;
pub use options::{PluginHostOptions, PluginRunOptions, PluginTimeouts};
pub use plugins::{PluginInfo, PluginServer, PluginSources};
