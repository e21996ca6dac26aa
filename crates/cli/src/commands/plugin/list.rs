//! `switchboard plugin list`: the plugins of the configured folders, or the built-in ones.
//!
//! Used by `commands::plugin`.

use serde_json::json;
use switchboard_plugin::{PluginInfo, PluginServer};
use switchboard_wire::sanitize;

use super::{name_of, notices, options, problem_to_json, sources};
use crate::args::Folders;
use crate::printer::{DIM, Printer};
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) async fn run(
    folders: &Folders,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let sources = sources(folders, caller)?;
    let options = options(name_of(&sources), caller)?;
    let plugins = PluginServer::start(options, sources).await;
    let shown = plugins.list();
    if printer.is_json() {
        return printer.json(&json!({
            "plugins": shown.iter().map(as_json).collect::<Vec<_>>(),
            "problems": plugins.problems().iter().map(problem_to_json).collect::<Vec<_>>(),
        }));
    }
    let width = shown.iter().map(|plugin| plugin.name.chars().count()).max().unwrap_or_default();
    for plugin in &shown {
        let place = match &plugin.file {
            Some(file) => printer.places.path(file),
            None => "part of this program".to_owned(),
        };
        let name = &plugin.name;
        printer.line(format_args!("{name:width$}  {}  {DIM}{place}{DIM:#}", offer_summary(plugin)));
    }
    printer.notices(&notices(&plugins.problems()));
    Ok(())
}

fn as_json(plugin: &PluginInfo) -> serde_json::Value {
    let mut shown = json!({ "name": plugin.name, "file": plugin.file });
    if let Some(offer) = &plugin.offer {
        let [tools, prompts, resources, templates] = offer.counts();
        shown["version"] = json!(offer.version);
        shown["abi"] = json!(offer.abi);
        shown["tools"] = json!(tools);
        shown["prompts"] = json!(prompts);
        shown["resources"] = json!(resources);
        shown["resourceTemplates"] = json!(templates);
    }
    shown
}

pub(super) fn offer_summary(plugin: &PluginInfo) -> String {
    let Some(offer) = &plugin.offer else { return "cannot be loaded".to_owned() };
    let words = ["tool", "prompt", "resource", "template"];
    let counts = offer.counts().into_iter().zip(words).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
        .collect();
    format!("{}  {}", sanitize::sanitize_line(&offer.version), counts.join(", "))
}
