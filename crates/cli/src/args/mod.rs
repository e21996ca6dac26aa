//! The command line: global flags, all commands, and their parsing with clap.
//!
//! Used by `main` and by every command for its arguments. Doc comments of the types are the help texts that users see.
//! It does not read the environment or files (`surroundings` does).

mod calls;
mod clustering;
mod guarding;
mod overview;
mod permissions;
mod plugins;
mod probe;
mod secrets;
mod self_management;
mod servers;
mod serving;
mod setup;
mod signing_in;
mod span;
mod ui;
mod xaa;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args as ClapArgs, ColorChoice, FromArgMatches as _, Parser, Subcommand};

pub(crate) use calls::{
    Answer, Call, Complete, Logs, OfServer, Prompt, Questions, Read, Server, Skill, Span, Tools,
};
pub(crate) use clustering::{ClusterAccess, ClusterCommand};
pub(crate) use guarding::{CreateToken, Token};
pub(crate) use permissions::{Explain, Forget, Permissions, TestRules};
pub(crate) use plugins::{Folders, Language, New, Plugin, ServePlugins};
pub(crate) use probe::{Probe, Transport};
pub(crate) use secrets::{Secret, SetSecret};
pub(crate) use self_management::{SelfCommand, SelfUninstall};
pub(crate) use servers::{
    Add, AddJson, Approve, Confirmation, Edit, Get, Import, Install, Kind, List, Reject, Remove,
    ScopeArg, Switch, Uninstall,
};
pub(crate) use serving::{Connect, Hub, ModeArg, Serve};
pub(crate) use setup::SetupArgs;
pub(crate) use signing_in::{Doctor, Examined, Login, Logout};
pub(crate) use ui::{Console, Top, Ui};
pub(crate) use xaa::{Setup, Xaa};

use crate::version::VERSION;

/// One program between every AI client and every MCP server.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version = VERSION, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0 done, 1 failed, 2 wrong usage, 3 sign-in needed, 4 denied, 130 interrupted";

