//! The policy check for servers that a command starts itself, without the engine.
//!
//! Used by `plugin` and `probe`. Servers of the configuration have passed the policy when the configuration is resolved
//! (`config::resolve`).

use switchboard_config::{AdmittedEntry, Desired, Entry, ServerReadiness};

use crate::report::{Failure, FailureKind};

/// Returns the admitted entry, if policy and switches let a server with this name run.
pub(super) fn admit(desired: &Desired, name: &str, entry: Entry) -> Result<AdmittedEntry, Failure> {
    desired.admit(name, entry).map_err(|state| refused(name, &state))
}

fn refused(name: &str, state: &ServerReadiness) -> Failure {
    let failure = Failure::plain(FailureKind::Denied, format!("`{name}` is {}", state.name()));
    let reason = state.reason();
    let why = reason.map(|reason| reason.why.clone()).filter(|why| why != state.name());
    let failure =
        failure.with_causes(why).with_location(reason.and_then(|reason| reason.by.clone()));
    match state {
        ServerReadiness::Disabled(_) => {
            failure.with_hint(format!("run `switchboard enable {name}`"))
        }
        _ => failure.with_hint("if that file is not yours, ask the administrator of this machine"),
    }
}
