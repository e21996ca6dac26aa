//! From a tree to an [`Entry`], with a problem for everything that does not fit.

use url::Url;

use super::types::{
    ElicitationAnswerer, Entry, Grant, Ide, InheritEnv, OAuth, ProtocolEra, QuestionSettings,
    Remote, Share, Stdio, Tls, ToolFilter, Transport,
};
use crate::mask::masked_text;
use crate::problem::{Hint, Kind, Problem};
use crate::source::{Fields, Located, Node, Value};

/// Whether every variable had a value; where not, a URL may still hold references and cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completeness {
    Complete,
    Partial,
}

/// The shortest timeout that is not a mistake for seconds.
const MIN_TIMEOUT: u64 = 1000;

/// Decodes one entry; `None` where it is not usable, and `problems` say why.
pub(crate) fn entry(
    name: &str,
    node: &Node,
    completeness: Completeness,
    problems: &mut Vec<Problem>,
) -> Option<Entry> {
    let what = format!("server `{name}`");
    let mut fields = Fields::new(node, &what, problems).of_server(name);
    if name.is_empty() {
        fields.wrong(Kind::BadValue, "a server needs a name".to_owned(), &node.at);
    }
    let transport = if matches!(node.value, Value::Object(_)) {
        transport(&mut fields, name, node, completeness)
    } else {
        None
    };
    let entry = transport.map(|transport| common(&mut fields, transport));
    // Without a transport nobody asked for the members, so all of them would look unknown.
    match entry {
        Some(entry) => fields.finish().then_some(entry),
        None => None,
    }
}

fn common(fields: &mut Fields<'_>, transport: Transport) -> Entry {
    Entry {
        transport,
        timeout: timeout(fields),
        always_load: fields.flag("alwaysLoad").is_some_and(|flag| flag.value),
        disabled: fields.flag("disabled").is_some_and(|flag| flag.value),
        tools: fields.nested("tools", tools).unwrap_or_default(),
        share: share(fields),
        share_principals: fields.flag("sharePrincipals").is_some_and(|flag| flag.value),
        era: era(fields),
        questions: fields.nested("questions", questions),
    }
}

fn transport(
    fields: &mut Fields<'_>,
    name: &str,
    node: &Node,
    completeness: Completeness,
) -> Option<Transport> {
    let kind = fields.text("type");
    if kind.is_none() && fields_have(node, "type") {
        return None;
    }
    let word = match &kind {
        Some(kind) => kind.value.as_str(),
        None => implied(fields, name, node)?,
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
        other => refused(fields, other, kind.as_ref()),
    }
}

fn fields_have(node: &Node, key: &str) -> bool {
    node.get(key).is_some_and(|value| value.value != Value::Null)
}