/// Flags that stand before the command or after it, up to a server's own arguments.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Read servers from this file or JSON text, for this run only; may be given several times
    #[arg(long, global = true, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Use only the servers of `--mcp-config`
    #[arg(long, global = true)]
    pub(crate) strict_mcp_config: bool,
    /// Do everything in this process, without the hub
    #[arg(long, global = true)]
    pub(crate) standalone: bool,
    /// The folder of your settings [env: `SWITCHBOARD_CONFIG_DIR`]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
    /// Work in this project instead of the current folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print JSON for machines instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more details
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a server
    ///
    /// All words after a command are passed to the server, with or without `--`. After a URL, flags of `add` may follow.
    #[command(after_help = servers::ADD_EXAMPLES)]
    Add(Box<Add>),
    /// Add a server from the JSON of its entry
    #[command(after_help = servers::ADD_JSON_EXAMPLES)]
    AddJson(AddJson),
    /// Remove a server
    #[command(visible_alias = "rm")]
    Remove(Remove),
    /// Show all servers and their state
    ///
    /// Connects briefly to servers whose tools are not known yet. Other servers are `idle` until a call needs them;
    /// `--check` connects to those too. `list` never signs in and never opens a browser.
    #[command(visible_alias = "ls", after_help = servers::LIST_EXAMPLES)]
    List(List),
    /// Show one server: its entry, its file and its state
    Get(Get),
    /// Change a server's entry in your editor
    ///
    /// The editor is $VISUAL, else $EDITOR, else vi. The entry is checked before it replaces the old one.
    Edit(Edit),
    /// Switch a server on
    Enable(Switch),
    /// Switch a server off without removing it
    Disable(Switch),
    /// Serve all servers over the network, until Ctrl-C
    ///
    /// Clients see one MCP server, in whichever version of the protocol they speak: Streamable HTTP at `/mcp` (and
    /// `/mcp/<server>` for one server, `/mcp/agent/<name>` for what an agent sees), HTTP with server-sent events at
    /// `/sse`, WebSocket at `/ws`. Your own programs on this machine may connect; all other clients need a token.
    #[command(after_help = serving::SERVE_EXAMPLES)]
    Serve(Box<Serve>),
    /// Show the replicas of a cluster
    ///
    /// Several machines are one switchboard: `serve --cluster` on each, behind a balancer.
    #[command(subcommand, disable_help_subcommand = true, after_help = clustering::CLUSTER_EXAMPLES)]
    Cluster(ClusterCommand),
    /// Create, list and revoke tokens for other machines
    ///
    /// Clients on other machines, and programs of other users, need a token.
    #[command(subcommand, disable_help_subcommand = true, after_help = guarding::TOKEN_EXAMPLES)]
    Token(Token),
    /// Store, list and remove secrets
    ///
    /// An entry refers to a secret as ${secret:NAME}. Values are encrypted with a key in your keychain. Without a keychain,
    /// the key is in a file that only you can read.
    #[command(subcommand, disable_help_subcommand = true, after_help = secrets::SECRET_EXAMPLES)]
    Secret(Secret),
    /// Open the terminal UI: servers, tools, questions, calls
    ///
    /// Shows the servers, tools and calls of this project live. Questions that a client cannot show wait here for your
    /// answer. Starts a hub if none is running. `?` shows all keys.
    #[command(after_help = ui::EXAMPLES)]
    Ui(Ui),
    /// Show live rates, latencies and errors by server
    ///
    /// On a terminal, `s` sorts, `t` hides tools and `q` quits. Counts cover the last hour, rates the last ten seconds. With
    /// --once, with --json and in a pipe, `top` prints one table, whose rates cover the last one to two minutes.
    #[command(after_help = ui::TOP_EXAMPLES)]
    Top(Top),
    /// Open the web console in your browser
    ///
    /// Prints and opens a link that works once, within 15 minutes. Starts a hub if none is running.
    #[command(visible_alias = "open")]
    Console(Console),
    /// Show the running hub, its clients and their servers
    Status,
    /// Stop the running hub
    Stop,
    /// Show the questions that are waiting in the hub
    ///
    /// A question goes to the client that made the call. If that client cannot show it, the question waits here while
    /// the console, the terminal UI or `questions --follow` is open, and is cancelled after ten minutes.
    Questions(Questions),
    /// Answer a question that is waiting in the hub
    #[command(after_help = calls::ANSWER_EXAMPLES)]
    Answer(Answer),
    /// Explain and test rules; show or forget answers
    ///
    /// The answers *always in this project*, *always* and *always deny* are remembered, so that you are not asked again.
    /// These commands show and delete them. A change applies from the next call on.
    #[command(subcommand, disable_help_subcommand = true, after_help = permissions::EXAMPLES)]
    Permissions(Permissions),
    /// The hub that `connect` starts
    #[command(hide = true)]
    Hub(Hub),
    /// Serve all servers to one client, on standard streams
    ///
    /// The client sees one MCP server, in whichever version of the protocol it speaks. A background hub runs the servers,
    /// so that all clients share them. The first client starts the hub; it ends some time after the last client.
    #[command(after_help = serving::CONNECT_EXAMPLES)]
    Connect(Connect),
    /// Show the tools of all servers, or of one
    ///
    /// The cost of a tool is the approximate number of tokens that its definition takes in a model's context.
    #[command(after_help = calls::TOOLS_EXAMPLES)]
    Tools(Tools),
    /// Call a tool
    ///
    /// Typing the call is your consent: deny rules and hooks apply, and you are not asked. Prints the text of the result;
    /// without text, its structured content as JSON. On a terminal, each image or other file is saved to a file.
    /// `--json` prints the whole result. Ctrl-C cancels the call.
    #[command(after_help = calls::CALL_EXAMPLES)]
    Call(Call),
    /// Show the resources of all servers, or of one
    Resources(OfServer),
    /// Read a resource
    #[command(after_help = calls::READ_EXAMPLES)]
    Read(Read),
    /// Show the prompts of all servers, or of one
    Prompts(OfServer),
    /// Fill in a prompt
    #[command(after_help = calls::PROMPT_EXAMPLES)]
    Prompt(Prompt),
    /// Show the skills of all servers, or of one
    ///
    /// A skill is a text with instructions for a model, offered by a server together with the digest of the text.
    Skills(OfServer),
    /// Read a skill, and check its digest
    #[command(after_help = calls::SKILL_EXAMPLES)]
    Skill(Skill),
    /// Show the completions of an argument, one per line
    #[command(after_help = calls::COMPLETE_EXAMPLES)]
    Complete(Complete),
    /// Connect to a server again, from scratch
    Reconnect(Server),
    /// Sign in to a server in your browser
    ///
    /// The tokens are kept in your keychain, or sealed in a file if there is none, and renewed automatically. All
    /// clients and a running hub use them at once.
    #[command(after_help = signing_in::LOGIN_EXAMPLES)]
    Login(Login),
    /// Sign out of a server, or of all servers
    ///
    /// Revokes the tokens at the authorization server, if it supports that, and deletes them.
    Logout(Logout),
    /// Show the sign-ins of you and of the users of `serve`
    #[command(after_help = signing_in::ACCOUNTS_EXAMPLES)]
    Accounts,
    /// Sign in through your organisation's identity provider
    ///
    /// After one sign-in with the provider you are signed in to every server whose entry says `"oauth": {"xaa": true}`
    /// (`add --xaa`), without another window. Switchboard exchanges the provider's statement about you for a grant, and
    /// the grant for a token of the server's own authorization server.
    #[command(subcommand, disable_help_subcommand = true, after_help = xaa::EXAMPLES)]
    Xaa(Xaa),
    /// Show a server's standard error, or the audit log
    #[command(after_help = calls::LOGS_EXAMPLES)]
    Logs(Logs),
    /// Check everything, and explain what is wrong
    ///
    /// Suggests what to do about each problem. Exits 1 if anything is wrong. `doctor auth` checks the sign-in to one server
    /// step by step.
    #[command(after_help = signing_in::DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// Review and approve what a project wants to run
    ///
    /// Servers, hooks, agents and settings of a project have no effect until you approve them. When one changes, you are
    /// asked again. Without a name, `approve` shows everything that awaits approval and asks about each. Without a
    /// terminal, give a name, or `--all --yes`.
    #[command(after_help = servers::APPROVE_EXAMPLES)]
    Approve(Approve),
    /// Reject something that a project wants to run
    Reject(Reject),
    /// Forget every approval and rejection in this project
    ResetProjectChoices,
    /// Copy servers from another client
    ///
    /// First shows what would be copied and what cannot be. Leaves out servers that you have already, and does not change
    /// the other client's files. A file that cannot be read is an error; servers of other files are still imported.
    #[command(after_help = servers::IMPORT_EXAMPLES)]
    Import(Import),
    /// Install Switchboard in a client
    ///
    /// Shows one entry that starts `switchboard connect`, then writes it into the client's own file. The rest of that file
    /// stays as it is.
    #[command(after_help = servers::INSTALL_EXAMPLES)]
    Install(Install),
    /// Remove Switchboard from a client
    Uninstall(Uninstall),
    /// Move every client on this machine to Switchboard
    ///
    /// Finds the clients, shows the servers of each and what would change, and asks once. Then it imports the servers of
    /// your own files, installs Switchboard in each client, and removes those servers from the client's file, so that no
    /// client has a server twice. `--undo` reverts this. Files of a project are shown, but never changed.
    #[command(after_help = setup::EXAMPLES)]
    Setup(SetupArgs),
    /// Show the clients on this machine
    ///
    /// Shows which are installed, which have Switchboard, and which are connected now.
    Clients,
    /// Remove Switchboard itself from this machine
    #[command(name = "self", subcommand, disable_help_subcommand = true, after_help = self_management::EXAMPLES)]
    SelfManagement(SelfCommand),
    /// Create, inspect and serve native plugins
    ///
    /// A plugin is a shared object with tools, prompts and resources. Each plugin runs in a process of its own, so that a
    /// crash or a hang affects only its own calls. Every client sees the plugins in the `native` folder of your settings
    /// as the server `plugins`.
    #[command(subcommand, disable_help_subcommand = true, after_help = plugins::EXAMPLES)]
    Plugin(Plugin),
    /// Connect to one MCP server, and show what it offers
    ///
    /// With --call, it also calls a tool. Without a server, it connects to the server that is built into this program.
    #[command(after_help = probe::EXAMPLES)]
    Probe(Box<Probe>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the version
    Version,
    /// Serve the built-in server on standard input and output
    #[command(hide = true)]
    Builtin,
}

