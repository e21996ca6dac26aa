//! Paths and source locations as people read them: relative to the current folder, else to the home.
//!
//! Used by `printer`; `surroundings` creates it. JSON output keeps whole paths.

use std::path::{Path, PathBuf};

use switchboard_config::{SourceLocation, SourceOrigin};
use switchboard_wire::sanitize;

/// The folders that paths are shown relative to.
#[derive(Debug, Default)]
pub(crate) struct PathDisplay {
    cwd: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl PathDisplay {
    pub(crate) fn new(cwd: Option<PathBuf>, home: Option<PathBuf>) -> Self {
        Self { cwd, home }
    }

    /// The path relative to the current folder, else to the home, else whole.
    pub(crate) fn path(&self, path: &Path) -> String {
        let below = |folder: &Option<PathBuf>| {
            let rest = path.strip_prefix(folder.as_deref()?).ok()?;
            (!rest.as_os_str().is_empty()).then(|| rest.display().to_string())
        };
        let text = below(&self.cwd)
            .or_else(|| below(&self.home).map(|rest| format!("~/{rest}")))
            .unwrap_or_else(|| path.display().to_string());
        sanitize::sanitize_line(&text).into_owned()
    }

    pub(crate) fn location(&self, at: &SourceLocation) -> String {
        match &at.origin {
            SourceOrigin::File(path) => format!("{}:{}:{}", self.path(path), at.line, at.column),
            SourceOrigin::Text(_) => sanitize::sanitize_line(&at.to_string()).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_said_briefly() {
        let places = PathDisplay::new(Some("/home/ada/project".into()), Some("/home/ada".into()));
        for (path, shown) in [
            ("/home/ada/project/.mcp.json", ".mcp.json"),
            ("/home/ada/.mcp.json", "~/.mcp.json"),
            ("/home/ada/project", "~/project"),
            ("/home/adamant/x", "/home/adamant/x"),
            ("/home/ada/project/a\u{1b}[2J", "a[2J"),
        ] {
            assert_eq!(places.path(Path::new(path)), shown);
        }
    }
}
