//! Hints: the next step for a person, for each kind of error. All advice of the program is in this file.
//!
//! Used by `report`, `command_engine` and the commands that fail with a hint. It does not format failures (`report`
//! does).

use std::path::Path;

use switchboard_config::secret::{is_valid_secret_name, secret_reference};
use switchboard_config::{
    self as config, ConfigProblemKind as ProblemKind, ProblemSeverity, Scope, SourceLocation,
    SourceOrigin, command_line, quote_arguments,
};
use switchboard_core::CallError;
use switchboard_core::connection::certificate_variables;
use switchboard_core::permission::DecisionReason;
use switchboard_hub::HubError;
use switchboard_process::SpawnError;
use switchboard_wire::http::{ConnectFailure, HttpError};
use switchboard_wire::{Error, Remedy, sanitize};

/// The server that an error is about: the remedy depends on where its settings are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// A server named on the command line.
    Typed(Reach),
    /// A server of the configuration.
    Configured(&'a str, Reach),
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A command starts the server.
    Command,
    /// The server has a URL, or its transport is not known.
    Url,
}

// === impl Reach ===

impl Reach {
    /// Converts the name of a transport, if the transport is known.
    pub(crate) fn of_transport(transport: Option<&str>) -> Self {
        match transport {
            Some("stdio") => Self::Command,
            _ => Self::Url,
        }
    }
}

/// The hint for an error of a server, if there is one.
pub(crate) fn for_error(error: &Error, subject: &Subject<'_>) -> Option<String> {
    if let Error::Exited { stderr, .. } = error
        && let Some(variables) = certificate_variables(stderr)
    {
        return Some(untrusted_certificate(variables));
    }
    if let Error::Http(error) = error
        && let Some(advice) = of_address(error)
    {
        return Some(in_entry(advice, subject));
    }
    let advice = match error {
        Error::Spawn(error) => return of_spawn(error, subject),
        Error::StrayText { .. } => {
            "standard output is for messages only; a server that listens on a port is added by its URL"
        }
        Error::Exited { stderr, .. } if stderr.trim().is_empty() => {
            "the server printed nothing; run its command by hand to see why"
        }
        Error::Exited { .. } => {
            "the lines above are the server's own; run the command by hand to see all of them"
        }
        Error::Timeout { .. } => return Some(of_timeout(subject)),
        // The error came from a hub, which has added its hint already.
        Error::Remote(_) => return None,
        Error::NoCommonVersion { .. } => {
            "the server speaks other versions of the protocol; an update of the server or of Switchboard may help"
        }
        Error::Status { status: 404 | 405, .. } => {
            "the path of the URL may be wrong; many servers use `/mcp`"
        }
        other => return of_remedy(other.remedy(), subject),
    };
    Some(advice.to_owned())
}

/// For a server whose program, or the program that downloads it, did not trust a certificate.
fn untrusted_certificate(variables: &[&str]) -> String {
    let variables: Vec<_> = variables.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "a certificate is not trusted, perhaps that of your company; name its file in {}, in your environment or in \
         `env` of the entry",
        variables.join(" and ")
    )
}

/// For a server that needs an identity provider, while settings name none.
pub(crate) fn no_identity_provider() -> &'static str {
    "name one with `switchboard xaa setup`"
}

/// For a URL whose host name or scheme is wrong.
fn of_address(error: &HttpError) -> Option<&'static str> {
    match error {
        HttpError::Connect { kind: ConnectFailure::Dns, .. } => Some("check the host name"),
        HttpError::Connect { kind: ConnectFailure::NotTls, .. } => {
            Some("try `http://` in place of `https://`")
        }
        _ => None,
    }
}

/// Advice about a URL, with the command that changes the entry.
fn in_entry(advice: &str, subject: &Subject<'_>) -> String {
    match subject {
        Subject::Typed(_) => advice.to_owned(),
        Subject::Configured(name, _) => format!("{advice}: `{}`", command_line("edit", [name])),
    }
}

fn of_timeout(subject: &Subject<'_>) -> String {
    let (reach, more) = match subject {
        Subject::Typed(reach) => (reach, "allow more with `--timeout`"),
        Subject::Configured(_, reach) => (reach, "allow more with `MCP_TIMEOUT` (milliseconds)"),
    };
    let first = match reach {
        Reach::Command => "a first start through npx or uvx can be slow",
        Reach::Url => "the server may be slow or busy",
    };
    format!("{first}; {more}")
}

