//! The environment of a server's process: every variable with the place it comes from.
//!
//! Used by `connection::target` to start the process, by `connection::key`, and by `get` and `doctor`, which show it.
//! Which of the caller's variables every process gets is decided by `switchboard_config::baseline_variable`.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use switchboard_config::{
    BaselineVariable, Desired, DesiredServer, InheritEnv, Scope, StdioTransport, Transport,
    baseline_variable, glob_matches,
};

use super::{ConnectionError, env_file};
use crate::{engine::ProcessEnvironment, environment};

/// Set for every process that Switchboard starts, so that a Switchboard beneath it detects the loop.
pub const PARENT_MARKER_VARIABLE: &str = "SWITCHBOARD_PARENT";

/// Programs that download a server before they run it, and read `npm_config_` variables.
const NPM_PROGRAMS: [&str; 3] = ["npx", "npm", "pnpm"];

/// How long npm pauses before it tries a download again, in milliseconds. Its own pauses of 10 and 60 seconds are
/// longer than a server may take to connect, and npm says nothing meanwhile: an untrusted certificate would show as
/// a timeout.
const NPM_RETRY_PAUSES: [(&str, &str); 2] =
    [("npm_config_fetch_retry_mintimeout", "500"), ("npm_config_fetch_retry_maxtimeout", "2000")];

/// One variable of a server's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVariable {
    /// The name.
    pub name: OsString,
    /// The value, which may be a secret.
    pub value: OsString,
    /// Where it comes from.
    pub source: VariableSource,
}

/// Where a variable of a server's process comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableSource {
    /// The caller's environment: every process gets the variable.
    Baseline,
    /// The caller's environment, without the user and password in the variable's URLs.
    BaselineWithoutCredentials,
    /// The caller's environment: the entry's `inheritEnv` names the variable.
    InheritedByName,
    /// The caller's environment: the entry's `inheritEnv` asks for all variables.
    InheritedAll,
    /// The entry's `envFile`.
    EnvFile,
    /// The entry's `env`.
    Entry,
    /// Switchboard sets it.
    Switchboard,
}

// === impl VariableSource ===

impl VariableSource {
    /// Whether the entry names the variable, and not only the caller's environment has it.
    pub(super) fn is_named_by_entry(self) -> bool {
        matches!(self, Self::InheritedByName | Self::EnvFile | Self::Entry)
    }
}

/// Returns the variables that a configured server's process gets if a caller with this environment uses it; `None`
/// for a server without a process. Reads the entry's `envFile`, so it may block.
pub fn server_environment(
    desired: &Desired,
    server: &DesiredServer,
    environment: &ProcessEnvironment,
) -> Option<Result<Vec<ServerVariable>, ConnectionError>> {
    let Transport::Stdio(stdio) = &server.entry()?.transport else { return None };
    let environment = environment::for_command(environment, &server.working_dir, &desired.root);
    let variables = process_variables(stdio, &server.working_dir, server.scope, &environment);
    Some(variables.map(last_of_each_name))
}

/// Returns the variables of a process, in the order in which they are set: of a duplicate name the last one counts.
pub(super) fn process_variables(
    entry: &StdioTransport,
    working_dir: &Path,
    scope: Scope,
    environment: &[(OsString, OsString)],
) -> Result<Vec<ServerVariable>, ConnectionError> {
    let mut variables = inherited_variables(environment, &entry.inherit_env);
    let mut add = |name: OsString, value: OsString, source| {
        variables.push(ServerVariable { name, value, source });
    };
    if let Some(file) = &entry.env_file {
        for (name, value) in env_file::read(&working_dir.join(file), scope)? {
            add(name, value, VariableSource::EnvFile);
        }
    }
    for (name, value) in &entry.env {
        add(name.into(), value.into(), VariableSource::Entry);
    }
    let set_by_us = npm_retry_pauses(entry, &variables);
    variables.extend(set_by_us.chain([(PARENT_MARKER_VARIABLE, "1")]).map(|(name, value)| {
        let source = VariableSource::Switchboard;
        ServerVariable { name: name.into(), value: value.into(), source }
    }));
    Ok(variables)
}

/// The default few of the caller's variables, and those that the entry asks for.
fn inherited_variables(
    environment: &[(OsString, OsString)],
    wanted: &InheritEnv,
) -> Vec<ServerVariable> {
    let passed = |(name, value): &(OsString, OsString)| {
        let (value, source) = inherited_value(name, value, wanted)?;
        Some(ServerVariable { name: name.clone(), value, source })
    };
    environment.iter().filter_map(passed).collect()
}

