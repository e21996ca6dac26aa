//! From a spec to something on the wire: which process with which environment, which URL with which
//! headers, and what we say of ourselves.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
    sync::Arc,
};

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_config::{Ide, InheritEnv, Remote, Stdio, Transport, baseline_value, glob};
use switchboard_process::Command;
use switchboard_wire::{
    self as wire, Era, Version,
    client::{Attribution, ClientOptions, Greeting, HttpTarget, Root, Target},
    http::{Credentials, EndpointOptions, NoCredentials, Pool},
    ws::WsOptions,
};
use url::Url;

use super::{
    Error, env_file,
    shared::Shared,
    spec::{Reach, Spec},
    tls::network,
};

/// Set for every process we start, so that one beneath us can tell that it is.
pub const MARKER: &str = "SWITCHBOARD_PARENT";

/// What an editor's own server asks for, as the clients it was made for send it.
const IDE_AUTHORIZATION: &str = "x-claude-code-ide-authorization";

/// Commands of ours that serve what is configured, and so would serve themselves.
const SERVING: [&str; 2] = ["connect", "serve"];

#[derive(Clone, Copy)]
enum Kind {
    Http,
    Sse,
    Ws,
}

/// What to connect to. Looks at files, so it may block.
pub(super) fn build(spec: &Spec, shared: &Shared) -> Result<Target, Error> {
    let entry = match &spec.reach {
        Reach::InProcess(server) => return Ok(Target::InProcess((server.open)()?)),
        Reach::Entry(entry) => entry,
    };
    match &entry.transport {
        Transport::Stdio(stdio) => process(spec, stdio, shared),
        Transport::Http(entry) => remote(Kind::Http, entry, spec, shared),
        Transport::Sse(entry) => remote(Kind::Sse, entry, spec, shared),
        Transport::Ws(entry) => remote(Kind::Ws, entry, spec, shared),
        Transport::SseIde(ide) => editor(Kind::Sse, ide, spec, shared),
        Transport::WsIde(ide) => editor(Kind::Ws, ide, spec, shared),
        // The engine has a link for it, or does not start it.
        Transport::Sdk => Err(Error::NotInProcess),
    }
}

/// How we present ourselves.
pub(super) fn options(spec: &Spec, shared: &Shared) -> ClientOptions {
    let mut options = ClientOptions::new(&shared.client.name, &shared.client.version);
    options.capabilities = spec.class.capabilities();
    options.roots = spec.root.as_deref().and_then(root).map(|root| vec![root]);
    options.connect_timeout = spec.connect_timeout(shared.timing.connect);
    options.eras = match (&spec.reach, spec.era) {
        // All servers in this process look alike from there; and what is not probed is not found out.
        (Reach::InProcess(_), _) | (_, Some(_)) => None,
        (Reach::Entry(_), None) => Some(shared.eras.clone()),
    };
    options.greeting = match spec.era {
        None => Greeting::Probe,
        Some(Era::Legacy) => Greeting::Only(Version::LATEST_LEGACY),
        Some(Era::Modern) => Greeting::Only(Version::LATEST),
    };
    // Where more than one call is under way only the engine knows whose they are.
    options.attribution = Attribution::SoleCall;
    options.legacy_logs = Attribution::SoleCall;
    options
}

fn root(folder: &Path) -> Option<Root> {
    let uri = Url::from_file_path(folder).ok()?.into();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    Some(Root { uri, name })
}

/// The process a spec means, if it means one.
pub(super) fn command(spec: &Spec) -> Option<Result<Command, Error>> {
    match &spec.reach {
        Reach::Entry(entry) => match &entry.transport {
            Transport::Stdio(stdio) => Some(command_of(spec, stdio)),
            _ => None,
        },
        Reach::InProcess(_) => None,
    }
}

/// Whether a variable of a process comes from its entry, and not only from the caller's environment: `env`, the file of
/// variables, or a name in `inheritEnv`.
pub(super) fn names_variable(spec: &Spec, command: &Command, name: &OsStr) -> bool {
    let Reach::Entry(entry) = &spec.reach else { return false };
    let Transport::Stdio(stdio) = &entry.transport else { return false };
    let is_wanted = match (&stdio.inherit_env, name.to_str()) {
        (InheritEnv::Names(names), Some(name)) => names.iter().any(|pattern| glob(pattern, name)),
        _ => false,
    };
    // The caller's variables come first.
    let own = command.env.iter().skip(inherited(spec, &stdio.inherit_env).len());
    is_wanted || own.into_iter().any(|(other, _)| other == name)
}