fn of_remedy(remedy: Remedy, subject: &Subject<'_>) -> Option<String> {
    Some(match (remedy, subject) {
        (Remedy::SignIn, Subject::Typed(_)) => {
            "the server wants credentials; pass them with `-H 'Authorization: …'`".to_owned()
        }
        (Remedy::SignIn, Subject::Configured(name, _)) => sign_in(name),
        (Remedy::Reconfigure, Subject::Typed(_)) => "check the URL and its certificate".to_owned(),
        (Remedy::Reconfigure, Subject::Configured(name, _)) => {
            format!("check its URL and its certificate with `{}`", command_line("edit", [name]))
        }
        (Remedy::Retry, _) => down().to_owned(),
        (Remedy::Unknown | Remedy::AskUser | Remedy::GiveUp, _) => return None,
    })
}

fn of_spawn(error: &SpawnError, subject: &Subject<'_>) -> Option<String> {
    let otherwise = match subject {
        Subject::Typed(_) => "give the command's full path".to_owned(),
        Subject::Configured(name, _) => {
            format!("change `command` with `{}`", command_line("edit", [name]))
        }
    };
    match error {
        SpawnError::NotFound { program, .. } => {
            let first = installing(&program.to_string_lossy());
            Some(format!("{first}, or {otherwise}"))
        }
        SpawnError::IsDirectory { .. } => Some("name a program inside it".into()),
        SpawnError::NotExecutable { path } => {
            Some(format!("`chmod +x {}`, or name the program that runs it", path.display()))
        }
        SpawnError::BadWorkingDirectory { .. } => Some("create it, or change `cwd`".into()),
        _ => None,
    }
}

/// How to install a command that was not found.
pub(crate) fn installing(program: &str) -> &'static str {
    match program {
        "npx" | "node" | "npm" => "install Node.js",
        "uvx" | "uv" => "install uv",
        "docker" => "install Docker",
        "bunx" | "bun" => "install Bun",
        _ => "check the spelling",
    }
}

/// For a secret in plain text: store it under a name that is like the name of its variable.
pub(crate) fn storing(variable: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = variable.chars().map(plain).collect();
    let name = if is_valid_secret_name(&name) { name } else { "NAME".to_owned() };
    let reference = secret_reference(&name);
    format!("store it with `switchboard secret set {name}`, and write `{reference}` in its place")
}

/// The hint for a failed change of the configuration.
pub(crate) fn of_config(error: &config::Error) -> Option<String> {
    use config::Error as E;
    Some(match error {
        E::Exists { name, scope, .. } => format!(
            "change it with `{}`, or remove it first with `{}`",
            command_line("edit", [name]),
            command_line(&format!("remove -s {scope}"), [name])
        ),
        E::NoServer { .. } => no_server(),
        E::NotConfigured { name } => {
            format!("switch it off with `{}`", command_line("disable", [name]))
        }
        E::Ambiguous { name, scopes } => {
            let first = scopes.first().copied().unwrap_or(Scope::Local);
            format!("choose one of them, such as `-s {first} {}`", quote_arguments([name]))
        }
        E::ReadOnly { scope } => of_read_only(*scope),
        E::Managed { .. } => "ask the administrator of this machine".to_owned(),
        E::Blocked { .. } => {
            "change that rule if it is yours, or ask the administrator of this machine".to_owned()
        }
        E::Edit { path, .. } => format!("correct {} first; nothing was changed", path.display()),
        E::LeadsOut { .. } | E::LinkNotFollowed { .. } => "replace the link with a file".to_owned(),
        E::Contended { .. } => "try again".to_owned(),
        E::PlanOutdated { .. } => "run the command again, and check the new plan".to_owned(),
        E::SecretStore { source } => return of_secret_store(&**source),
        E::State { .. } => "move that file away; what it approved is then asked again".to_owned(),
        E::Read { .. } | E::Write { .. } | E::Lock { .. } => {
            "check who owns it and who may write there".to_owned()
        }
        E::Rule { .. } => {
            "rules look like `mcp__server__tool`, or have conditions: docs/features/permissions.md"
                .to_owned()
        }
        E::NoRule { .. } => "it may have been changed since; look at the rules again".to_owned(),
        E::Entry { problems, .. } => return first_hint(problems),
        _ => return None,
    })
}

