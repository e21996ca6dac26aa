//! Notices about a served configuration and its address: servers of a view, TLS, the count of served servers.
//!
//! Used by `connect`, `serve` and `plugin serve`. It does not serve or print anything.

use std::net::SocketAddr;

use switchboard_config::{
    ConfigProblem, ConfigProblemKind, ConfigWorkspace, Desired, ProblemSeverity, ResolveOptions,
};
use switchboard_hub::{AccessSetup, ViewOptions};

use crate::command_engine::not_numbers;
use crate::notice::Notice;
use crate::surroundings::Caller;

/// The desired state that a client's view shows.
pub(crate) fn view_config(caller: &Caller, view: &ViewOptions) -> Desired {
    if view.agent.is_none() {
        return (*caller.first_desired).clone();
    }
    let resolve = view.resolve_options(caller.resolve_options());
    ConfigWorkspace::new(caller.surroundings.clone(), resolve).desired()
}

/// The notices about a view that the hub accepts: servers that the agent names and that do not exist, and variables
/// that are no numbers.
pub(crate) fn view_notices(desired: &Desired, caller: &Caller) -> Vec<Notice> {
    // The hub refuses the client with an error; warnings are printed here.
    let is_of_agent = |problem: &&ConfigProblem| {
        problem.kind == ConfigProblemKind::RequiredServer
            && problem.severity != ProblemSeverity::Error
    };
    let agent = desired.problems.iter().filter(is_of_agent).map(Notice::from);
    agent.chain(not_numbers(desired, caller)).collect()
}

/// The servers behind a served address, in words.
pub(crate) fn served_text(desired: &Desired, asked: &ResolveOptions, view: &ViewOptions) -> String {
    let is_unconfigured =
        desired.is_unconfigured(&view.resolve_options(asked)) && view.servers.is_empty();
    match (desired.ready_servers().count(), desired.servers.len()) {
        (_, 0) if is_unconfigured => "the built-in server, since none is configured yet".to_owned(),
        (_, 0) if desired.is_incomplete() => {
            "no servers, since a configuration file cannot be read".to_owned()
        }
        (_, 0) => "no servers".to_owned(),
        (1, _) => "1 server".to_owned(),
        (many, _) => format!("{many} servers"),
    }
}

/// A warning about an address that other machines reach without TLS.
pub(crate) fn tls_notice(access: &AccessSetup, address: SocketAddr) -> Option<Notice> {
    access.is_open_to_eavesdroppers(address).then(|| {
        Notice::warning("without TLS, everyone on the network path can read tokens and calls")
            .with_hint("serve with `--tls-cert` and `--tls-key`, or behind a proxy that does")
    })
}