/// Parses the command line.
///
/// Words after a command belong to the server. A URL takes no arguments, so words after a URL are parsed as our flags.
pub(crate) fn parse(typed: &[OsString]) -> Result<Args, clap::Error> {
    let mut args = parse_words(typed)?;
    if let Command::Add(add) = &mut args.command {
        add.is_literal = is_literal(typed, &add.server);
    }
    let early = early_configs(typed);
    // For a flag on both sides of the command, clap keeps only the values of the later side.
    if args.global.mcp_config != early {
        args.global.mcp_config.splice(0..0, early);
    }
    Ok(args)
}

fn parse_words(typed: &[OsString]) -> Result<Args, clap::Error> {
    let args = try_parse(typed)?;
    let Some(moved) = flags_first(typed, args.command.server()) else {
        return Ok(args);
    };
    match try_parse(&moved) {
        Ok(again) if again.command.server().len() == 1 => Ok(again),
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => Err(error),
        _ => Ok(args),
    }
}

fn try_parse(words: &[OsString]) -> Result<Args, clap::Error> {
    // The program's name alone asks for the overview, and is no mistake.
    if words.len() < 2 {
        return parse_as_typed(&["switchboard", "help"].map(OsString::from));
    }
    match parse_as_typed(words) {
        Err(error) if is_unknown_help(&error, words) => {
            Err(unknown_command(words).unwrap_or(error))
        }
        parsed => parsed,
    }
}

