//! `switchboard plugin`: creates, checks, lists and serves native plugins.
//!
//! Used by `commands::run`. The plugin host is in the crate `plugin`, its options in `crate::plugins`.

mod check;
mod list;
mod new;
mod sdk;
mod serve;

use std::path::PathBuf;

use serde_json::{Value, json};
use switchboard_config::{BUILTIN_SERVER, Entry, PLUGINS_SERVER, Transport, command_line};
use switchboard_plugin::{PluginHostOptions, PluginProblem, PluginSources};

use super::admission;
use crate::args::{Folders, Plugin};
use crate::notice::Notice;
use crate::plugins;
use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;

pub(crate) async fn run(
    plugin: &Plugin,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    match plugin {
        Plugin::New(new) => new::run(new, caller, printer),
        Plugin::List(folders) => list::run(folders, caller, printer).await,
        Plugin::Serve(serve) => serve::run(serve, caller, printer).await,
        Plugin::Check { file } => check::run(file, caller, printer).await,
    }
}

/// The options of the plugin host, if policy lets plugins run. Plugins from folders and files go by the policy name of
/// the user's plugins, built-in ones by theirs.
fn options(name: &str, caller: &Caller) -> Result<PluginHostOptions, Failure> {
    let desired = caller.workspace.desired();
    let admitted = admission::admit(&desired, name, Entry::new(Transport::Sdk))?;
    plugins::host_options(&admitted, &desired.settings.plugins, &caller.surroundings)
}

/// The name of these plugins in policy rules and switches.
fn name_of(sources: &PluginSources) -> &'static str {
    if sources.folders.is_empty() { BUILTIN_SERVER } else { PLUGINS_SERVER }
}

/// The plugins to use: those of the given or configured folders, else the built-in ones.
fn sources(folders: &Folders, caller: &Caller) -> Result<PluginSources, Failure> {
    let cwd = &caller.surroundings.cwd;
    // Joining the components again removes `.` and repeated slashes.
    let whole = |folder: &PathBuf| cwd.join(folder).components().collect();
    let named: Vec<PathBuf> = folders.plugins.iter().map(whole).collect();
    if let Some(missing) = named.iter().find(|folder| !folder.exists()) {
        let message = format!("`--plugins` names nothing: {}", missing.display());
        return Err(Failure::usage(message, "give a folder or a file that exists"));
    }
    let folders = if named.is_empty() {
        plugins::folders(&caller.workspace.desired(), &caller.surroundings)
    } else {
        named
    };
    let builtins = if folders.is_empty() { plugins::BUILTINS } else { &[] };
    Ok(PluginSources { builtins, folders })
}

/// Problems of plugins, as notices.
fn notices(problems: &[PluginProblem]) -> Vec<Notice> {
    problems.iter().map(notice).collect()
}

/// A problem of a plugin, as JSON.
fn problem_to_json(problem: &PluginProblem) -> Value {
    json!({ "plugin": problem.plugin, "file": problem.file, "message": problem.what })
}

fn notice(problem: &PluginProblem) -> Notice {
    let notice = Notice::warning(format!("plugin `{}`: {}", problem.plugin, problem.what));
    match &problem.file {
        Some(file) => {
            let check = command_line("plugin check", [file.to_string_lossy()]);
            notice.with_hint(format!("check it with `{check}`"))
        }
        None => notice,
    }
}
