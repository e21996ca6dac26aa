//! The decoder from a tree to an [`Entry`], with a problem for every member that does not fit.
//!
//! Used by `entry_check` and `settings::parse`. It does not expand variables (`expand`) and does not judge
//! policy (`policy`).

use url::Url;

use super::types::{
    ElicitationAnswerer, Entry, IdeTransport, InheritEnv, OAuth, OAuthGrant, ProtocolEra,
    QuestionSettings, RemoteTransport, ServerSharing, SignInOwner, StartPolicy, StdioTransport,
    TlsFiles, ToolFilter, Transport,
};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::redact::redact_text;
use crate::source::{ConfigNode, ConfigValue, LocatedValue, ObjectFields};

/// Whether every variable had a value; if not, a URL may still hold references and is not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completeness {
    Complete,
    Partial,
}

/// The shortest timeout that is not probably meant in seconds.
const MIN_TIMEOUT_MS: u64 = 1000;

/// Decodes one entry; `None` if it is not usable, with the reasons in `problems`.
pub(crate) fn decode_entry(
    name: &str,
    node: &ConfigNode,
    completeness: Completeness,
    problems: &mut Vec<ConfigProblem>,
) -> Option<Entry> {
    let what = format!("server `{name}`");
    let mut fields = ObjectFields::new(node, &what, problems).of_server(name);
    if name.is_empty() {
        fields.reject(ConfigProblemKind::BadValue, "a server needs a name".to_owned(), &node.at);
    }
    let transport = if matches!(node.value, ConfigValue::Object(_)) {
        transport(&mut fields, name, node, completeness)
    } else {
        None
    };
    let entry = transport.map(|transport| common(&mut fields, transport));
    // Without a transport no member was read, so every member would be reported as unknown.
    match entry {
        Some(entry) => fields.finish().then_some(entry),
        None => None,
    }
}

fn common(fields: &mut ObjectFields<'_>, transport: Transport) -> Entry {
    Entry {
        transport,
        timeout: timeout(fields),
        always_load: fields.flag("alwaysLoad").is_some_and(|flag| flag.value),
        disabled: fields.flag("disabled").is_some_and(|flag| flag.value),
        tools: fields.nested("tools", decode_tools).unwrap_or_default(),
        share: share(fields),
        share_principals: fields.flag("sharePrincipals").is_some_and(|flag| flag.value),
        sign_in: sign_in(fields),
        era: era(fields),
        questions: fields.nested("questions", decode_questions),
        start: decode_start(fields),
    }
}

fn transport(
    fields: &mut ObjectFields<'_>,
    name: &str,
    node: &ConfigNode,
    completeness: Completeness,
) -> Option<Transport> {
    let kind = fields.text("type");
    if kind.is_none() && fields_have(node, "type") {
        return None;
    }
    let word = match &kind {
        Some(kind) => kind.value.as_str(),
        None => implied_type(fields, name, node)?,
    };
    match word {
        "stdio" => stdio(fields, node).map(Transport::Stdio),
        "http" | "streamable-http" => {
            remote(fields, node, &["http", "https"], completeness).map(Transport::Http)
        }
        "sse" => remote(fields, node, &["http", "https"], completeness).map(Transport::Sse),
        "ws" => remote(fields, node, &["ws", "wss"], completeness).map(Transport::Ws),
        "sse-ide" => ide(fields, &["http", "https"], completeness).map(Transport::SseIde),
        "ws-ide" => ide(fields, &["ws", "wss"], completeness).map(Transport::WsIde),
        other => refuse_type(fields, other, kind.as_ref()),
    }
}

fn fields_have(node: &ConfigNode, key: &str) -> bool {
    node.get(key).is_some_and(|value| value.value != ConfigValue::Null)
}

/// The type of an entry without `type`: a command means stdio, a URL means http.
fn implied_type(
    fields: &mut ObjectFields<'_>,
    name: &str,
    node: &ConfigNode,
) -> Option<&'static str> {
    match (fields_have(node, "command"), node.get("url")) {
        (true, Some(url)) => {
            let message = format!("server `{name}` has both `command` and `url`, and no `type`");
            fields.reject(ConfigProblemKind::BadValue, message, &url.at);
            None
        }
        (true, None) => Some("stdio"),
        (false, Some(url)) => {
            let message = format!("server `{name}` has a `url` and no `type`; taken as http");
            let hint = ProblemHint::AddMember("\"type\": \"http\"".to_owned());
            fields.add_problem(
                ConfigProblem::note(ConfigProblemKind::UrlWithoutType, message)
                    .at(url.at.clone())
                    .hint(hint),
            );
            Some("http")
        }
        (false, None) => {
            let message = format!("server `{name}` has neither `command` nor `url`");
            fields.reject_missing(message, &["command", "url"], &node.at);
            None
        }
    }
}