fn parse_as_typed(words: &[OsString]) -> Result<Args, clap::Error> {
    let mut command = overview::grouped_command();
    let matches = command.try_get_matches_from_mut(words)?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Whether the words ask for the help of a command that does not exist.
fn is_unknown_help(error: &clap::Error, words: &[OsString]) -> bool {
    error.kind() == ErrorKind::InvalidSubcommand && words.get(1).is_some_and(|word| word == "help")
}

/// The error for the same words without `help`, which names similar commands: clap's help command names none.
fn unknown_command(words: &[OsString]) -> Option<clap::Error> {
    let (program, rest) = (words.first()?, words.get(2..)?);
    let without_help: Vec<_> = std::iter::once(program).chain(rest).cloned().collect();
    let error = parse_as_typed(&without_help).err()?;
    (error.kind() == ErrorKind::InvalidSubcommand).then_some(error)
}

/// The values of `--mcp-config` before the command.
fn early_configs(typed: &[OsString]) -> Vec<String> {
    let mut configs = Vec::new();
    let mut words = typed.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(flag) = words.next().filter(|word| word.starts_with('-')) {
        match &*flag {
            "--mcp-config" => configs.extend(words.next().map(Into::into)),
            "--config-dir" | "--project" | "--color" => drop(words.next()),
            other => configs.extend(other.strip_prefix("--mcp-config=").map(Into::into)),
        }
    }
    configs
}

/// The words with the URL moved to the end, if other words follow it.
fn flags_first(typed: &[OsString], server: &[String]) -> Option<Vec<OsString>> {
    let (url, rest) = server.split_first()?;
    let at = typed.len().checked_sub(server.len())?;
    let has_dashes = rest.iter().any(|word| word == "--");
    if rest.is_empty() || !looks_like_url(url) || has_dashes || is_literal(typed, server) {
        return None;
    }
    let (before, after) = typed.split_at(at);
    let moved = before.iter().chain(&after[1..]).chain(&after[..1]);
    Some(moved.cloned().collect())
}

/// Whether `--` stands before the words of the server.
fn is_literal(typed: &[OsString], server: &[String]) -> bool {
    let before = typed.len().checked_sub(server.len() + 1).and_then(|at| typed.get(at));
    before.is_some_and(|word| word == "--")
}

/// Whether a word looks like a URL.
pub(crate) fn looks_like_url(text: &str) -> bool {
    text.contains("://")
}

// === impl Global ===

impl Global {
    /// Whether everything happens in this process: that was asked for, or what counts is given for this run alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.standalone || self.strict_mcp_config || !self.mcp_config.is_empty()
    }
}

// === impl Command ===

impl Command {
    /// Whether the command relays messages between clients and servers, and never asks a person at the terminal.
    pub(crate) fn is_relay(&self) -> bool {
        matches!(
            self,
            Self::Serve(_) | Self::Hub(_) | Self::Connect(_) | Self::Plugin(Plugin::Serve(_))
        )
    }

    /// The words that name a server, for the commands that take one.
    fn server(&self) -> &[String] {
        match self {
            Self::Add(add) if add.transport != Some(Kind::Stdio) => &add.server,
            Self::Probe(probe) => &probe.server,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_nothing_wrong() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn configurations_add_up() {
        let check = |line: &str, configs: &str| {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(parse(&words).unwrap().global.mcp_config.join(" "), configs);
        };
        check("s list", "");
        check("s --mcp-config a list", "a");
        check("s list --mcp-config a --mcp-config b", "a b");
        check("s --project x --mcp-config=a --json list --mcp-config b", "a b");
        check("s --mcp-config a add --mcp-config b n c --mcp-config d", "a b");
    }

    #[test]
    fn what_follows_is_the_servers_or_ours() {
        let check = |line: &str, server: &str, json: bool| {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            let args = parse(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
            let Command::Add(add) = &args.command else { panic!("{line}") };
            let shown = (add.server.join(" "), args.global.json);
            assert_eq!(shown, (server.to_owned(), json), "{line}");
        };
        check("s add a npx -y x --json", "npx -y x --json", false);
        check("s add a -- npx -y x --json", "npx -y x --json", false);
        check("s add --json a npx -y x", "npx -y x", true);
        check("s add a --json npx -y x", "npx -y x", true);
        check("s add a --json -- npx -s x", "npx -s x", true);
        check("s --json add a npx", "npx", true);
        check("s add a https://h/ --json", "https://h/", true);
        check("s add a https://h/ -H a:b --json", "https://h/", true);
        check("s add a -- https://h/ --json", "https://h/ --json", false);
        check("s add a https://h/ more", "https://h/ more", false);
        check("s add a https://h/ --nonsense", "https://h/ --nonsense", false);
        check("s add a https://h/ -- npx", "https://h/ -- npx", false);
        check("s add a https://h/ -H", "https://h/ -H", false);
        check("s add -t stdio a https://h/ --json", "https://h/ --json", false);
    }
}
