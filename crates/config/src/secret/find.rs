//! Finding values in an entry that look like secrets and stand there as plain text.
//!
//! Used by `add`, `import` and `setup`, which offer to move them to the secret store. It errs on the side of
//! finding too little: a value that is moved by mistake is a nuisance, and `redact` hides more than this finds.

use std::ops::Range;

use serde_json::{Map, Value};

use super::text::SecretText;
use crate::redact::{is_secret_name, is_token, split_scheme};

/// A shorter value is hardly a secret.
const MIN_SECRET_BYTES: usize = 8;

/// A value in an entry that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretValue {
    /// Where it stands, as a path such as `env.TOKEN`, for people.
    pub field: String,
    /// The name to store it under, made of the variable's name, or of the server's and the member's.
    pub suggested_name: String,
    /// The value, without a prefix such as `Bearer `.
    pub value: SecretText,
    /// The string that holds it.
    pub(super) pointer: String,
    /// The bytes of that string that are the value.
    pub(super) range: Range<usize>,
}

/// Finds the values of an entry that look like secrets: in `env`, `headers`, `args`, `url` and members whose
/// name says so.
pub fn find_secret_values(server: &str, entry: &Value) -> Vec<SecretValue> {
    let mut search = SecretSearch { server, found: Vec::new() };
    if let Value::Object(members) = entry {
        search.search_members(members);
    }
    search.found
}

struct SecretSearch<'a> {
    server: &'a str,
    found: Vec<SecretValue>,
}

/// A string of an entry.
struct EntryText<'a> {
    field: String,
    pointer: String,
    text: &'a str,
}

// === impl SecretSearch ===

impl SecretSearch<'_> {
    fn search_members(&mut self, members: &Map<String, Value>) {
        for (member, value) in members {
            match (member.as_str(), value) {
                ("env", Value::Object(variables)) => self.search_pairs(member, variables),
                ("headers", Value::Object(headers)) => self.search_pairs(member, headers),
                ("args", Value::Array(arguments)) => self.search_arguments(arguments),
                ("url", Value::String(url)) => self.search_url(&EntryText::at(&["url"], url)),
                ("oauth", Value::Object(oauth)) => {
                    if let Some(Value::String(secret)) = oauth.get("clientSecret") {
                        self.add(
                            &EntryText::at(&["oauth", "clientSecret"], secret),
                            0..secret.len(),
                            "client_secret",
                        );
                    }
                }
                _ => {}
            }
        }
    }

    /// Searches variables or headers.
    fn search_pairs(&mut self, member: &str, pairs: &Map<String, Value>) {
        for (name, value) in pairs {
            let Some(text) = value.as_str() else { continue };
            let (scheme, rest) = split_scheme(text);
            if is_secret_name(name) && is_plausible(rest) || is_token(rest) || has_password(rest) {
                self.add(&EntryText::at(&[member, name], text), scheme.len()..text.len(), name);
            }
        }
    }

    /// Searches `--token x`, `--token=x`, `Authorization: Bearer x`, and URLs.
    fn search_arguments(&mut self, arguments: &[Value]) {
        let mut flag = None;
        for (index, argument) in arguments.iter().enumerate() {
            let text = argument.as_str().unwrap_or_default();
            let at = EntryText {
                field: format!("args[{index}]"),
                pointer: format!("/args/{index}"),
                text,
            };
            let secret = match flag.take() {
                Some(flag) if !text.starts_with('-') && is_plausible(text) => Some((0, flag)),
                _ => assigned_secret(text),
            };
            match secret {
                Some((start, name)) => self.add(&at, start..text.len(), name),
                None if is_token(text) => self.add(&at, 0..text.len(), "token"),
                None if text.contains("://") => self.search_url(&at),
                None => {}
            }
            flag = (text.starts_with('-') && !text.contains('=') && is_secret_name(text))
                .then(|| text.trim_start_matches('-'));
        }
    }

    /// Searches the password and the parameters of a URL.
    fn search_url(&mut self, at: &EntryText<'_>) {
        let url = at.text;
        if let Some(range) = password_range(url) {
            self.add(at, range, "password");
        }
        let Some(query) = url.find('?').map(|mark| mark + 1) else { return };
        let end = url.find('#').filter(|end| *end > query).unwrap_or(url.len());
        let mut start = query;
        for parameter in url[query..end].split('&') {
            if let Some((name, value)) = parameter.split_once('=')
                && (is_secret_name(name) && is_plausible(value) || is_token(value))
            {
                let begin = start + name.len() + 1;
                self.add(at, begin..begin + value.len(), name);
            }
            start += parameter.len() + 1;
        }
    }

    /// Adds a value that is not a reference already.
    fn add(&mut self, at: &EntryText<'_>, range: Range<usize>, name: &str) {
        let value = &at.text[range.clone()];
        if value.is_empty() || value.contains("${") || value.starts_with("op://") {
            return;
        }
        let is_variable = at.pointer.starts_with("/env/");
        self.found.push(SecretValue {
            field: at.field.clone(),
            suggested_name: if is_variable {
                to_secret_name(name)
            } else {
                to_secret_name(&format!("{}_{name}", self.server))
            },
            value: SecretText::new(value),
            pointer: at.pointer.clone(),
            range,
        });
    }
}

// === impl EntryText ===

impl<'a> EntryText<'a> {
    fn at(path: &[&str], text: &'a str) -> Self {
        let step = |name: &&str| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        Self { field: path.join("."), pointer: path.iter().map(step).collect(), text }
    }
}

/// Whether a value under a name that sounds like a secret's may be one: neither a switch, a number nor a
/// plain address or path.
fn is_plausible(value: &str) -> bool {
    let is_address = value.contains("://") && !has_password(value);
    let is_path = value.starts_with(['/', '~', '.']);
    value.len() >= MIN_SECRET_BYTES
        && !is_address
        && !is_path
        && !value.contains(char::is_whitespace)
        && !value.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn has_password(text: &str) -> bool {
    password_range(text).is_some()
}

/// The password in `scheme://user:password@host`.
fn password_range(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + 3;
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |end| start + end);
    let at = start + url[start..end].rfind('@')?;
    let colon = start + url[start..at].find(':')?;
    (colon + 1 < at).then_some(colon + 1..at)
}

/// The secret in `--token=x`, `TOKEN=x` or `Authorization: Bearer x`: where it starts, and its name.
fn assigned_secret(argument: &str) -> Option<(usize, &str)> {
    let (at, separator) = argument.char_indices().find(|(_, c)| "=:".contains(*c))?;
    let name = argument[..at].trim_start_matches('-');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let value = argument[at + separator.len_utf8()..].trim_start();
    let (_, secret) = split_scheme(value);
    let is_secret = !name.is_empty()
        && name.chars().all(is_plain)
        && (is_secret_name(name) && is_plausible(secret) || is_token(secret));
    is_secret.then(|| (argument.len() - secret.len(), name))
}

/// The name of a secret made of a text: capitals, digits and `_`.
fn to_secret_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = text.chars().map(plain).take(100).collect();
    let name = name.trim_matches('_');
    match name.chars().next() {
        None => "SECRET".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name.to_owned(),
    }
}
