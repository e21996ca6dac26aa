//! URI templates (RFC 6570), matched backwards: could this URI have come from that template?
//!
//! Used by `catalog::resource`, to find the server of a URI. A template is literal text and expressions. Each
//! expression matches a run of characters that its operator could have written. Servers do not encode as strictly
//! as the RFC, so a plain `{name}` takes everything up to the next `/`, `?` or `#`, like the routers of servers.
//!
//! Both texts are untrusted. The matcher computes the reachable positions of a URI part by part, each part in one
//! pass, and the number of parts is limited: no template makes matching slow. It does not expand templates.

/// The maximum number of expressions in a template.
const MAX_EXPRESSIONS: usize = 32;

/// A URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateMatcher {
    text: String,
    parts: Vec<TemplatePart>,
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// `{` without `}`, or the other way round.
    #[error("a brace has no partner")]
    Brace,
    /// Braces with other characters than those of names between them.
    #[error("`{{{0}}}` is not an expression")]
    Expression(String),
    /// The template has too many expressions.
    #[error("it has more than {MAX_EXPRESSIONS} expressions")]
    TooMany,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Run(ExpressionRun),
}

/// The texts that an expression can expand to: empty, or its first character and then any number of allowed
/// characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ExpressionRun {
    first: Option<u8>,
    /// Characters that end the run.
    stops: &'static [u8],
}

// === impl TemplateMatcher ===

impl TemplateMatcher {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            let (literal, tail) = rest.split_at(open);
            let tail = tail.strip_prefix('{').ok_or(TemplateError::Brace)?;
            let (expression, after) = tail.split_once('}').ok_or(TemplateError::Brace)?;
            push_literal(&mut parts, literal);
            parts.push(TemplatePart::Run(ExpressionRun::parse(expression)?));
            rest = after;
        }
        push_literal(&mut parts, rest);
        if parts.iter().filter(|part| matches!(part, TemplatePart::Run(_))).count()
            > MAX_EXPRESSIONS
        {
            return Err(TemplateError::TooMany);
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Returns the template as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `uri` could have come from this template.
    pub fn matches(&self, uri: &str) -> bool {
        let uri = uri.as_bytes();
        // Most templates differ in how they start.
        if let Some(TemplatePart::Literal(start)) = self.parts.first()
            && !uri.starts_with(start.as_bytes())
        {
            return false;
        }
        let mut reached = vec![false; uri.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            match part {
                TemplatePart::Literal(literal) => {
                    pass_literal(literal.as_bytes(), uri, &mut reached);
                }
                TemplatePart::Run(run) => run.pass(uri, &mut reached),
            }
        }
        reached[uri.len()]
    }
}

fn push_literal(parts: &mut Vec<TemplatePart>, literal: &str) {
    if !literal.is_empty() {
        parts.push(TemplatePart::Literal(literal.to_owned()));
    }
}

/// Moves every reached position past `literal`, where the URI contains it. One pass (Knuth–Morris–Pratt).
fn pass_literal(literal: &[u8], uri: &[u8], reached: &mut [bool]) {
    let fallback = fallbacks(literal);
    let mut ends = vec![false; reached.len()];
    let mut matched = 0;
    for (at, byte) in uri.iter().enumerate() {
        matched = advance(literal, &fallback, matched, *byte);
        if matched == literal.len() {
            let end = at + 1;
            ends[end] = reached[end - literal.len()];
            matched = fallback[matched - 1];
        }
    }
    reached.copy_from_slice(&ends);
}

/// For each prefix of `literal`, the length of its longest proper prefix that is also its suffix.
fn fallbacks(literal: &[u8]) -> Vec<usize> {
    let mut fallback = vec![0; literal.len()];
    let mut matched = 0;
    for at in 1..literal.len() {
        matched = advance(literal, &fallback, matched, literal[at]);
        fallback[at] = matched;
    }
    fallback
}

fn advance(literal: &[u8], fallback: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && literal[matched] != byte {
        matched = fallback[matched - 1];
    }
    matched + usize::from(literal[matched] == byte)
}

// === impl ExpressionRun ===

impl ExpressionRun {
    fn parse(expression: &str) -> Result<Self, TemplateError> {
        let operator = expression.bytes().next().filter(|byte| b"+#./;?&".contains(byte));
        let names = &expression[usize::from(operator.is_some())..];
        if !names.split(',').all(is_name) {
            return Err(TemplateError::Expression(expression.to_owned()));
        }
        let stops: &'static [u8] = match operator {
            Some(b'+' | b'#') => b"",
            Some(b'/') => b"?#",
            Some(b'?' | b'&') => b"#",
            _ => b"/?#",
        };
        Ok(Self { first: operator.filter(|operator| *operator != b'+'), stops })
    }

    /// Moves every reached position on to all positions that this run leads to.
    fn pass(self, uri: &[u8], reached: &mut [bool]) {
        let mut inside = false;
        for (at, byte) in uri.iter().enumerate() {
            let starts = reached[at] && self.first.is_none_or(|first| first == *byte);
            let stops = self.stops.contains(byte);
            // The operator's own character starts a run even where it could not stand inside one.
            inside = (inside || starts && self.first.is_none()) && !stops
                || starts && self.first.is_some();
            reached[at + 1] |= inside;
        }
    }
}

/// Whether a name is a variable, with or without a modifier of level 4.
fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('*').unwrap_or(name);
    let (name, length) = name.split_once(':').unwrap_or((name, "1"));
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'%' | b'-');
    !name.is_empty()
        && name.bytes().all(is_letter)
        && !length.is_empty()
        && length.bytes().all(|byte| byte.is_ascii_digit())
}
