//! Notices about environment variables that servers do not get, or not unchanged.
//!
//! Used by `doctor`. It does not choose the variables (`switchboard_config::baseline_env`).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use switchboard_config::{
    BaselineVariable, Desired, OFTEN_NEEDED_VARIABLES, baseline_variable, glob_matches,
};
use switchboard_core::connection::server_environment;
use switchboard_sources::process_environment;

use crate::notice::Notice;

/// A note about every variable that servers get without its password or not at all, and one about the variables of
/// the person that many servers read and no server here gets.
pub(crate) fn missing_variables(
    variables: &[(OsString, OsString)],
    desired: &Desired,
) -> Vec<Notice> {
    let environment = process_environment(variables, desired);
    let processes = desired.servers.iter();
    let processes =
        processes.filter_map(|server| server_environment(desired, server, &environment));
    let received: Vec<_> = processes.flatten().collect();
    let is_received = |name: &str| received.iter().flatten().any(|variable| variable.name == name);
    let mut notices = cut_variables(variables);
    let needed = variables.iter().filter(|(name, value)| is_often_needed(name, value));
    let missing: BTreeSet<_> = needed.filter_map(|(name, _)| name.to_str()).collect();
    let missing: Vec<_> = missing.into_iter().filter(|name| !is_received(name)).collect();
    if let Some(first) = missing.first().filter(|_| !received.is_empty()) {
        let list: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
        let notice =
            Notice::note(format!("servers do not get {} of your environment", list.join(", ")));
        notices.push(notice.with_hint(wanting(first)));
    }
    notices
}

/// Whether servers often read a variable. Those of the baseline have notes of their own, and ours are for no server.
fn is_often_needed(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    OFTEN_NEEDED_VARIABLES.iter().any(|pattern| glob_matches(pattern, name))
        && matches!(baseline_variable(name, value), BaselineVariable::NotBaseline)
        && !name.starts_with("SWITCHBOARD_")
}

/// A note about every variable that would pass, but for a credential in it.
fn cut_variables(variables: &[(OsString, OsString)]) -> Vec<Notice> {
    let texts = variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value)));
    let notice = |(name, value): (&str, &OsString)| {
        let message = match baseline_variable(name, value) {
            BaselineVariable::WithoutCredentials(_) => {
                format!("servers get `{name}` without the user and password in it")
            }
            BaselineVariable::Withheld => {
                format!("servers do not get `{name}`: it is or holds a credential")
            }
            BaselineVariable::NotBaseline | BaselineVariable::Whole(_) => return None,
        };
        Some(Notice::note(message).with_hint(wanting(name)))
    };
    texts.filter_map(notice).collect()
}

fn wanting(name: &str) -> String {
    format!("an entry that needs it says `\"inheritEnv\": [\"{name}\"]`")
}
