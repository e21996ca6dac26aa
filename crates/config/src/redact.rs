//! Redaction of secrets in entries and texts.
//!
//! Used by `list`, `get`, the entry forms of console and terminal UI, logs and errors. References to
//! variables are shown, because they say where a secret comes from; literal text in a place where secrets
//! usually stand is hidden, as is the default of a reference there.
//!
//! It is not used for approval. Redaction depends on text that the author of a project chose, who could use
//! it to hide a part of a command. A person who is asked to approve an item sees it as it stands in the file.

use serde_json::{Map, Value};

use crate::expand::{TemplatePiece, split_template};

/// The prefixes of well-known tokens.
const TOKEN_PREFIXES: &[&str] = &[
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "eyJ",
    "npm_",
    "pypi-",
    "hf_",
    "dop_v1_",
    "lin_api_",
    "ntn_",
    "sk_live_",
    "sk_test_",
    "sb_",
];

/// The replacement of a secret; always equal, so that not even the length is shown.
pub const REDACTED: &str = "********";

/// A copy of an entry with its secrets redacted: values of `env` and `headers`, user information and
/// token-like parameters of URLs, arguments after token-like flags, and every member with a token-like name.
pub fn redact_entry(entry: &Value) -> Value {
    match entry {
        Value::Object(members) => members.iter().map(redact_member).collect::<Map<_, _>>().into(),
        Value::Array(elements) => elements.iter().map(redact_entry).collect(),
        Value::String(text) => redact_text(text).into(),
        other => other.clone(),
    }
}

fn redact_member((key, value): (&String, &Value)) -> (String, Value) {
    let value = match (key.as_str(), value) {
        ("env" | "headers", Value::Object(members)) => members
            .iter()
            .map(|(name, value)| (name.clone(), redact_value(value)))
            .collect::<Map<_, _>>()
            .into(),
        ("args" | "command", Value::Array(arguments)) => redact_arguments(arguments),
        // Names of files and clients, even if they sound like secrets.
        (
            "clientId"
            | "clientMetadataUrl"
            | "authServerMetadataUrl"
            | "keyFile"
            | "privateKeyFile",
            value,
        ) => redact_entry(value),
        (name, Value::String(_)) if is_secret_name(name) => redact_value(value),
        _ => redact_entry(value),
    };
    (key.clone(), value)
}

fn redact_value(value: &Value) -> Value {
    match value {
        Value::String(text) => redact_secret_text(text).into(),
        Value::Null => Value::Null,
        _ => REDACTED.into(),
    }
}

/// Keeps references and a leading scheme word, and redacts the rest.
fn redact_secret_text(text: &str) -> String {
    let (scheme, rest) = split_scheme(text);
    let mut shown = String::from(scheme);
    for piece in split_template(rest) {
        match piece {
            TemplatePiece::Literal(_) => shown.push_str(REDACTED),
            TemplatePiece::Reference { name, default: Some(_), .. } => {
                shown.push_str("${");
                shown.push_str(name);
                shown.push_str(":-");
                shown.push_str(REDACTED);
                shown.push('}');
            }
            TemplatePiece::Reference { written, .. } | TemplatePiece::Secret { written, .. } => {
                shown.push_str(written);
            }
        }
    }
    shown
}

pub(crate) fn split_scheme(text: &str) -> (&str, &str) {
    let schemes = ["Bearer ", "Basic ", "Token ", "bearer ", "basic ", "token "];
    let length =
        schemes.iter().find(|scheme| text.starts_with(**scheme)).map_or(0, |word| word.len());
    text.split_at(length)
}

fn redact_arguments(arguments: &[Value]) -> Value {
    let mut after_flag = false;
    let mut shown = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let text = argument.as_str().unwrap_or_default();
        let value = if after_flag && !text.starts_with("--") {
            redact_value(argument)
        } else {
            redact_argument(text)
        };
        after_flag = text.starts_with('-') && !text.contains('=') && is_secret_name(text);
        shown.push(value);
    }
    Value::Array(shown)
}

/// Redacts `--token=x`, `TOKEN=x` and `Authorization: x` in one argument.
fn redact_argument(text: &str) -> Value {
    let is_plain = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    for separator in ['=', ':'] {
        if let Some((name, value)) = text.split_once(separator)
            && is_plain(name)
            && is_secret_name(name)
            && !value.starts_with("//")
        {
            let space = &value[..value.len() - value.trim_start().len()];
            return format!("{name}{separator}{space}{}", redact_secret_text(value.trim_start()))
                .into();
        }
    }
    redact_text(text).into()
}

