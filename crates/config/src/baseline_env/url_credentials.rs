//! Cuts user and password out of URLs in environment variables.
//!
//! Used by `baseline_env`. It does not decide which variables hold URLs.

use std::borrow::Cow;

/// Removes user and password from a proxy URL. They need not be escaped as URLs require, so everything before
/// the last `@` counts as theirs.
pub(super) fn strip_proxy_credentials(address: &str) -> Cow<'_, str> {
    let Some((before, host)) = address.rsplit_once('@') else { return Cow::Borrowed(address) };
    match before.split_once("://") {
        Some((scheme, _)) => Cow::Owned(format!("{scheme}://{host}")),
        None => Cow::Borrowed(host),
    }
}

/// Removes user and password from every URL in a text, which are separated by blanks. `None` where a part of a
/// password could stay, or where the rest would name another host.
pub(super) fn strip_url_credentials(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['@', '?', ':']) {
        return Some(Cow::Borrowed(text));
    }
    let words = text.split_inclusive(char::is_whitespace).map(strip_word);
    let stripped = words.collect::<Option<String>>()?;
    Some(if stripped == text { Cow::Borrowed(text) } else { Cow::Owned(stripped) })
}

fn strip_word(word: &str) -> Option<String> {
    let Some((scheme, rest)) = word.split_once("://") else {
        let has_password = word.rsplit_once('@').is_some_and(|(before, _)| before.contains(':'));
        return (!has_password).then(|| word.to_owned());
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.trim_end().len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (has_sound_port(host) && is_plain_path(path)).then(|| format!("{scheme}://{host}{path}"))
}

/// Whether what follows the host's colon is a port. Anything else is a password with a slash in it.
fn has_sound_port(host: &str) -> bool {
    match host.rsplit_once(':') {
        Some((address, _)) if address.starts_with('[') && host.ends_with(']') => true,
        Some((_, port)) => port.chars().all(|digit| digit.is_ascii_digit()),
        None => true,
    }
}

/// Whether a path holds neither parameters, which may be tokens, nor another URL, nor the end of a password. The
/// `@` of a package scope follows a slash.
fn is_plain_path(path: &str) -> bool {
    let has_user = path.match_indices('@').any(|(at, _)| !path[..at].ends_with('/'));
    !has_user && !path.contains(['?', '\\']) && !path.contains("://")
}
