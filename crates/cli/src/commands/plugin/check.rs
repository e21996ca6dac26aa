//! `switchboard plugin check`: loads one plugin and lists its items as a client will see them.
//!
//! Used by `commands::plugin`. It does not call the plugin's functions.

use std::path::Path;

use serde_json::{Value, json};
use switchboard_config::PLUGINS_SERVER;
use switchboard_plugin::{PluginOffer, PluginServer, PluginSources};
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::options;
use crate::printer::{BOLD, DIM, GREEN, Printer};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

/// The kinds of items: heading, list member, and the member that names an item.
const KINDS: [(&str, &str, &str); 4] = [
    ("tools", "tools", "name"),
    ("prompts", "prompts", "name"),
    ("resources", "resources", "uri"),
    ("templates", "resourceTemplates", "uriTemplate"),
];

pub(super) async fn run(file: &Path, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let path = caller.surroundings.cwd.join(file);
    if !path.is_file() {
        let message = format!("there is no file `{}`", file.display());
        return Err(Failure::usage(message, "give the shared object that was built"));
    }
    let sources = PluginSources { builtins: &[], folders: vec![path] };
    let plugins = PluginServer::start(options(PLUGINS_SERVER, caller)?, sources).await;
    let problems = plugins.problems();
    let offer = plugins.list().into_iter().find_map(|plugin| plugin.offer);
    if printer.is_json() {
        let told: Vec<&String> = problems.iter().map(|problem| &problem.what).collect();
        let mut shown = offer.as_deref().map_or_else(|| json!({}), as_json);
        shown["problems"] = json!(told);
        printer.json(&shown)?;
    } else if let Some(offer) = &offer {
        show(offer, printer);
    }
    if problems.is_empty() {
        printer.done(format_args!("\n{GREEN}✔{GREEN:#} nothing is wrong"));
        return Ok(());
    }
    let causes = problems.into_iter().map(|problem| problem.what);
    let message = format!("something is wrong with `{}`", file.display());
    Err(Failure::plain(FailureKind::Failed, message).with_causes(causes))
}

fn as_json(offer: &PluginOffer) -> Value {
    let mut shown = json!({
        "name": offer.name, "version": offer.version, "abi": offer.abi,
        "threadSafe": offer.thread_safe,
    });
    for ((_, key, _), items) in KINDS.into_iter().zip(offer.to_raw_items()) {
        let items: Vec<Value> = items.iter().filter_map(|item| item.decode().ok()).collect();
        shown[key] = json!(items);
    }
    shown
}

fn show(offer: &PluginOffer, printer: &Printer) {
    let at_once =
        if offer.thread_safe { "calls run at the same time" } else { "one call at a time" };
    let name = sanitize::sanitize_line(&offer.name);
    let version = sanitize::sanitize_line(&offer.version);
    printer.line(format_args!(
        "{BOLD}{name}{BOLD:#} {version} {DIM}(interface version {}, {at_once}){DIM:#}",
        offer.abi
    ));
    for ((title, _, key), items) in KINDS.into_iter().zip(offer.to_raw_items()) {
        if items.is_empty() {
            continue;
        }
        printer.line(format_args!("\n{title}"));
        for item in &items {
            let member = |key: &str| text(item, key);
            let (name, description) = (member(key), member("description"));
            printer.line(format_args!("  {name}  {DIM}{description}{DIM:#}"));
            if let Ok(Some(schema)) = item.get("inputSchema") {
                printer.line(format_args!(
                    "    {DIM}{}{DIM:#}",
                    sanitize::sanitize_line(schema.as_str())
                ));
            }
        }
    }
}

fn text(item: &Raw, key: &str) -> String {
    let text = item.get(key).ok().flatten().and_then(|value| value.to_text()).unwrap_or_default();
    sanitize::sanitize_line(text.lines().next().unwrap_or_default()).into_owned()
}
