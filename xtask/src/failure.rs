//! The error of a chore: what was being done, why it failed, and what a person can do about it.

use std::fmt;
use std::path::Path;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

#[derive(Debug, Clone)]
pub(crate) struct Failure {
    what: String,
    cause: Option<String>,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), cause: None, hint: None }
    }

    pub(crate) fn because(self, cause: impl fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The first line, for tables.
    pub(crate) fn headline(&self) -> &str {
        self.what.lines().next().unwrap_or_default()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(cause) = &self.cause {
            write!(f, "\n  caused by: {cause}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Says which file an I/O error was about, and what was being done with it.
pub(crate) trait AboutFile<T> {
    fn about(self, doing: &str, path: &Path) -> Result<T>;
}

impl<T> AboutFile<T> for std::io::Result<T> {
    fn about(self, doing: &str, path: &Path) -> Result<T> {
        self.map_err(|why| {
            Failure::new(format!("cannot {doing} `{}`", path.display())).because(why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_why_and_what_to_do() {
        let failure =
            Failure::new("cannot start `npm`").because("not found").hint("install Node.js");
        assert_eq!(
            failure.to_string(),
            "cannot start `npm`\n  caused by: not found\n\nhint: install Node.js"
        );
        assert_eq!(failure.headline(), "cannot start `npm`");
    }
}
