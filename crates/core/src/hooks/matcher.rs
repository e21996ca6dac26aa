//! Matchers of hooks: which tool or server names a hook is for.
//!
//! Used by `hooks`, which compiles them once. An absent matcher, an empty one and `*` match every name. Words
//! separated by `|` or `,` are names and match whole. Any other text is a regular expression and matches anywhere
//! in a name, unless it is anchored.

use regex::Regex;
use switchboard_config::HookEvent;

#[derive(Debug)]
pub(super) enum HookMatcher {
    All,
    Names(Vec<String>),
    Pattern(Regex),
    /// The text is not a valid regular expression. Holds the error.
    Unreadable(String),
}

// === impl HookMatcher ===

impl HookMatcher {
    pub(super) fn read(text: Option<&str>) -> Self {
        match text.map(str::trim) {
            None | Some("" | "*") => Self::All,
            Some(words) if words.chars().all(is_of_words) => Self::Names(split(words)),
            Some(pattern) => match Regex::new(pattern) {
                Ok(pattern) => Self::Pattern(pattern),
                Err(error) => Self::Unreadable(error.to_string()),
            },
        }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.iter().any(|known| known == name),
            Self::Pattern(pattern) => pattern.is_match(name),
            Self::Unreadable(_) => false,
        }
    }

    pub(super) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable(_))
    }

    /// Describes the fault of the matcher, as the end of a sentence about the hook.
    pub(super) fn flaw(&self, event: HookEvent) -> Option<String> {
        match self {
            Self::Unreadable(why) => {
                let outcome = match event {
                    HookEvent::PreToolUse => "so every call is asked about",
                    _ => "so it never runs",
                };
                // The error of `regex` points at the place over several lines; the last line is the reason.
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                Some(format!("has a matcher that cannot be read, {outcome}: {why}"))
            }
            Self::Names(names) if is_of_tools(event) => {
                let server = names.iter().find(|name| is_server_alone(name))?;
                Some(format!(
                    "names `{server}`, which is no tool and matches nothing; `{server}__.*` matches all tools \
                     of that server"
                ))
            }
            Self::All | Self::Names(_) | Self::Pattern(_) => None,
        }
    }
}

fn is_of_words(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|')
}

fn split(words: &str) -> Vec<String> {
    let words = words.split(['|', ',']).map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn is_of_tools(event: HookEvent) -> bool {
    !matches!(event, HookEvent::Elicitation | HookEvent::ElicitationResult)
}

/// Whether a name is `mcp__server` without a tool.
fn is_server_alone(name: &str) -> bool {
    name.strip_prefix("mcp__").is_some_and(|rest| !rest.contains("__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_whole_and_patterns_anywhere() {
        let check = |matcher: Option<&str>, name: &str, expected| {
            assert_eq!(HookMatcher::read(matcher).matches(name), expected, "{matcher:?} {name}");
        };
        for all in [None, Some(""), Some(" "), Some("*"), Some(".*")] {
            check(all, "mcp__github__create_issue", true);
        }
        check(Some("mcp__a__x"), "mcp__a__x", true);
        check(Some("mcp__a__x"), "mcp__a__xy", false);
        check(Some("mcp__a"), "mcp__a__x", false);
        check(Some("mcp__a__x|mcp__b__y"), "mcp__b__y", true);
        check(Some("mcp__a__x, mcp__b__y"), "mcp__b__y", true);
        check(Some("mcp__a__x|"), "", false);
        check(Some("mcp__my-server__x"), "mcp__my-server__x", true);
        check(Some("mcp__A__x"), "mcp__a__x", false);
        check(Some("mcp__a__.*"), "mcp__a__x", true);
        check(Some("mcp__a__.*"), "mcp__b__x", false);
        check(Some("__(get|list)_.*"), "mcp__a__get_x", true);
        check(Some("^get"), "mcp__a__get", false);
        check(Some("delete$"), "mcp__a__delete", true);
        check(Some("Write|mcp__.*__delete"), "mcp__a__delete", true);
        check(Some("(?!x)"), "x", false);
    }

    #[test]
    fn a_matcher_that_does_nothing_is_a_flaw() {
        let check = |matcher: &str, event, expected: Option<&str>| {
            let flaw = HookMatcher::read(Some(matcher)).flaw(event);
            assert_eq!(flaw.as_deref(), expected, "{matcher}");
        };
        check("mcp__a__x", HookEvent::PreToolUse, None);
        check("github", HookEvent::Elicitation, None);
        check("mcp__a", HookEvent::Elicitation, None);
        check(
            "Bash|mcp__a",
            HookEvent::PostToolUse,
            Some(
                "names `mcp__a`, which is no tool and matches nothing; `mcp__a__.*` matches all tools of \
                 that server",
            ),
        );
        check(
            "(?!mcp__a)",
            HookEvent::PreToolUse,
            Some(
                "has a matcher that cannot be read, so every call is asked about: look-around, including \
                 look-ahead and look-behind, is not supported",
            ),
        );
        check(
            "a(",
            HookEvent::PostToolUse,
            Some("has a matcher that cannot be read, so it never runs: unclosed group"),
        );
    }
}
