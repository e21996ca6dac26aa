//! Mentions of resources, `@server:uri`, in a line that a person types.
//!
//! Used by the terminal UI's input. The server is one of the configured names, exactly; the longest match counts.
//! The URI goes up to the next blank, without the punctuation of the sentence around it. A URI with blanks is
//! quoted, `@docs:"file:///a b"`, or has a `\` before each blank. An `@` inside a word, as in a mail address, is no
//! mention.
//!
//! It does not read the resource.

use std::ops::Range;

/// Brackets that may stand around a mention or inside a URI.
const BRACKETS: [(char, char); 4] = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')];

/// A resource that a line mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceMention {
    /// The server, as configured.
    pub server: String,
    /// The URI, without quotes and escapes.
    pub uri: String,
    /// The bytes of the mention in the line, from the `@` on.
    pub range: Range<usize>,
}

/// Completions of a mention that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MentionCompletion {
    /// The bytes of the line that a candidate replaces.
    pub range: Range<usize>,
    /// The candidates, in the order given.
    pub candidates: Vec<String>,
}

/// One character of a URI, and where it ends in the text.
struct Letter {
    c: char,
    end: usize,
    is_escaped: bool,
}

/// Returns all mentions of `servers` in `line`, in order.
pub fn find_mentions(line: &str, servers: &[&str]) -> Vec<ResourceMention> {
    let mut mentions = Vec::new();
    let mut from = 0;
    while let Some(at) = line[from..].find('@').map(|place| from + place) {
        from = at + 1;
        if let Some(mention) = at_sign(line, at, servers) {
            from = mention.range.end;
            mentions.push(mention);
        }
    }
    mentions
}

/// Completes the mention at the end of `line`: `@ser` with servers, `@server:` with the URIs that `uris` returns
/// for that server.
pub fn complete_mention(
    line: &str,
    servers: &[&str],
    uris: &dyn Fn(&str) -> Vec<String>,
) -> Option<MentionCompletion> {
    let signs = line.match_indices('@').map(|(at, _)| at);
    let at = signs.rev().find(|at| opens(line, *at))?;
    let typed = &line[at + 1..];
    let completion =
        |from, candidates| Some(MentionCompletion { range: from..line.len(), candidates });
    if let Some(server) = server_of(typed, servers) {
        let from = at + 1 + server.len() + 1;
        let start = unfinished(&line[from..])?;
        let fitting = uris(server).into_iter().filter(|uri| uri.starts_with(&start));
        return completion(from, fitting.map(|uri| quote_uri(&uri)).collect());
    }
    let fitting = servers.iter().filter(|server| server.starts_with(typed));
    let candidates: Vec<_> = fitting.map(|server| format!("{server}:")).collect();
    if candidates.is_empty() { None } else { completion(at + 1, candidates) }
}

/// Returns a URI as it has to be typed.
pub fn quote_uri(uri: &str) -> String {
    let plain = bare(uri);
    if !uri.starts_with('"') && (&*plain.0, plain.1) == (uri, uri.len()) {
        return uri.to_owned();
    }
    format!("\"{}\"", uri.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Parses the mention that begins with the `@` at `at`.
fn at_sign(line: &str, at: usize, servers: &[&str]) -> Option<ResourceMention> {
    let server = opens(line, at).then(|| server_of(&line[at + 1..], servers))??;
    let from = at + 1 + server.len() + 1;
    let text = &line[from..];
    let (uri, length) = quoted(text).unwrap_or_else(|| bare(text));
    let range = at..from + length;
    (!uri.is_empty()).then(|| ResourceMention { server: server.to_owned(), uri, range })
}

/// Whether a mention may start at `at`: at the beginning, after a blank, or after an opening bracket or quote.
fn opens(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    before.is_none_or(|c| c.is_whitespace() || "([{<\"'`".contains(c))
}

/// The longest of `servers` that stands before a `:` at the start of `text`.
fn server_of<'s>(text: &str, servers: &[&'s str]) -> Option<&'s str> {
    let stands =
        |server: &&&str| text.strip_prefix(**server).is_some_and(|rest| rest.starts_with(':'));
    servers.iter().filter(stands).max_by_key(|server| server.len()).copied()
}

/// Parses a quoted URI, and returns how many bytes of `text` it takes; `None` without both quotes.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut letters = text.strip_prefix('"')?.char_indices();
    let mut uri = String::new();
    loop {
        match letters.next()? {
            (at, '"') => return Some((uri, at + 2)),
            (_, '\\') => uri.push(letters.next()?.1),
            (_, c) => uri.push(c),
        }
    }
}

/// Parses a URI without quotes, and returns how many bytes of `text` it takes.
fn bare(text: &str) -> (String, usize) {
    let mut letters = letters(text);
    let mut excess = BRACKETS.map(|(open, close)| count(&letters, close) - count(&letters, open));
    while is_around(letters.last(), &mut excess) {
        letters.pop();
    }
    let length = letters.last().map_or(0, |letter| letter.end);
    (letters.into_iter().map(|letter| letter.c).collect(), length)
}

/// The URI that goes up to the end of `text`, as far as it is typed; `None` if it has ended before.
fn unfinished(text: &str) -> Option<String> {
    if text.starts_with('"') {
        let is_open = quoted(text).is_none();
        return is_open.then(|| quoted(&format!("{text}\"")))?.map(|(uri, _)| uri);
    }
    let letters = letters(text);
    let length = letters.last().map_or(0, |letter| letter.end);
    (length == text.len()).then(|| letters.into_iter().map(|letter| letter.c).collect())
}

/// The characters of `text` up to a blank that is not escaped.
fn letters(text: &str) -> Vec<Letter> {
    let mut letters = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let is_escape = c == '\\';
        let escaped = rest.next_if(|(_, c)| is_escape && (c.is_whitespace() || *c == '\\'));
        match escaped {
            Some((at, c)) => letters.push(Letter { c, end: at + c.len_utf8(), is_escaped: true }),
            None if c.is_whitespace() => break,
            None => letters.push(Letter { c, end: at + c.len_utf8(), is_escaped: false }),
        }
    }
    letters
}

fn count(letters: &[Letter], wanted: char) -> isize {
    letters.iter().filter(|letter| letter.c == wanted).map(|_| 1).sum()
}

/// Whether the last character belongs to the sentence: punctuation, or a bracket that was opened before the URI.
/// `excess` is how many more brackets of each kind are closed than opened.
fn is_around(last: Option<&Letter>, excess: &mut [isize; BRACKETS.len()]) -> bool {
    let Some(&Letter { c, is_escaped: false, .. }) = last else { return false };
    match BRACKETS.iter().position(|(_, close)| *close == c) {
        Some(kind) => {
            excess[kind] -= 1;
            excess[kind] >= 0
        }
        None => ".,;:!?\"'`".contains(c),
    }
}
