//! Checks regular expressions against the grammar of ECMAScript with the flag `u`.
//!
//! Used by `schema::portable`. The `regex` crate accepts more than ECMAScript: other escapes, inline flags, a
//! quantifier after a quantifier. Patterns with lookarounds are never compiled by our validator, so this module
//! also makes the checks that the `regex` crate makes for other patterns.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use crate::schema::MAX_PATTERN_BYTES;

/// The beginnings of lookaround groups. A quantifier must not follow their end.
const LOOKAROUNDS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// Whether `pattern` is valid in ECMAScript with the flag `u`.
pub(super) fn is_ecma_pattern(pattern: &str) -> bool {
    if !ECMA_TOKENS.as_ref().is_some_and(|tokens| tokens.is_match(pattern)) {
        return false;
    }
    let mut scan = PatternScan::default();
    let mut rest = pattern;
    while !rest.is_empty() {
        let Some(after) = scan.step(rest) else { return false };
        rest = after;
    }
    scan.groups.is_empty() && (!scan.looks_around || compiles_without_lookarounds(pattern))
}

/// The tokens of ECMAScript patterns: fewer escapes, no inline flags, no class as the end of a range.
/// [`PatternScan`] checks their order.
static ECMA_TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let code = r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}";
    let escape = format!(r"\\(?:[\^$\\.*+?()\[\]{{}}|/tnvfr0]|{code})");
    let set = r"\\(?:[dDwWsS]|[pP]\{[A-Z][a-z]?\})";
    let group = r"\((?:\?(?::|=|!|<=|<!|<[A-Za-z_$][A-Za-z0-9_$]*>))?";
    let count = r"\{[0-9]+(?:,[0-9]*)?\}";
    let one = format!(r"(?:[^\\\[\]-]|{escape}|\\[b-])");
    let class = format!(r"\[\^?-?(?:{one}-{one}|{one}|{set})*-?\]");
    let plain = r"[^\\\[\]{}(?]";
    let atom = format!(r"(?:{plain}|{escape}|\\[bB]|{set}|{count}|{class})");
    // A question mark after a parenthesis belongs to `group`, and anywhere else to a quantifier.
    Regex::new(&format!(r"(?s)\A(?:{group}|{atom}\??\??)*\z")).ok()
});

/// A pattern, read token by token.
#[derive(Default)]
struct PatternScan<'p> {
    /// The open groups; `true` for lookarounds.
    groups: Vec<bool>,
    names: HashSet<&'p str>,
    /// Whether a quantifier may follow: after an atom or a group, and not after a quantifier or an assertion.
    can_repeat: bool,
    looks_around: bool,
}

// === impl PatternScan ===

impl<'p> PatternScan<'p> {
    /// Reads one token. Returns the rest of the pattern, or `None` where the token must not stand.
    fn step(&mut self, rest: &'p str) -> Option<&'p str> {
        let first = rest.chars().next()?;
        let after = &rest[first.len_utf8()..];
        match first {
            '(' => self.open_group(rest),
            ')' => {
                self.can_repeat = !self.groups.pop()?;
                Some(after)
            }
            '*' | '+' | '?' | '{' => self.quantifier(rest),
            '\\' => {
                self.can_repeat = !after.starts_with(['b', 'B']);
                Some(after_escape(after))
            }
            '[' => {
                self.can_repeat = true;
                after_class(after)
            }
            _ => {
                self.can_repeat = !matches!(first, '^' | '$' | '|');
                Some(after)
            }
        }
    }

    fn open_group(&mut self, rest: &'p str) -> Option<&'p str> {
        self.can_repeat = false;
        let look = LOOKAROUNDS.iter().find_map(|start| rest.strip_prefix(start));
        self.groups.push(look.is_some());
        if let Some(after) = look {
            self.looks_around = true;
            return Some(after);
        }
        if let Some(named) = rest.strip_prefix("(?<") {
            let (name, after) = named.split_once('>')?;
            return self.names.insert(name).then_some(after);
        }
        rest.strip_prefix("(?:").or_else(|| rest.strip_prefix('('))
    }

    fn quantifier(&mut self, rest: &'p str) -> Option<&'p str> {
        if !std::mem::replace(&mut self.can_repeat, false) {
            return None;
        }
        let after = match rest.strip_prefix('{') {
            Some(counted) => {
                let (count, after) = counted.split_once('}')?;
                is_count(count).then_some(after)?
            }
            None => &rest[1..],
        };
        Some(after.strip_prefix('?').unwrap_or(after))
    }
}

/// The rest of a pattern after the escape that was just begun with a backslash.
fn after_escape(escape: &str) -> &str {
    let braced = ["u{", "p{", "P{"].iter().any(|start| escape.starts_with(start));
    if braced {
        return escape.split_once('}').map_or("", |(_, after)| after);
    }
    let mut chars = escape.chars();
    chars.next();
    chars.as_str()
}

/// The rest of a pattern after the class that was just begun with a bracket.
fn after_class(class: &str) -> Option<&str> {
    let mut chars = class.chars();
    loop {
        match chars.next()? {
            ']' => return Some(chars.as_str()),
            '\\' => {
                chars.next()?;
            }
            _ => {}
        }
    }
}

/// Whether `n`, `n,` or `n,m` counts upwards.
fn is_count(count: &str) -> bool {
    let (least, most) = count.split_once(',').unwrap_or((count, ""));
    let Ok(least) = least.parse::<u32>() else { return false };
    most.is_empty() || most.parse::<u32>().is_ok_and(|most| least <= most)
}

/// Whether a pattern without its lookarounds compiles.
fn compiles_without_lookarounds(pattern: &str) -> bool {
    let plain =
        LOOKAROUNDS.iter().fold(pattern.to_owned(), |text, start| text.replace(start, "(?:"));
    RegexBuilder::new(&plain).size_limit(MAX_PATTERN_BYTES).build().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_ecmascript_are_told_from_others() {
        for pattern in [
            "",
            "^[a-z][a-z0-9_-]*$",
            r"^\d{4}-\d{2}(?:-\d{2,})?$",
            r"[\w.-]+@[\w\-]+\.[a-z]{2,}",
            r"^(?<year>\d+)\/(?=x)\p{Lu}\u00e9\x41[^\]\\]",
            "ü|[ä-ö]",
            "a+?b*?c{2}?d??",
            r"(?:ab)+(c)?\p{L}{2}\u{41}*[(+]{1,2}",
            r"^(?!x)(?:a|b$)+\b.",
        ] {
            assert!(is_ecma_pattern(pattern), "{pattern}");
        }
        for pattern in [
            "(?i)a",
            "(?P<year>a)",
            r"\-",
            r"\@",
            r"\Aa\z",
            r"[\w-x]",
            r"\pL",
            "a{,3}",
            "a]",
            "a}",
            "a++",
            "a*+",
            "a{2}{3}",
            "a{2}??",
            "a???",
            "(ab)++",
            "a**",
            "^*a",
            "a$+",
            r"\b+",
            r"\B?",
            "(?=a)*",
            "(?!a)+b",
            "(?=a){2}",
            "(?<=a)?b",
            "(?<!a)?",
            "*",
            "a|*",
            "(*a)",
            "(?:+a)",
            "(?=a)(",
            "(?=a))",
            "(?=a)[z-a]",
            "(?=a)b{3,1}",
            "(?<x>a)(?=b)(?<x>c)",
            "a{99999999999}",
        ] {
            assert!(!is_ecma_pattern(pattern), "{pattern}");
        }
    }
}
