//! Commands that start a server by themselves, without the engine, ask the policy gate here first.
//!
//! `plugin` and `probe` use it. Servers of the configuration have passed the gate when they are read.

use switchboard_config::{AdmittedEntry, Desired, Entry, ServerReadiness};

use crate::report::{Failure, FailureKind};

/// The entry, if policy and switches let a server of this name run.
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
