//! `switchboard enable` and `switchboard disable`: switches a server on or off in settings.
//!
//! Used by `commands::run`. It does not delete entries (`remove` does).

use serde_json::json;
use switchboard_config::{Scope, ServerReadiness, ServerSwitch};

use crate::args;
use crate::hint;
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) fn run(
    asked: &args::Switch,
    switch: ServerSwitch,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let (verb, done) = match switch {
        ServerSwitch::On => ("enable", "enabled"),
        ServerSwitch::Off => ("disable", "disabled"),
    };
    let (name, scope) = (&asked.name, asked.scope.scope());
    let path = caller
        .workspace
        .switch(scope, name, switch)
        .map_err(|error| Failure::config(format!("cannot {verb} `{name}`"), &error))?;
    let (desired, _) = caller.desired();
    let server = desired.servers_named(name).next();
    let state = server.map_or("unknown", |server| server.state.name());
    if printer.is_json() {
        return printer.json(&json!({ "name": name, "state": state, "file": path }));
    }
    let place = match scope {
        Scope::User => "everywhere",
        _ => "in this project",
    };
    printer.done(format_args!("{done} {BOLD}{name}{BOLD:#} {place}"));
    let still = server.filter(|_| switch == ServerSwitch::On).and_then(|server| {
        let words = state.replace('-', " ");
        let notice = Notice::note(format!("it does not run yet: {words}"));
        match &server.state {
            ServerReadiness::Ready(_) => None,
            ServerReadiness::AwaitingApproval { .. } => Some(notice.with_hint(hint::approve(name))),
            other => {
                Some(notice.with_location(other.reason().and_then(|reason| reason.by.clone())))
            }
        }
    });
    printer.notices(&still);
    Ok(())
}
