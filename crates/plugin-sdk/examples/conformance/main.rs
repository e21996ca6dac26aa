//! The plugin for the official conformance suite: every feature of a plugin, once.
//!
//! `cargo build -p switchboard-plugin-sdk --example conformance` makes a file that `switchboard plugin serve`
//! loads; `cargo xtask conformance --side plugin` runs the suite against it.

mod asking;
mod content;
mod lists;
mod skills;
mod tasks;

use serde_json::json;
use switchboard_plugin_sdk::{Plugin, export, plugin};

fn make(plugin: Plugin) -> Plugin {
    let plugin = plugin.extension("io.modelcontextprotocol/tasks", json!({}));
    let kinds =
        [content::items(), asking::items(), tasks::items(), lists::items(), skills::items()];
    kinds.into_iter().flatten().fold(skills::with_skills(plugin), Plugin::with)
}

plugin! { name: "conformance", version: "1.0.0", make: make }
export!();
