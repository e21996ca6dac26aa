//! Turns a spec into a target of the wire: the process with its environment, or the URL with its headers.
//!
//! Used by `connection::task` for each attempt and by `connection::key`. It starts nothing; `wire` connects.

use std::{collections::BTreeMap, ffi::OsString, path::Path, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_config::{IdeTransport, RemoteTransport, StdioTransport, Transport};
use switchboard_process::{ProcessCommand, StderrOptions, StderrRedaction};
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
    server_environment::{ServerVariable, process_variables},
    spec::{ConnectionSpec, ConnectionTarget},
    tls::entry_pool_options,
};

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

/// The program of a spec with its variables.
pub(super) struct SpecCommand {
    pub(super) command: ProcessCommand,
    pub(super) variables: Vec<ServerVariable>,
}

/// The program of a spec, if it has one.
pub(super) fn command(spec: &ConnectionSpec) -> Option<Result<SpecCommand, ConnectionError>> {
    match &spec.reach {
        ConnectionTarget::Entry(entry) => match &entry.transport {
            Transport::Stdio(stdio) => Some(command_of(spec, stdio)),
            _ => None,
        },
        ConnectionTarget::InProcess(_) => None,
    }
}

fn process(
    spec: &ConnectionSpec,
    entry: &StdioTransport,
    shared: &ConnectionContext,
) -> Result<ServerTarget, ConnectionError> {
    let SpecCommand { command, .. } = command_of(spec, entry)?;
    if is_loop(&command, shared) {
        return Err(ConnectionError::Loop);
    }
    let stderr = StderrOptions { redaction: redaction(spec), ..(shared.stderr)(spec) };
    let guard = shared.guard.clone();
    Ok(ServerTarget::Stdio(wire::client::StdioTarget { command, guard, stderr }))
}

/// Redacts the secrets of the entry, which a server may print when it is refused somewhere.
fn redaction(spec: &ConnectionSpec) -> Option<Arc<StderrRedaction>> {
    let secrets = spec.secrets.clone();
    let redact = move |text: &str| {
        secrets.iter().fold(text.to_owned(), |text, secret| secret.redact_in(&text))
    };
    (!spec.secrets.is_empty()).then(|| Arc::new(redact) as Arc<StderrRedaction>)
}

fn command_of(
    spec: &ConnectionSpec,
    entry: &StdioTransport,
) -> Result<SpecCommand, ConnectionError> {
    let variables = process_variables(entry, &spec.working_dir, spec.scope, &spec.environment)?;
    let mut command = ProcessCommand::new(&entry.command);
    command.args = entry.args.iter().map(OsString::from).collect();
    let pair = |variable: &ServerVariable| (variable.name.clone(), variable.value.clone());
    command.env = variables.iter().map(pair).collect();
    command.cwd = Some(match &entry.cwd {
        Some(cwd) => spec.working_dir.join(cwd),
        None => spec.working_dir.clone(),
    });
    Ok(SpecCommand { command, variables })
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
    entry: &RemoteTransport,
    spec: &ConnectionSpec,
    shared: &ConnectionContext,
) -> Result<ServerTarget, ConnectionError> {
    let headers = headers(&entry.headers)?;
    let pool = pool(entry, spec, shared)?;
    reach(kind, &entry.url, headers, spec.credentials.clone(), pool, shared)
}

/// The HTTP pool of an entry. An entry with certificates of its own gets a pool of its own.
fn pool(
    entry: &RemoteTransport,
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
    ide: &IdeTransport,
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