/// The hint for a secret store that cannot be used.
pub(crate) fn of_secret_store(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    use switchboard_auth::SecretStoreError;
    let SecretStoreError::File(error) = error.downcast_ref::<SecretStoreError>()? else {
        return None;
    };
    match error {
        config::Error::State { path, .. } => Some(format!(
            "repair `{}`, or move it away and store the secrets again",
            path.display()
        )),
        error => of_config(error),
    }
}

/// The message of an error of the hub, in the words of the command line.
pub(crate) fn message_of_hub(error: &HubError) -> String {
    match error {
        HubError::RunConfiguration(_) => "cannot use `--mcp-config`".to_owned(),
        HubError::BareNames => "`--names bare` is for one server only".to_owned(),
        HubError::ResourceUrl { url } => {
            format!("`{url}` is not a valid URL for `--auth-resource`")
        }
        HubError::IssuerUrl { url } => format!("`{url}` is not a valid URL for `--auth-issuer`"),
        error => error.to_string(),
    }
}

/// The advice about a hub, a workspace or an address that could not be opened.
pub(crate) fn of_hub(error: &HubError) -> Option<String> {
    let hint = match error {
        HubError::Descriptors { .. } => "raise the limit of open files, `ulimit -n`; 1024 is usual",
        HubError::RunConfiguration(problem) => match problem.kind {
            ProblemKind::Malformed | ProblemKind::Unreadable => {
                "check its name, and that it is a file of JSON"
            }
            _ => r#"its form is `{"mcpServers": {"name": {"command": "…"}}}`"#,
        },
        HubError::Agent(problem) => match problem.kind {
            ProblemKind::AgentNotFound => {
                "agents are Markdown files in `.switchboard/agents` of a project, and in `agents` beside your settings"
            }
            _ => "see `switchboard list`, or change `requiredMcpServers` of the agent",
        },
        HubError::BareNames => "name the one server with `--servers`, or choose another style",
        HubError::UnknownServer { .. } => "see `switchboard list`",
        HubError::Bind { .. } => {
            "choose another address with `--listen`; `--listen 0` takes a free port"
        }
        HubError::UserAuthBeyondMachine { .. } => {
            "leave `--auth user` out: clients need a token there"
        }
        HubError::ResourceUrl { .. } => "give one like https://hub.example.com, without a path",
        HubError::IssuerUrl { .. } => "give one like https://login.example.com",
        HubError::ClientSecretFile { .. } => {
            "the file holds the client secret that the issuer gave this hub, and nothing else"
        }
        HubError::NoToken { .. } => {
            "create one with `switchboard token create --name <client>`, and try again"
        }
        HubError::Tls { cert, key, .. } => {
            let (cert, key) = (cert.display(), key.display());
            return Some(format!(
                "`{cert}` has to hold the certificate, and `{key}` its private key, in PEM"
            ));
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// For a server that did not answer.
pub(crate) fn down() -> &'static str {
    "the server may be down; try again"
}

/// For a call that may have been carried out.
pub(crate) fn check_first() -> &'static str {
    "check whether the call was carried out before you repeat it"
}

/// For a name that no server has.
pub(crate) fn no_server() -> String {
    "`switchboard list --no-check` shows every server".to_owned()
}

fn of_read_only(scope: Scope) -> String {
    match scope {
        Scope::Inherited => {
            "change it in the client it comes from, or switch it off with `switchboard disable`"
        }
        Scope::Plugin => "it comes with a plugin; switch it off with `switchboard disable`",
        Scope::Dynamic => "change what `--mcp-config` gives",
        _ => "ask the administrator of this machine, or switch it off with `switchboard disable`",
    }
    .to_owned()
}

fn first_hint(problems: &[config::ConfigProblem]) -> Option<String> {
    let mut problems = problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error);
    let hint = problems.find_map(|problem| problem.hint.as_ref());
    hint.map(|hint| sanitize::sanitize_line(&hint.to_string()).into_owned())
}

