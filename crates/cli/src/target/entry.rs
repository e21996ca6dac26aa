//! An entry of the configuration, as something to connect to.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_config::{
    Entry, Ide, InheritEnv, Remote, Scope, Server, Stdio, Transport as Kind, glob,
};
use switchboard_wire::client::Target;
use switchboard_wire::http::{Credentials, NoCredentials};
use switchboard_wire::process::Command;
use url::Url;

use super::{env_file, remote, stdio};
use crate::args::Transport;
use crate::environment;
use crate::report::{Failure, Kind as FailureKind};

/// What an editor's own server asks for, as the clients it was made for send it.
const IDE_AUTHORIZATION: &str = "x-claude-code-ide-authorization";

/// The target of a server that is ready; `variables` is the caller's environment with the settings' on top.
pub(crate) fn of_entry(
    server: &Server,
    entry: &Entry,
    variables: &[(OsString, OsString)],
    catalogue: Option<&Arc<dyn Credentials>>,
) -> Result<Target, Failure> {
    // The catalogue's bearer is for what the catalogue itself names.
    let credentials = match catalogue.filter(|_| server.scope == Scope::Connectors) {
        Some(catalogue) => catalogue.clone(),
        None => Arc::new(NoCredentials),
    };
    let written = |transport, entry: &Remote| {
        remote(transport, url(&entry.url)?, headers(&entry.headers)?, credentials)
    };
    match &entry.transport {
        Kind::Stdio(entry) => stdio(command(entry, &server.working_dir, variables)?),
        Kind::Http(entry) => written(Transport::Http, entry),
        Kind::Sse(entry) => written(Transport::Sse, entry),
        Kind::Ws(entry) => written(Transport::Ws, entry),
        Kind::SseIde(ide) => editor(Transport::Sse, ide),
        Kind::WsIde(ide) => editor(Transport::Ws, ide),
    }
}

fn command(
    entry: &Stdio,
    working_dir: &Path,
    variables: &[(OsString, OsString)],
) -> Result<Command, Failure> {
    let cwd = match &entry.cwd {
        Some(cwd) => working_dir.join(cwd),
        None => working_dir.to_owned(),
    };
    let mut command = Command::new(&entry.command);
    command.args = entry.args.iter().map(OsString::from).collect();
    command.env = environment::baseline(variables.iter().cloned());
    command.env.extend(inherited(&entry.inherit_env, variables));
    if let Some(file) = &entry.env_file {
        command.env.extend(env_file::read(&working_dir.join(file))?);
    }
    let own = entry.env.iter();
    command.env.extend(own.map(|(name, value)| (name.into(), value.into())));
    command.cwd = Some(cwd);
    Ok(command)
}

/// Those of the caller's variables that the entry asks for.
fn inherited(wanted: &InheritEnv, variables: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let is_wanted = |name: &OsString| match wanted {
        InheritEnv::All(all) => *all,
        InheritEnv::Names(names) => {
            name.to_str().is_some_and(|name| names.iter().any(|pattern| glob(pattern, name)))
        }
    };
    let variables = variables.iter();
    variables.filter(|(name, _)| is_wanted(name)).cloned().collect()
}

fn editor(transport: Transport, ide: &Ide) -> Result<Target, Failure> {
    let token = ide.auth_token.iter();
    let given = token.map(|token| (IDE_AUTHORIZATION.to_owned(), token.clone())).collect();
    remote(transport, url(&ide.url)?, headers(&given)?, Arc::new(NoCredentials))
}

/// The entry was checked when it was read, so this does not fail; if it does, the URL may hold a secret.
fn url(text: &str) -> Result<Url, Failure> {
    Url::parse(text).map_err(|error| Failure::new("its `url` is not a URL", error))
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let pair = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let Some((name, value)) = pair else {
            let message = format!("its header `{name}` cannot be sent");
            return Err(Failure::plain(FailureKind::Failed, message));
        };
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<(OsString, OsString)> {
        let ours = [("PATH", "/bin"), ("API_KEY", "k"), ("AWS_REGION", "r"), ("AWS_ID", "i")];
        ours.map(|(name, value)| (name.into(), value.into())).into()
    }

    #[test]
    fn a_process_gets_what_its_entry_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "A=file\nB=file\n").unwrap();
        let check = |inherit_env, names: &str| {
            let entry = Stdio {
                command: "x".into(),
                env: [("A".to_owned(), "own".to_owned())].into(),
                env_file: Some(".env".into()),
                cwd: Some("sub".into()),
                inherit_env,
                ..Stdio::default()
            };
            let command = command(&entry, folder.path(), &ours()).unwrap();
            let env: Vec<_> = command
                .env
                .iter()
                .map(|(n, v)| format!("{}={}", n.display(), v.display()))
                .collect();
            assert_eq!(env.join(" "), names);
            assert_eq!(command.cwd, Some(folder.path().join("sub")));
        };
        check(InheritEnv::default(), "PATH=/bin A=file B=file A=own");
        check(
            InheritEnv::Names(vec!["AWS_*".into()]),
            "PATH=/bin AWS_REGION=r AWS_ID=i A=file B=file A=own",
        );
        check(
            InheritEnv::All(true),
            "PATH=/bin PATH=/bin API_KEY=k AWS_REGION=r AWS_ID=i A=file B=file A=own",
        );
    }
}