fn refuse_type(
    fields: &mut ObjectFields<'_>,
    word: &str,
    kind: Option<&LocatedValue<String>>,
) -> Option<Transport> {
    let at = kind.map(|kind| kind.at.clone())?;
    let message = match word {
        "sdk" => format!(
            "{} is of type `sdk`, which only a host application can register",
            fields.what()
        ),
        _ => format!("{} is of unknown type `{word}`", fields.what()),
    };
    fields.reject(ConfigProblemKind::BadValue, message, &at);
    None
}

fn stdio(fields: &mut ObjectFields<'_>, node: &ConfigNode) -> Option<StdioTransport> {
    let command = fields.required("command");
    let stdio = StdioTransport {
        args: fields.strings("args"),
        env: fields.string_map("env"),
        cwd: fields.string("cwd"),
        env_file: fields.string("envFile"),
        inherit_env: inherit_env(fields),
        command: command.as_ref().map_or_else(String::new, |command| command.value.clone()),
    };
    check_variable_names(fields, &stdio, node);
    command.map(|_| stdio)
}

/// Refuses `=` and NUL in a name, which would set another variable, or none.
fn check_variable_names(fields: &mut ObjectFields<'_>, stdio: &StdioTransport, node: &ConfigNode) {
    for (name, value) in &stdio.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let message = format!(
                "{} cannot set a variable called `{}`",
                fields.what(),
                name.escape_default()
            );
            let at = node.get("env").map_or(&node.at, |env| &env.at).clone();
            fields.reject(ConfigProblemKind::BadValue, message, &at);
        }
    }
}

fn inherit_env(fields: &mut ObjectFields<'_>) -> InheritEnv {
    match fields.node("inheritEnv").map(|node| &node.value) {
        Some(ConfigValue::Bool(all)) => InheritEnv::All(*all),
        Some(_) => InheritEnv::Names(fields.strings("inheritEnv")),
        None => InheritEnv::default(),
    }
}

fn remote(
    fields: &mut ObjectFields<'_>,
    node: &ConfigNode,
    schemes: &[&str],
    completeness: Completeness,
) -> Option<RemoteTransport> {
    let url = fields.required("url");
    if let Some(url) = &url {
        check_url(fields, "url", url, schemes, completeness);
    }
    let remote = RemoteTransport {
        headers: fields.string_map("headers"),
        headers_helper: fields.string("headersHelper"),
        oauth: if schemes.contains(&"http") { oauth(fields) } else { None },
        tls: fields.nested("tls", tls),
        url: url.as_ref().map_or_else(String::new, |url| url.value.clone()),
    };
    check_headers(fields, &remote, node);
    url.map(|_| remote)
}

fn check_url(
    fields: &mut ObjectFields<'_>,
    key: &str,
    url: &LocatedValue<String>,
    schemes: &[&str],
    completeness: Completeness,
) {
    if completeness == Completeness::Partial && url.value.contains("${") {
        return;
    }
    let why = match Url::parse(&url.value) {
        Ok(parsed) if !schemes.contains(&parsed.scheme()) => {
            format!("must start with {}://", schemes.join(":// or "))
        }
        Ok(parsed) if parsed.host_str().is_none_or(str::is_empty) => "has no host".to_owned(),
        Ok(_) => return,
        Err(error) => format!("is not a URL: {error}"),
    };
    let message =
        format!("`{key}` of {} {why} (it is `{}`)", fields.what(), redact_text(&url.value));
    fields.reject(ConfigProblemKind::BadValue, message, &url.at);
}

/// Refuses line breaks in a header, with which one value could add further headers.
fn check_headers(fields: &mut ObjectFields<'_>, remote: &RemoteTransport, node: &ConfigNode) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    for (name, value) in &remote.headers {
        let sound =
            !name.is_empty() && name.chars().all(is_token) && !value.contains(['\r', '\n', '\0']);
        if !sound {
            let message =
                format!("{} cannot send the header `{}`", fields.what(), name.escape_default());
            let at = node.get("headers").map_or(&node.at, |headers| &headers.at).clone();
            fields.reject(ConfigProblemKind::BadValue, message, &at);
        }
    }
}

fn ide(
    fields: &mut ObjectFields<'_>,
    schemes: &[&str],
    completeness: Completeness,
) -> Option<IdeTransport> {
    let url = fields.required("url");
    if let Some(url) = &url {
        check_url(fields, "url", url, schemes, completeness);
    }
    let (ide_name, auth_token) = (fields.string("ideName"), fields.string("authToken"));
    url.map(|url| IdeTransport { url: url.value, ide_name, auth_token })
}

fn tls(fields: &mut ObjectFields<'_>) -> TlsFiles {
    let (cert_file, key_file) = (fields.string("certFile"), fields.text("keyFile"));
    if let Some(key) = key_file.as_ref().filter(|_| cert_file.is_none()) {
        let message = format!("`keyFile` of {} needs `certFile`", fields.what());
        fields.reject(ConfigProblemKind::BadValue, message, &key.at);
    }
    TlsFiles {
        cert_file,
        key_file: key_file.map(|key| key.value),
        ca_file: fields.string("caFile"),
    }
}