/// An entry for an edit form: redacted, but with `env` variables that carry no secret.
pub fn redact_for_editing(entry: &Value) -> Value {
    let mut shown = redact_entry(entry);
    show_plain_variables(&mut shown, entry);
    shown
}

/// Whether a value under this name would be redacted.
pub fn is_secret(name: &str, value: &str) -> bool {
    let (_, shown) = redact_member((&name.to_owned(), &Value::from(value)));
    shown != value
}

fn show_plain_variables(shown: &mut Value, written: &Value) {
    match (shown, written) {
        (Value::Object(shown), Value::Object(written)) => {
            for ((name, shown), written) in shown.iter_mut().zip(written.values()) {
                match (&**name, written) {
                    ("env", Value::Object(variables)) => show_plain(shown, variables),
                    _ => show_plain_variables(shown, written),
                }
            }
        }
        (Value::Array(shown), Value::Array(written)) => {
            for (shown, written) in shown.iter_mut().zip(written) {
                show_plain_variables(shown, written);
            }
        }
        _ => {}
    }
}

fn show_plain(shown: &mut Value, variables: &Map<String, Value>) {
    let shown = shown.as_object_mut().into_iter().flatten();
    for ((name, shown), written) in shown.zip(variables.values()) {
        if !is_secret(name, written.as_str().unwrap_or_default()) {
            *shown = written.clone();
        }
    }
}

/// Redacts text in any other place: secrets in URLs, and well-known tokens.
pub fn redact_text(text: &str) -> String {
    if is_token(text) {
        return REDACTED.to_owned();
    }
    match text.find("://") {
        Some(at) => redact_url(text, at + 3),
        None => text.to_owned(),
    }
}

/// Redacts a URL as written, which may hold references and not parse yet.
fn redact_url(text: &str, authority: usize) -> String {
    let (head, rest) = text.split_at(authority);
    // In a text that does not parse as a URL, a password may hold a slash, so everything up to the last `@`
    // is hidden.
    let is_broken = !text.contains("${") && url::Url::parse(text).is_err();
    let authority_end = match rest.rfind('@') {
        Some(at) if is_broken => at + 1,
        _ => rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()),
    };
    let (authority, tail) = rest.split_at(authority_end);
    let authority = match authority.rfind('@') {
        Some(at) => format!("{}{}", redact_user(&authority[..at]), &authority[at..]),
        None => authority.to_owned(),
    };
    format!("{head}{authority}{}", redact_query(tail))
}

/// Redacts `user:password`. A user is shown beside a password that is a reference.
fn redact_user(text: &str) -> String {
    let is_reference =
        |password: &str| !password.is_empty() && redact_secret_text(password) == password;
    match text.split_once(':') {
        Some((user, password))
            if is_reference(password) && !user.contains("${") && !is_token(user) =>
        {
            text.to_owned()
        }
        _ => redact_secret_text(text),
    }
}

fn redact_query(tail: &str) -> String {
    let Some((path, query)) = tail.split_once('?') else {
        return tail.to_owned();
    };
    let (query, fragment) = match query.split_once('#') {
        Some((query, fragment)) => (query, format!("#{fragment}")),
        None => (query, String::new()),
    };
    let shown: Vec<_> = query.split('&').map(redact_parameter).collect();
    format!("{path}?{}{fragment}", shown.join("&"))
}

fn redact_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, value)) if is_secret_name(name) => {
            format!("{name}={}", redact_secret_text(value))
        }
        _ => parameter.to_owned(),
    }
}

pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = [
        "token",
        "secret",
        "password",
        "passwd",
        "pwd",
        "apikey",
        "api-key",
        "api_key",
        "auth",
        "credential",
        "signature",
        "private",
        "bearer",
        "cookie",
        "session",
    ];
    let whole = name.trim_start_matches('-');
    words.iter().any(|word| name.contains(word))
        || matches!(whole, "key" | "sig" | "code" | "pass" | "jwt" | "pat")
        || name.ends_with("_key")
        || name.ends_with("-key")
        || name.ends_with("key=")
}

/// Whether a text has the form of a well-known token.
pub fn is_token(text: &str) -> bool {
    // Every name of every call is checked, and hardly any begins like a token, so the first bytes are
    // compared first.
    let begins =
        |known: &&str| text.as_bytes()[0] == known.as_bytes()[0] && text.starts_with(known);
    text.len() >= 16
        && TOKEN_PREFIXES.iter().any(begins)
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
