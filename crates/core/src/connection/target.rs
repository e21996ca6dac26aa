//! Turns a spec into a target of the wire: the process with its environment, or the URL with its headers.
//!
//! Used by `connection::task` for each attempt and by `connection::key`. It starts nothing; `wire` connects.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
    sync::Arc,
};

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_config::{Ide, InheritEnv, Remote, Stdio, Transport, baseline_value, glob_matches};
use switchboard_process::ProcessCommand;
use switchboard_wire::{
    self as wire, Era, Version,
    client::{
        CallAttribution, ClientOptions, HttpTarget, RootFolder, ServerTarget, VersionNegotiation,
    },
    http::{CredentialProvider, EndpointOptions, HttpPool, NoCredentials},
    ws::WsOptions,
};
use url::Url;

use super::{
    ConnectionError,
    context::ConnectionContext,
    env_file,
    spec::{ConnectionSpec, ConnectionTarget},
    tls::entry_pool_options,
};

/// Set for every process that Switchboard starts, so that a Switchboard beneath it detects the loop.
pub const PARENT_MARKER_VARIABLE: &str = "SWITCHBOARD_PARENT";

/// The header with which an editor's server expects its token.
const IDE_AUTHORIZATION_HEADER: &str = "x-claude-code-ide-authorization";

/// Commands of Switchboard that serve the configured servers, and so would serve themselves.
const SERVING_COMMANDS: [&str; 2] = ["connect", "serve"];

#[derive(Clone, Copy)]
enum RemoteTransportKind {
    Http,
    Sse,
    Ws,
}

/// Builds the target. Reads files, so it may block.
pub(super) fn build(
    spec: &ConnectionSpec,
    shared: &ConnectionContext,
) -> Result<ServerTarget, ConnectionError> {
    let entry = match &spec.reach {
        ConnectionTarget::InProcess(server) => {
            return Ok(ServerTarget::InProcess((server.open)()?));
        }
        ConnectionTarget::Entry(entry) => entry,
    };
    match &entry.transport {
        Transport::Stdio(stdio) => process(spec, stdio, shared),
        Transport::Http(entry) => remote(RemoteTransportKind::Http, entry, spec, shared),
        Transport::Sse(entry) => remote(RemoteTransportKind::Sse, entry, spec, shared),
        Transport::Ws(entry) => remote(RemoteTransportKind::Ws, entry, spec, shared),
        Transport::SseIde(ide) => editor(RemoteTransportKind::Sse, ide, spec, shared),
        Transport::WsIde(ide) => editor(RemoteTransportKind::Ws, ide, spec, shared),
        // The engine has an in-process link for it, or does not start it.
        Transport::Sdk => Err(ConnectionError::NotInProcess),
    }
}

/// Returns the options of the MCP client: name, eras, capabilities, roots.
pub(super) fn options(spec: &ConnectionSpec, shared: &ConnectionContext) -> ClientOptions {
    let mut options = ClientOptions::new(&shared.client.name, &shared.client.version);
    options.capabilities = spec.class.capabilities();
    options.roots = spec.root.as_deref().and_then(root).map(|root| vec![root]);
    options.connect_timeout = spec.connect_timeout(shared.timing.connect);
    options.eras = match (&spec.reach, spec.era) {
        // All in-process servers look alike to the era cache, and with a fixed era nothing is probed.
        (ConnectionTarget::InProcess(_), _) | (_, Some(_)) => None,
        (ConnectionTarget::Entry(_), None) => Some(shared.eras.clone()),
    };
    options.greeting = match spec.era {
        None => VersionNegotiation::Probe,
        Some(Era::Legacy) => VersionNegotiation::Only(Version::LATEST_LEGACY),
        Some(Era::Modern) => VersionNegotiation::Only(Version::LATEST),
    };
    // With several calls in flight, only the engine knows which call a message belongs to.
    options.attribution = CallAttribution::SoleCall;
    options.legacy_logs = CallAttribution::SoleCall;
    options
}

fn root(folder: &Path) -> Option<RootFolder> {
    let uri = Url::from_file_path(folder).ok()?.into();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    Some(RootFolder { uri, name })
}

/// The process of a spec, if it has one.
pub(super) fn command(spec: &ConnectionSpec) -> Option<Result<ProcessCommand, ConnectionError>> {
    match &spec.reach {
        ConnectionTarget::Entry(entry) => match &entry.transport {
            Transport::Stdio(stdio) => Some(command_of(spec, stdio)),
            _ => None,
        },
        ConnectionTarget::InProcess(_) => None,
    }
}

/// Whether a variable of a process comes from its entry, and not only from the caller's environment: from `env`,
/// the `envFile`, or a name in `inheritEnv`.
pub(super) fn names_variable(
    spec: &ConnectionSpec,
    command: &ProcessCommand,
    name: &OsStr,
) -> bool {
    let ConnectionTarget::Entry(entry) = &spec.reach else { return false };
    let Transport::Stdio(stdio) = &entry.transport else { return false };
    let is_wanted = match (&stdio.inherit_env, name.to_str()) {
        (InheritEnv::Names(names), Some(name)) => {
            names.iter().any(|pattern| glob_matches(pattern, name))
        }
        _ => false,
    };
    // The caller's variables come first.
    let own = command.env.iter().skip(inherited_variables(spec, &stdio.inherit_env).len());
    is_wanted || own.into_iter().any(|(other, _)| other == name)
}

