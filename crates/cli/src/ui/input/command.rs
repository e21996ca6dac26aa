//! The UI's command line: `/mcp`, `/mcp__server__prompt`, `@server:uri`, and its completion.
//!
//! Used by `input::line` and `app::perform`. It does not run commands.

use switchboard_core::catalog::mention;

use super::words;
use crate::ui::app::{Act, HubModel, ServerAct, View};

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Act(Act),
    /// Actions on servers, shown in the Servers view.
    Servers(Vec<(ServerAct, String)>),
    Prompt {
        name: String,
        arguments: Vec<String>,
    },
    Read {
        server: String,
        uri: String,
    },
}

/// The verbs after `/mcp`.
const VERBS: [&str; 3] = ["enable", "disable", "reconnect"];
/// The commands without arguments.
const PLAIN: [&str; 3] = ["/help", "/mcp", "/quit"];

/// Parses a line, or says why it is not valid.
pub(crate) fn read(line: &str, known: &HubModel) -> Result<Command, String> {
    let line = line.trim();
    if line.starts_with('@') {
        return mentioned(line, known);
    }
    let words = words(line.strip_prefix('/').unwrap_or(line));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["mcp"] => Ok(Command::Act(Act::Turn(View::Servers))),
        ["mcp", "enable"] | ["mcp", "enable", "all"] => Ok(all(ServerAct::Enable, known)),
        ["mcp", "disable"] | ["mcp", "disable", "all"] => Ok(all(ServerAct::Disable, known)),
        ["mcp", "enable", name] => one(ServerAct::Enable, name, known),
        ["mcp", "disable", name] => one(ServerAct::Disable, name, known),
        ["mcp", "reconnect", name] => one(ServerAct::Reconnect, name, known),
        ["mcp", "reconnect"] => Err("which server? `/mcp reconnect NAME`".to_owned()),
        ["mcp", ..] => Err(format!("`/mcp` takes {} and the name of a server", VERBS.join(", "))),
        ["q" | "quit" | "exit"] => Ok(Command::Act(Act::Quit)),
        ["h" | "help"] => Ok(Command::Act(Act::Help)),
        [name, arguments @ ..] if known.prompt(name).is_some() => Ok(Command::Prompt {
            name: (*name).to_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
        }),
        [name, ..] if name.starts_with("mcp__") => Err(format!("there is no prompt `{name}`")),
        _ => match View::ALL.iter().find(|view| view.title().eq_ignore_ascii_case(line)) {
            Some(view) => Ok(Command::Act(Act::Turn(*view))),
            None => Err(format!("unknown command `{line}`; `help` shows all")),
        },
    }
}

fn mentioned(line: &str, known: &HubModel) -> Result<Command, String> {
    let names: Vec<_> = known.servers.iter().map(|server| &*server.name).collect();
    match mention::find_mentions(line, &names).into_iter().next() {
        Some(mention) => Ok(Command::Read { server: mention.server, uri: mention.uri }),
        None => Err("write `@SERVER:URI` with the name of a server".to_owned()),
    }
}

/// The action for every server that is not in that state already.
fn all(act: ServerAct, known: &HubModel) -> Command {
    let is_meant = |state: &str| (state == "disabled") == (act == ServerAct::Enable);
    let meant = known.servers.iter().filter(|server| is_meant(&server.state));
    Command::Servers(meant.map(|server| (act, server.name.clone())).collect())
}

fn one(act: ServerAct, name: &str, known: &HubModel) -> Result<Command, String> {
    match known.server(name) {
        Some(server) => Ok(Command::Servers(vec![(act, server.name.clone())])),
        None => Err(format!("there is no server `{name}`")),
    }
}

/// All completions of the text before the cursor, as whole lines.
pub(crate) fn complete(line: &str, known: &HubModel) -> Vec<String> {
    let names: Vec<_> = known.servers.iter().map(|server| &*server.name).collect();
    if line.starts_with('@') {
        let uris = |server: &str| {
            let of = known.resources.iter().filter(|item| item.server == server);
            of.map(|item| item.name.clone()).collect::<Vec<_>>()
        };
        let Some(completion) = mention::complete_mention(line, &names, &uris) else {
            return Vec::new();
        };
        let start = &line[..completion.range.start];
        return completion.candidates.iter().map(|rest| format!("{start}{rest}")).collect();
    }
    if !line.starts_with('/') {
        // The slash may be left out.
        let ways = complete(&format!("/{line}"), known).into_iter();
        return ways.filter_map(|way| way.strip_prefix('/').map(str::to_owned)).collect();
    }
    let fitting = |ways: Vec<String>| -> Vec<String> {
        ways.into_iter().filter(|way| way.starts_with(line)).collect()
    };
    let Some(rest) = line.strip_prefix("/mcp ") else {
        let prompts = known.prompts.iter().map(|prompt| format!("/{} ", prompt.name));
        return fitting(PLAIN.iter().map(ToString::to_string).chain(prompts).collect());
    };
    match rest.split_once(' ') {
        None => fitting(VERBS.iter().map(|verb| format!("/mcp {verb} ")).collect()),
        Some((verb, _)) => {
            let all = (verb != "reconnect").then_some("all");
            let names = names.into_iter().chain(all);
            fitting(names.map(|name| format!("/mcp {verb} {}", quoted(name))).collect())
        }
    }
}

/// A name quoted as one word.
fn quoted(name: &str) -> String {
    match words(name).as_slice() {
        [only] if only == name => name.to_owned(),
        _ => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}
