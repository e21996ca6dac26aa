//! The syntax of permission rules.
//!
//! Used by `resolve::settings` and `load::managed`. Calls are matched in `core::permission`.

/// A parsed permission rule: a normalised server, and a glob for its tools or, after `method:`, for its methods.
///
/// Parsing does not match calls, which needs the catalog; it only refuses texts that could never match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolPattern {
    /// Every tool of every server.
    Everything,
    /// Every tool of a server.
    Server(String),
    /// The tools of a server that match a glob.
    Tools {
        /// The server, normalised.
        server: String,
        /// The glob.
        tools: String,
    },
}

/// The error for a text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a rule; rules look like `mcp__server`, `mcp__server__*` or `mcp__server__tool`"
)]
pub struct InvalidPermissionRule(String);

impl ToolPattern {
    /// Parses a rule.
    pub fn parse(text: &str) -> Result<Self, InvalidPermissionRule> {
        let bad = || InvalidPermissionRule(text.to_owned());
        let rest = text.strip_prefix("mcp__").ok_or_else(bad)?;
        if rest == "*" {
            return Ok(Self::Everything);
        }
        let is_word = |part: &str| !part.is_empty() && part.chars().all(is_plain);
        let is_glob =
            |part: &str| !part.is_empty() && part.chars().all(|c| c == '*' || is_plain(c));
        // Methods are matched as they are.
        let is_method = |part: &str| {
            let method = part.strip_prefix("method:").unwrap_or_default();
            !method.is_empty() && method.chars().all(|c| c.is_ascii_graphic())
        };
        match rest.split_once("__") {
            None if is_word(rest) => Ok(Self::Server(rest.to_owned())),
            Some((server, "*")) if is_word(server) => Ok(Self::Server(server.to_owned())),
            Some((server, tools)) if is_word(server) && (is_glob(tools) || is_method(tools)) => {
                Ok(Self::Tools { server: server.to_owned(), tools: tools.to_owned() })
            }
            _ => Err(bad()),
        }
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
