//! Redaction of secrets in URLs: `doctor auth` prints URLs of entries, challenges and metadata, and people
//! paste that output into bug reports.
//!
//! Used by `examine` and, as [`redact_url`], by `fetch` for error messages. It does not redact configuration
//! values (`switchboard_config`).

use switchboard_config::redact::{REDACTED, redact_text};
use url::Url;

/// Characters that may follow a URL in a line without being part of the URL.
const TRAILING_PUNCTUATION: [char; 9] = ['"', '\'', '`', '>', ')', ',', '.', ';', ':'];

/// Redacts every URL in a line.
pub(super) fn redact_line(line: &str) -> String {
    let words = line.split_inclusive(char::is_whitespace);
    let redacted = words.map(|part| {
        let word = part.trim_end();
        format!("{}{}", redact_word(word), &part[word.len()..])
    });
    redacted.collect()
}

fn redact_word(word: &str) -> String {
    let Some(colon) = word.find("://") else { return redact_partial_url(word) };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let start = word[..colon].trim_end_matches(is_scheme).len();
    let end = word.trim_end_matches(TRAILING_PUNCTUATION).len();
    let (before, url, after) = match word.get(start..end) {
        Some(url) => (&word[..start], url, &word[end..]),
        None => ("", word, ""),
    };
    format!("{before}{}{after}", redact_url(url))
}

/// Redacts a word that does not parse as a URL but may be a piece of one.
fn redact_partial_url(word: &str) -> String {
    match word.rfind('@') {
        Some(at) => format!("{REDACTED}{}", &word[at..]),
        None => redact_text(word),
    }
}

/// Removes from a URL the user and password, the values of its query and fragment, and path segments that
/// have a well-known form of token. A text that is no URL is redacted as a whole, because a secret could be
/// anywhere in it.
pub fn redact_url(text: &str) -> String {
    let (Ok(url), Some(colon)) = (Url::parse(text), text.find("://")) else {
        return REDACTED.to_owned();
    };
    let (scheme, rest) = text.split_at(colon + "://".len());
    let authority_end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    let host = authority
        .rfind('@')
        .map_or(authority.to_owned(), |at| format!("{REDACTED}{}", &authority[at..]));
    let path_end = path.find(['?', '#']).unwrap_or(path.len());
    let path: Vec<_> = path[..path_end].split('/').map(redact_text).collect();
    let query = url.query().map(redact_query).unwrap_or_default();
    let fragment = url.fragment().map(|_| format!("#{REDACTED}")).unwrap_or_default();
    format!("{scheme}{host}{}{query}{fragment}", path.join("/"))
}

/// Keeps the names of parameters, which help to find a mistake; a parameter without a value may itself be a
/// token.
fn redact_query(query: &str) -> String {
    let redacted = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) => format!("{name}={REDACTED}"),
        None => REDACTED.to_owned(),
    });
    format!("?{}", redacted.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::redact_line;

    #[test]
    fn lines_lose_the_secrets_of_their_urls() {
        for (line, redacted) in [
            ("no address in here: 5 < 6", "no address in here: 5 < 6"),
            (
                "POST https://a.example/mcp without a token",
                "POST https://a.example/mcp without a token",
            ),
            (
                "POST https://ann:s3cret@a.example/mcp without",
                "POST https://********@a.example/mcp without",
            ),
            (
                "GET https://a.example/?key=s3cret&x, which",
                "GET https://a.example/?key=********&********, which",
            ),
            ("GET https://a.example/a#s3cret", "GET https://a.example/a#********"),
            (
                "Bearer resource_metadata=\"https://u:s3cret@h/prm?t=s3cret\", scope=\"x\"",
                "Bearer resource_metadata=\"https://********@h/prm?t=********\", scope=\"x\"",
            ),
            ("https://h/ghp_0123456789abcdefghij/mcp", "https://h/********/mcp"),
            ("issuer `https://h:99999/s3cret`", "issuer `********`"),
            (
                "https://u:s3@cret@h/x and https://v:s3cret@i",
                "https://********@h/x and https://********@i",
            ),
            ("http://u:s3cret/more@h", "********"),
            ("`u:s3cret@h`", "********@h`"),
            ("https://h/?to=https://u:s3cret@i/", "https://h/?to=********"),
        ] {
            assert_eq!(redact_line(line), redacted);
        }
    }
}