fn process(
    spec: &ConnectionSpec,
    entry: &Stdio,
    shared: &ConnectionContext,
) -> Result<ServerTarget, ConnectionError> {
    let command = command_of(spec, entry)?;
    if is_loop(&command, shared) {
        return Err(ConnectionError::Loop);
    }
    let stderr = (shared.stderr)(spec);
    let guard = shared.guard.clone();
    Ok(ServerTarget::Stdio(wire::client::StdioTarget { command, guard, stderr }))
}

fn command_of(spec: &ConnectionSpec, entry: &Stdio) -> Result<ProcessCommand, ConnectionError> {
    let mut command = ProcessCommand::new(&entry.command);
    command.args = entry.args.iter().map(OsString::from).collect();
    command.env = inherited_variables(spec, &entry.inherit_env);
    if let Some(file) = &entry.env_file {
        command.env.extend(env_file::read(&spec.working_dir.join(file), spec.scope)?);
    }
    let own = entry.env.iter();
    command.env.extend(own.map(|(name, value)| (name.into(), value.into())));
    command.env.push((PARENT_MARKER_VARIABLE.into(), "1".into()));
    command.cwd = Some(match &entry.cwd {
        Some(cwd) => spec.working_dir.join(cwd),
        None => spec.working_dir.clone(),
    });
    Ok(command)
}

/// The default few of the caller's variables, and those that the entry asks for.
fn inherited_variables(spec: &ConnectionSpec, wanted: &InheritEnv) -> Vec<(OsString, OsString)> {
    let is_wanted = |name: &str| match wanted {
        InheritEnv::All(all) => *all,
        InheritEnv::Names(names) => names.iter().any(|pattern| glob_matches(pattern, name)),
    };
    let passed = |(name, value): &(OsString, OsString)| {
        let value = match name.to_str() {
            Some(name) if is_wanted(name) => value.clone(),
            Some(name) => baseline_value(name, value)?.into_owned(),
            None if *wanted == InheritEnv::All(true) => value.clone(),
            None => return None,
        };
        Some((name.clone(), value))
    };
    spec.environment.iter().filter_map(passed).collect()
}

/// Whether the command would start this program beneath itself. A loop through a script is detected by the marker
/// variable when the program starts.
fn is_loop(command: &ProcessCommand, shared: &ConnectionContext) -> bool {
    let serves = || command.args.iter().any(|arg| SERVING_COMMANDS.iter().any(|word| arg == word));
    let is_ours = || {
        let ours = shared.program.as_deref().and_then(|file| file.canonicalize().ok());
        let theirs = command.resolve().ok().and_then(|file| file.canonicalize().ok());
        ours.is_some() && ours == theirs
    };
    serves() && is_ours()
}

fn remote(
    kind: RemoteTransportKind,
    entry: &Remote,
    spec: &ConnectionSpec,
    shared: &ConnectionContext,
) -> Result<ServerTarget, ConnectionError> {
    let headers = headers(&entry.headers)?;
    let pool = pool(entry, spec, shared)?;
    reach(kind, &entry.url, headers, spec.credentials.clone(), pool, shared)
}

/// The HTTP pool of an entry. An entry with certificates of its own gets a pool of its own.
fn pool(
    entry: &Remote,
    spec: &ConnectionSpec,
    shared: &ConnectionContext,
) -> Result<HttpPool, wire::Error> {
    if entry.tls.is_none() {
        return shared.pool(&spec.proxies());
    }
    let usual = shared.network(&spec.proxies());
    Ok(HttpPool::new(&entry_pool_options(entry, &spec.working_dir, &usual)?)?)
}

fn editor(
    kind: RemoteTransportKind,
    ide: &Ide,
    spec: &ConnectionSpec,
    shared: &ConnectionContext,
) -> Result<ServerTarget, ConnectionError> {
    let token = ide.auth_token.iter();
    let given = token.map(|token| (IDE_AUTHORIZATION_HEADER.to_owned(), token.clone())).collect();
    let pool = shared.pool(&spec.proxies())?;
    reach(kind, &ide.url, headers(&given)?, Arc::new(NoCredentials), pool, shared)
}

fn reach(
    kind: RemoteTransportKind,
    url: &str,
    headers: HeaderMap,
    credentials: Arc<dyn CredentialProvider>,
    pool: HttpPool,
    shared: &ConnectionContext,
) -> Result<ServerTarget, ConnectionError> {
    let url = Url::parse(url).map_err(ConnectionError::Url)?;
    if let RemoteTransportKind::Ws = kind {
        let options = Box::new(WsOptions { headers, credentials, ..WsOptions::default() });
        return Ok(ServerTarget::WebSocket { url, pool, options });
    }
    let first_byte = shared.timing.first_byte;
    let options =
        EndpointOptions { headers, credentials, first_byte, ..EndpointOptions::default() };
    let target = HttpTarget { url, pool, options };
    Ok(match kind {
        RemoteTransportKind::Sse => ServerTarget::Sse(target),
        RemoteTransportKind::Http | RemoteTransportKind::Ws => ServerTarget::Http(target),
    })
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, ConnectionError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let pair = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, value) = pair.ok_or_else(|| ConnectionError::Header { name: name.clone() })?;
        headers.append(name, value);
    }
    Ok(headers)
}