fn process(spec: &Spec, entry: &Stdio, shared: &Shared) -> Result<Target, Error> {
    let command = command_of(spec, entry)?;
    if is_loop(&command, shared) {
        return Err(Error::Loop);
    }
    let stderr = (shared.stderr)(spec);
    let guard = shared.guard.clone();
    Ok(Target::Stdio(wire::client::Stdio { command, guard, stderr }))
}

fn command_of(spec: &Spec, entry: &Stdio) -> Result<Command, Error> {
    let mut command = Command::new(&entry.command);
    command.args = entry.args.iter().map(OsString::from).collect();
    command.env = inherited(spec, &entry.inherit_env);
    if let Some(file) = &entry.env_file {
        command.env.extend(env_file::read(&spec.working_dir.join(file), spec.scope)?);
    }
    let own = entry.env.iter();
    command.env.extend(own.map(|(name, value)| (name.into(), value.into())));
    command.env.push((MARKER.into(), "1".into()));
    command.cwd = Some(match &entry.cwd {
        Some(cwd) => spec.working_dir.join(cwd),
        None => spec.working_dir.clone(),
    });
    Ok(command)
}

/// The usual few of the caller's variables, and those that the entry asks for.
fn inherited(spec: &Spec, wanted: &InheritEnv) -> Vec<(OsString, OsString)> {
    let is_wanted = |name: &str| match wanted {
        InheritEnv::All(all) => *all,
        InheritEnv::Names(names) => names.iter().any(|pattern| glob(pattern, name)),
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

/// Whether starting it would start us beneath ourselves. What hides us behind a script of its own is found out by
/// the marker, when it starts.
fn is_loop(command: &Command, shared: &Shared) -> bool {
    let serves = || command.args.iter().any(|arg| SERVING.iter().any(|word| arg == word));
    let is_ours = || {
        let ours = shared.program.as_deref().and_then(|file| file.canonicalize().ok());
        let theirs = command.resolve().ok().and_then(|file| file.canonicalize().ok());
        ours.is_some() && ours == theirs
    };
    serves() && is_ours()
}

fn remote(kind: Kind, entry: &Remote, spec: &Spec, shared: &Shared) -> Result<Target, Error> {
    let headers = headers(&entry.headers)?;
    let pool = pool(entry, spec, shared)?;
    reach(kind, &entry.url, headers, spec.credentials.clone(), pool, shared)
}

/// Connections that an entry has certificates for are nobody else's.
fn pool(entry: &Remote, spec: &Spec, shared: &Shared) -> Result<Pool, wire::Error> {
    if entry.tls.is_none() {
        return shared.pool(&spec.proxies());
    }
    let usual = shared.network(&spec.proxies());
    Ok(Pool::new(&network(entry, &spec.working_dir, &usual)?)?)
}

fn editor(kind: Kind, ide: &Ide, spec: &Spec, shared: &Shared) -> Result<Target, Error> {
    let token = ide.auth_token.iter();
    let given = token.map(|token| (IDE_AUTHORIZATION.to_owned(), token.clone())).collect();
    let pool = shared.pool(&spec.proxies())?;
    reach(kind, &ide.url, headers(&given)?, Arc::new(NoCredentials), pool, shared)
}

fn reach(
    kind: Kind,
    url: &str,
    headers: HeaderMap,
    credentials: Arc<dyn Credentials>,
    pool: Pool,
    shared: &Shared,
) -> Result<Target, Error> {
    let url = Url::parse(url).map_err(Error::Url)?;
    if let Kind::Ws = kind {
        let options = Box::new(WsOptions { headers, credentials, ..WsOptions::default() });
        return Ok(Target::WebSocket { url, pool, options });
    }
    let first_byte = shared.timing.first_byte;
    let options =
        EndpointOptions { headers, credentials, first_byte, ..EndpointOptions::default() };
    let target = HttpTarget { url, pool, options };
    Ok(match kind {
        Kind::Sse => Target::Sse(target),
        Kind::Http | Kind::Ws => Target::Http(target),
    })
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let pair = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, value) = pair.ok_or_else(|| Error::Header { name: name.clone() })?;
        headers.append(name, value);
    }
    Ok(headers)
}
