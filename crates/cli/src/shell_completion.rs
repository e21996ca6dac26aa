//! Completions of a word of the command line, for shells: commands, flags, and names of servers and tools.
//!
//! Used by `main` before it parses the command line, and by `args` for the arguments that name servers and tools.
//! `commands::completions` prints the script that asks. It starts no server and asks no hub: tools are those of the kept
//! catalogs.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use switchboard_config::DesiredServer;
use switchboard_core::connection::{CatalogOrigin, CatalogStore};

use crate::args::Args;
use crate::surroundings::{self, Caller};

/// The variable in which a shell names itself when it asks for completions.
pub(crate) const COMPLETE_VARIABLE: &str = "SWITCHBOARD_COMPLETE";

/// Answers the request of a shell. Returns whether this run of the program was one.
pub(crate) fn answer_shell() -> clap::error::Result<bool> {
    let folder = surroundings::current_folder();
    CompleteEnv::with_factory(Args::command)
        .var(COMPLETE_VARIABLE)
        .try_complete(surroundings::command_line_words(), folder.as_deref())
}

/// Completes the name of a server.
pub(crate) fn server() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| matching(typed, servers))
}

/// Completes a tool as `server/tool`.
pub(crate) fn tool() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| matching(typed, tools))
}

/// Completes the name of a server, or a tool.
pub(crate) fn server_or_tool() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        matching(typed, |caller| servers(caller).into_iter().chain(tools(caller)).collect())
    })
}

/// The names that begin as typed. An unreadable configuration gives none: a shell shows no error.
fn matching(
    typed: &OsStr,
    names: impl Fn(&Caller) -> BTreeSet<String>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let Ok(args) = Args::try_parse_from(["switchboard", "version"]) else { return Vec::new() };
    let Ok(caller) = Caller::new(&args.global) else { return Vec::new() };
    let names = names(&caller).into_iter();
    names.filter(|name| name.starts_with(&*typed)).map(CompletionCandidate::new).collect()
}

fn servers(caller: &Caller) -> BTreeSet<String> {
    let (desired, _) = caller.desired_at_start();
    desired.servers.iter().map(|server| server.name.clone()).collect()
}

fn tools(caller: &Caller) -> BTreeSet<String> {
    let store = CatalogStore::in_state(&caller.surroundings.state_dir);
    let catalogs = store.listed_tools();
    let (desired, _) = caller.desired_at_start();
    let of_server = |server: &DesiredServer| {
        let origin = CatalogOrigin::new(&server.name, server.scope, &server.working_dir);
        let own = catalogs.iter().filter(move |(read_for, _)| *read_for == origin);
        let name = server.name.clone();
        own.flat_map(|(_, tools)| tools)
            .map(move |tool| format!("{name}/{tool}"))
            .collect::<Vec<_>>()
    };
    desired.ready_servers().flat_map(|(server, _)| of_server(server)).collect()
}
