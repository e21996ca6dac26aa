//! The plugin host: native tools that cannot take the hub down.
//!
//! Used by `cli` for the hub and for `switchboard plugin`. [`PluginServer`] finds shared objects in folders,
//! runs each in a worker process of our own binary ([`worker`]), and shows all plugins together as one MCP
//! server: a [`switchboard_wire::server::ServerHandler`] that the hub links to itself, and that
//! `switchboard plugin serve` serves alone.
//!
//! A plugin can harm only its own calls: after a crash, a hang, an exception or garbage they get an error, a
//! [`PluginProblem`] shows the cause, and a new worker is started. A changed file is loaded beside the
//! version that serves, and replaces it only once its plugin is ready.
//!
//! The crate does not load foreign code into the process that uses it, and does not decide who may call what.

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