/// Causes in the words of the command line, where the library's message would repeat the location.
pub(crate) fn causes_of_config(error: &config::Error) -> Option<Vec<String>> {
    use config::Error as E;
    let clean = |text: &str| sanitize::sanitize_line(text).into_owned();
    match error {
        E::Exists { name, scope, .. } => {
            Some(vec![format!("there is a server `{}` in the {scope} scope already", clean(name))])
        }
        E::Blocked { why, .. } => Some(vec![clean(why)]),
        E::Entry { problems, .. } => {
            let errors =
                problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error);
            Some(errors.map(|problem| clean(&problem.message)).collect())
        }
        _ => None,
    }
}

/// The file and line that an error is about.
pub(crate) fn place_of_config(error: &config::Error) -> Option<SourceLocation> {
    use config::Error as E;
    let start = |path: &Path| Some(SourceOrigin::file(path).start());
    match error {
        E::Exists { at, .. } => Some(at.clone()),
        E::Blocked { by, .. } => by.clone(),
        E::Managed { path } => start(path),
        E::Edit { path, source: config::edit::EditError::Malformed { line, column, .. } } => {
            Some(SourceLocation { origin: SourceOrigin::file(path), line: *line, column: *column })
        }
        _ => None,
    }
}

/// For an entry of a project that awaits approval.
pub(crate) fn approve(name: &str) -> String {
    format!("look at it and run `{}`", command_line("approve", [name]))
}

/// For a server that is connected and does not answer.
pub(crate) fn silent(name: &str) -> String {
    let reconnect = command_line("reconnect", [name]);
    format!("it may be busy with a call, or hang; `{reconnect}` restarts it")
}

/// For a call that was denied, or with a permission question that was not answered.
pub(crate) fn of_denial(error: &CallError) -> Option<String> {
    match error {
        CallError::Denied { because, .. } if matches!(**because, DecisionReason::Rule(_)) => {
            Some("change that rule if it is yours".to_owned())
        }
        error => error.permission_advice(),
    }
}

/// The advice about a call that failed before it reached its server.
pub(crate) fn of_call(error: &CallError) -> Option<String> {
    Some(match error {
        CallError::Denied { .. } | CallError::Unanswered { .. } => return of_denial(error),
        CallError::NotStarted { server, state: "disabled", .. } => {
            format!("run `{}`", command_line("enable", [server]))
        }
        CallError::NotStarted { server, state: "awaiting-approval", .. } => approve(server),
        CallError::NotStarted { server, .. } => {
            format!("`{}` shows why", command_line("get", [server]))
        }
        CallError::Busy { .. } => "try again".to_owned(),
        CallError::Lost => {
            "check whether the call was carried out before you repeat it; a new hub starts by itself".to_owned()
        }
        _ => return None,
    })
}

/// For a server without usable credentials.
pub(crate) fn examine_sign_in(server: &str) -> String {
    format!("`{}` shows each step", command_line("doctor auth", [server]))
}

const CALL_TIMEOUT: &str = "allow more with `--timeout`, with `timeout` in its entry, or with `MCP_TOOL_TIMEOUT` (milliseconds)";
const CALL_TIME_LIMIT: &str =
    "allow more with `--time-limit`, or with `limits.callTimeLimitMs` in your settings";

/// For a call whose time is over.
pub(crate) fn of_slow_call(error: &Error) -> Option<&'static str> {
    match error {
        Error::Timeout { .. } => Some(CALL_TIMEOUT),
        Error::TimeLimit { .. } => Some(CALL_TIME_LIMIT),
        _ => None,
    }
}

/// Whether a hint is about the time that a call may take.
pub(crate) fn is_about_time(hint: &str) -> bool {
    [CALL_TIMEOUT, CALL_TIME_LIMIT].contains(&hint)
}

/// For a server that needs a sign-in.
pub(crate) fn sign_in(server: &str) -> String {
    format!("sign in with `{}`", command_line("login", [server]))
}

/// For a server that refuses the credentials of its entry.
pub(crate) fn own_credentials(server: &str) -> String {
    let edit = command_line("edit", [server]);
    format!("change the headers, or the helper that prints them, with `{edit}`")
}