fn inherited_value(
    name: &OsStr,
    value: &OsStr,
    wanted: &InheritEnv,
) -> Option<(OsString, VariableSource)> {
    let is_named = |name: &str| match wanted {
        InheritEnv::All(_) => false,
        InheritEnv::Names(names) => names.iter().any(|pattern| glob_matches(pattern, name)),
    };
    match name.to_str() {
        _ if *wanted == InheritEnv::All(true) => {
            Some((value.to_owned(), VariableSource::InheritedAll))
        }
        Some(name) if is_named(name) => Some((value.to_owned(), VariableSource::InheritedByName)),
        Some(name) => match baseline_variable(name, value) {
            BaselineVariable::Whole(value) => Some((value.to_owned(), VariableSource::Baseline)),
            BaselineVariable::WithoutCredentials(value) => {
                Some((value.into(), VariableSource::BaselineWithoutCredentials))
            }
            BaselineVariable::NotBaseline | BaselineVariable::Withheld => None,
        },
        None => None,
    }
}

/// The pauses of npm that neither the person nor the entry has set.
fn npm_retry_pauses(
    entry: &StdioTransport,
    variables: &[ServerVariable],
) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
    let program = Path::new(&entry.command).file_stem().and_then(OsStr::to_str);
    let is_npm = program.is_some_and(|program| NPM_PROGRAMS.contains(&program));
    let is_set = |name: &str| variables.iter().any(|known| known.name.eq_ignore_ascii_case(name));
    let unset = NPM_RETRY_PAUSES.map(|pause| (is_npm && !is_set(pause.0)).then_some(pause));
    unset.into_iter().flatten()
}

/// Sorts by name and leaves out values that a later one replaces.
fn last_of_each_name(mut variables: Vec<ServerVariable>) -> Vec<ServerVariable> {
    variables.reverse();
    variables.sort_by(|one, other| one.name.cmp(&other.name));
    variables.dedup_by(|later, kept| later.name == kept.name);
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(command: &str, inherit_env: InheritEnv, caller: &[(&str, &str)]) -> Vec<String> {
        let mut entry = StdioTransport {
            command: command.to_owned(),
            inherit_env,
            ..StdioTransport::default()
        };
        entry.env.insert("KEY".to_owned(), "entry".to_owned());
        let caller: Vec<_> =
            caller.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let variables = process_variables(&entry, Path::new("/"), Scope::User, &caller).unwrap();
        let variables = last_of_each_name(variables).into_iter();
        let shown = variables.map(|ServerVariable { name, value, source }| {
            format!("{}={} {source:?}", name.display(), value.display())
        });
        shown.filter(|line| !line.starts_with(PARENT_MARKER_VARIABLE)).collect()
    }

    const CALLER: [(&str, &str); 5] = [
        ("HOME", "/home/ann"),
        ("KEY", "caller"),
        ("UV_INDEX_URL", "https://ann:hush@r.example/"),
        ("UV_PUBLISH_TOKEN", "hush"),
        ("GITHUB_TOKEN", "hush"),
    ];

    #[test]
    fn every_variable_says_where_it_comes_from() {
        assert_eq!(
            received("sh", InheritEnv::Names(vec!["GITHUB_*".into()]), &CALLER),
            [
                "GITHUB_TOKEN=hush InheritedByName",
                "HOME=/home/ann Baseline",
                "KEY=entry Entry",
                "UV_INDEX_URL=https://r.example/ BaselineWithoutCredentials",
            ]
        );
        assert_eq!(received("sh", InheritEnv::All(true), &CALLER).len(), 5);
    }

    #[test]
    fn npm_does_not_outlast_the_connect_timeout() {
        let none = InheritEnv::default();
        let set = [("NPM_CONFIG_FETCH_RETRY_MINTIMEOUT", "9")];
        assert_eq!(
            received("/usr/bin/npx", none.clone(), &set),
            [
                "KEY=entry Entry",
                "NPM_CONFIG_FETCH_RETRY_MINTIMEOUT=9 Baseline",
                "npm_config_fetch_retry_maxtimeout=2000 Switchboard",
            ]
        );
        assert_eq!(received("node", none, &[]), ["KEY=entry Entry"]);
    }
}