/// What an entry without `type` is: a command is stdio, a URL is http.
fn implied(fields: &mut Fields<'_>, name: &str, node: &Node) -> Option<&'static str> {
    match (fields_have(node, "command"), node.get("url")) {
        (true, Some(url)) => {
            let message = format!("server `{name}` has both `command` and `url`, and no `type`");
            fields.wrong(Kind::BadValue, message, &url.at);
            None
        }
        (true, None) => Some("stdio"),
        (false, Some(url)) => {
            let message = format!("server `{name}` has a `url` and no `type`; taken as http");
            let hint = Hint::AddMember("\"type\": \"http\"".to_owned());
            fields.mention(
                Problem::note(Kind::UrlWithoutType, message).at(url.at.clone()).hint(hint),
            );
            Some("http")
        }
        (false, None) => {
            let message = format!("server `{name}` has neither `command` nor `url`");
            fields.wrong(Kind::MissingMember, message, &node.at);
            None
        }
    }
}

fn refused(
    fields: &mut Fields<'_>,
    word: &str,
    kind: Option<&Located<String>>,
) -> Option<Transport> {
    let at = kind.map(|kind| kind.at.clone())?;
    let message = match word {
        "sdk" => format!(
            "{} is of type `sdk`, which only a host application can register",
            fields.what()
        ),
        _ => format!("{} is of unknown type `{word}`", fields.what()),
    };
    fields.wrong(Kind::BadValue, message, &at);
    None
}

fn stdio(fields: &mut Fields<'_>, node: &Node) -> Option<Stdio> {
    let command = fields.required("command");
    let stdio = Stdio {
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

/// A name with `=` or NUL in it would mean another variable, or none.
fn check_variable_names(fields: &mut Fields<'_>, stdio: &Stdio, node: &Node) {
    for (name, value) in &stdio.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let message = format!(
                "{} cannot set a variable called `{}`",
                fields.what(),
                name.escape_default()
            );
            let at = node.get("env").map_or(&node.at, |env| &env.at).clone();
            fields.wrong(Kind::BadValue, message, &at);
        }
    }
}

fn inherit_env(fields: &mut Fields<'_>) -> InheritEnv {
    match fields.node("inheritEnv").map(|node| &node.value) {
        Some(Value::Bool(all)) => InheritEnv::All(*all),
        Some(_) => InheritEnv::Names(fields.strings("inheritEnv")),
        None => InheritEnv::default(),
    }
}

fn remote(
    fields: &mut Fields<'_>,
    node: &Node,
    schemes: &[&str],
    completeness: Completeness,
) -> Option<Remote> {
    let url = fields.required("url");
    if let Some(url) = &url {
        check_url(fields, "url", url, schemes, completeness);
    }
    let remote = Remote {
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
    fields: &mut Fields<'_>,
    key: &str,
    url: &Located<String>,
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
        format!("`{key}` of {} {why} (it is `{}`)", fields.what(), masked_text(&url.value));
    fields.wrong(Kind::BadValue, message, &url.at);
}

/// A line break in a header would let one value write further headers.
fn check_headers(fields: &mut Fields<'_>, remote: &Remote, node: &Node) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    for (name, value) in &remote.headers {
        let sound =
            !name.is_empty() && name.chars().all(is_token) && !value.contains(['\r', '\n', '\0']);
        if !sound {
            let message =
                format!("{} cannot send the header `{}`", fields.what(), name.escape_default());
            let at = node.get("headers").map_or(&node.at, |headers| &headers.at).clone();
            fields.wrong(Kind::BadValue, message, &at);
        }
    }
}

fn ide(fields: &mut Fields<'_>, schemes: &[&str], completeness: Completeness) -> Option<Ide> {
    let url = fields.required("url");
    if let Some(url) = &url {
        check_url(fields, "url", url, schemes, completeness);
    }
    let (ide_name, auth_token) = (fields.string("ideName"), fields.string("authToken"));
    url.map(|url| Ide { url: url.value, ide_name, auth_token })
}

fn tls(fields: &mut Fields<'_>) -> Tls {
    let (cert_file, key_file) = (fields.string("certFile"), fields.text("keyFile"));
    if let Some(key) = key_file.as_ref().filter(|_| cert_file.is_none()) {
        let message = format!("`keyFile` of {} needs `certFile`", fields.what());
        fields.wrong(Kind::BadValue, message, &key.at);
    }
    Tls { cert_file, key_file: key_file.map(|key| key.value), ca_file: fields.string("caFile") }
}

fn oauth(fields: &mut Fields<'_>) -> Option<OAuth> {
    fields.nested("oauth", |fields| OAuth {
        client_id: fields.string("clientId"),
        client_secret: fields.string("clientSecret"),
        client_metadata_url: fields.string("clientMetadataUrl"),
        callback_port: callback_port(fields),
        auth_server_metadata_url: metadata_url(fields),
        scopes: scopes(fields),
        grant: grant(fields),
        private_key_file: fields.string("privateKeyFile"),
        signing_algorithm: fields.string("signingAlgorithm"),
        assertion_file: fields.string("assertionFile"),
        dpop: fields.flag("dpop").map(|flag| flag.value),
        xaa: fields.flag("xaa").map(|flag| flag.value),
    })
}

/// A list, or the space-separated string that OAuth itself uses.
pub(crate) fn scopes(fields: &mut Fields<'_>) -> Vec<String> {
    match fields.node("scopes").map(|node| &node.value) {
        Some(Value::String(words)) => words.split_whitespace().map(str::to_owned).collect(),
        Some(_) => fields.strings("scopes"),
        None => Vec::new(),
    }
}

pub(crate) fn callback_port(fields: &mut Fields<'_>) -> Option<u16> {
    let port = fields.whole("callbackPort")?;
    match u16::try_from(port.value) {
        Ok(number) if number > 0 => Some(number),
        _ => {
            let message = format!("`callbackPort` of {} must be from 1 to 65535", fields.what());
            fields.wrong(Kind::BadValue, message, &port.at);
            None
        }
    }
}

fn metadata_url(fields: &mut Fields<'_>) -> Option<String> {
    let url = fields.text("authServerMetadataUrl")?;
    check_url(fields, "authServerMetadataUrl", &url, &["https", "http"], Completeness::Partial);
    Some(url.value)
}

fn grant(fields: &mut Fields<'_>) -> Option<Grant> {
    let word = fields.text("grant")?;
    match word.value.as_str() {
        "authorization_code" => Some(Grant::AuthorizationCode),
        "client_credentials" => Some(Grant::ClientCredentials),
        "urn:ietf:params:oauth:grant-type:jwt-bearer" => Some(Grant::JwtBearer),
        other => {
            let message = format!("`grant` of {} cannot be `{other}`", fields.what());
            fields.wrong(Kind::BadValue, message, &word.at);
            None
        }
    }
}

fn timeout(fields: &mut Fields<'_>) -> Option<u64> {
    let timeout = fields.whole("timeout")?;
    if timeout.value >= MIN_TIMEOUT {
        return Some(timeout.value);
    }
    let message = format!(
        "`timeout` of {} is {} ms; it counts milliseconds and cannot be below {MIN_TIMEOUT}",
        fields.what(),
        timeout.value
    );
    fields.wrong(Kind::BadValue, message, &timeout.at);
    None
}

pub(crate) fn tools(fields: &mut Fields<'_>) -> ToolFilter {
    let allow = fields.texts("allow");
    let allow = allow.map(|globs| globs.into_iter().map(|glob| glob.value).collect());
    ToolFilter { allow, deny: fields.strings("deny") }
}

fn era(fields: &mut Fields<'_>) -> Option<ProtocolEra> {
    let word = fields.text("era")?;
    match word.value.as_str() {
        "legacy" => Some(ProtocolEra::Legacy),
        "modern" => Some(ProtocolEra::Modern),
        other => {
            let message = format!("`era` of {} cannot be `{other}`", fields.what());
            fields.wrong(Kind::BadValue, message, &word.at);
            None
        }
    }
}

/// `questions`, of an entry or of a settings file.
pub(crate) fn questions(fields: &mut Fields<'_>) -> QuestionSettings {
    let Some(word) = fields.text("elicitation") else { return QuestionSettings::default() };
    let elicitation = match word.value.as_str() {
        "client" => Some(ElicitationAnswerer::Client),
        "queue" => Some(ElicitationAnswerer::Queue),
        other => {
            let message = format!("`elicitation` of {} cannot be `{other}`", fields.what());
            fields.wrong(Kind::BadValue, message, &word.at);
            None
        }
    };
    QuestionSettings { elicitation }
}

fn share(fields: &mut Fields<'_>) -> Share {
    let Some(word) = fields.text("share") else {
        return Share::Auto;
    };
    match word.value.as_str() {
        "auto" => Share::Auto,
        "always" => Share::Always,
        "never" => Share::Never,
        other => {
            let message = format!("`share` of {} cannot be `{other}`", fields.what());
            fields.wrong(Kind::BadValue, message, &word.at);
            Share::Auto
        }
    }
}