fn oauth(fields: &mut ObjectFields<'_>) -> Option<OAuth> {
    fields.nested("oauth", |fields| OAuth {
        client_id: fields.string("clientId"),
        client_secret: fields.string("clientSecret"),
        client_metadata_url: fields.string("clientMetadataUrl"),
        callback_port: decode_callback_port(fields),
        auth_server_metadata_url: metadata_url(fields),
        scopes: decode_scopes(fields),
        grant: grant(fields),
        private_key_file: fields.string("privateKeyFile"),
        signing_algorithm: fields.string("signingAlgorithm"),
        assertion_file: fields.string("assertionFile"),
        dpop: fields.flag("dpop").map(|flag| flag.value),
        xaa: fields.flag("xaa").map(|flag| flag.value),
    })
}

/// Decodes a list, or the space-separated string that OAuth itself uses.
pub(crate) fn decode_scopes(fields: &mut ObjectFields<'_>) -> Vec<String> {
    match fields.node("scopes").map(|node| &node.value) {
        Some(ConfigValue::String(words)) => words.split_whitespace().map(str::to_owned).collect(),
        Some(_) => fields.strings("scopes"),
        None => Vec::new(),
    }
}

pub(crate) fn decode_callback_port(fields: &mut ObjectFields<'_>) -> Option<u16> {
    let port = fields.integer("callbackPort")?;
    match u16::try_from(port.value) {
        Ok(number) if number > 0 => Some(number),
        _ => {
            let message = format!("`callbackPort` of {} must be from 1 to 65535", fields.what());
            fields.reject(ConfigProblemKind::BadValue, message, &port.at);
            None
        }
    }
}

fn metadata_url(fields: &mut ObjectFields<'_>) -> Option<String> {
    let url = fields.text("authServerMetadataUrl")?;
    check_url(fields, "authServerMetadataUrl", &url, &["https", "http"], Completeness::Partial);
    Some(url.value)
}

fn grant(fields: &mut ObjectFields<'_>) -> Option<OAuthGrant> {
    fields.choice(
        "grant",
        [
            ("authorization_code", OAuthGrant::AuthorizationCode),
            ("client_credentials", OAuthGrant::ClientCredentials),
            ("urn:ietf:params:oauth:grant-type:jwt-bearer", OAuthGrant::JwtBearer),
        ],
    )
}

fn timeout(fields: &mut ObjectFields<'_>) -> Option<u64> {
    let timeout = fields.integer("timeout")?;
    if timeout.value >= MIN_TIMEOUT_MS {
        return Some(timeout.value);
    }
    let message = format!(
        "`timeout` of {} is {} ms; it counts milliseconds and cannot be below {MIN_TIMEOUT_MS}",
        fields.what(),
        timeout.value
    );
    fields.reject(ConfigProblemKind::BadValue, message, &timeout.at);
    None
}

pub(crate) fn decode_tools(fields: &mut ObjectFields<'_>) -> ToolFilter {
    let allow = fields.texts("allow");
    let allow = allow.map(|globs| globs.into_iter().map(|glob| glob.value).collect());
    ToolFilter { allow, deny: fields.strings("deny") }
}

fn era(fields: &mut ObjectFields<'_>) -> Option<ProtocolEra> {
    fields.choice("era", [("legacy", ProtocolEra::Legacy), ("modern", ProtocolEra::Modern)])
}

/// Decodes `questions`, of an entry or of a settings file.
pub(crate) fn decode_questions(fields: &mut ObjectFields<'_>) -> QuestionSettings {
    let answerers =
        [("client", ElicitationAnswerer::Client), ("queue", ElicitationAnswerer::Queue)];
    QuestionSettings { elicitation: fields.choice("elicitation", answerers) }
}

/// Decodes `start`, of an entry or of a settings file.
pub(crate) fn decode_start(fields: &mut ObjectFields<'_>) -> Option<StartPolicy> {
    let word = fields.text("start")?;
    match word.value.as_str() {
        "lazy" => Some(StartPolicy::Lazy),
        "eager" => Some(StartPolicy::Eager),
        other => {
            let what = fields.what();
            let message = format!("`start` of {what} is `lazy` or `eager`, not `{other}`");
            fields.reject(ConfigProblemKind::BadValue, message, &word.at);
            None
        }
    }
}

fn sign_in(fields: &mut ObjectFields<'_>) -> SignInOwner {
    let owners = [("own", SignInOwner::EachPrincipal), ("shared", SignInOwner::Shared)];
    fields.choice("signIn", owners).unwrap_or(SignInOwner::EachPrincipal)
}

fn share(fields: &mut ObjectFields<'_>) -> ServerSharing {
    let shares = [
        ("auto", ServerSharing::Auto),
        ("always", ServerSharing::Always),
        ("never", ServerSharing::Never),
    ];
    fields.choice("share", shares).unwrap_or(ServerSharing::Auto)
}
