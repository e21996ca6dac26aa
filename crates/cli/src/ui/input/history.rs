//! The history of command lines, in memory and in a file in user state.
//!
//! Used by `input::line` and `ui`. It does not hold tool arguments.

/// The most lines that are kept.
const MAX_HISTORY_LINES: usize = 500;

/// The lines, and the position in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    lines: Vec<String>,
    /// How many lines back; zero while a new line is typed.
    back: usize,
}

/// The file of the history.
#[derive(Debug)]
pub(crate) struct HistoryFile(std::path::PathBuf);

// === impl History ===

impl History {
    pub(crate) fn new(lines: Vec<String>) -> Self {
        let mut history = Self::default();
        for line in lines {
            history.push(&line);
        }
        history
    }

    /// Adds a line, unless it equals the latest.
    pub(crate) fn push(&mut self, line: &str) {
        self.back = 0;
        if line.is_empty() || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push(line.to_owned());
        let spare = self.lines.len().saturating_sub(MAX_HISTORY_LINES);
        self.lines.drain(..spare);
    }

    /// The line before the shown one.
    pub(crate) fn older(&mut self) -> Option<&str> {
        self.back = (self.back + 1).min(self.lines.len());
        self.shown()
    }

    /// The line after the shown one; an empty line after the last.
    pub(crate) fn newer(&mut self) -> &str {
        self.back = self.back.saturating_sub(1);
        self.shown().unwrap_or_default()
    }

    fn shown(&self) -> Option<&str> {
        let at = self.lines.len().checked_sub(self.back)?;
        self.lines.get(at).map(String::as_str)
    }
}

// === impl HistoryFile ===

impl HistoryFile {
    /// The history file in the state folder.
    pub(crate) fn in_folder(folder: &std::path::Path) -> Self {
        Self(folder.join("ui-history"))
    }

    /// Reads the lines. A file that cannot be read counts as empty: nothing depends on it.
    pub(crate) fn read(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Adds a line, and drops the oldest. Two programs that write at once may lose a line, never the file.
    pub(crate) fn add(&self, line: &str) -> std::io::Result<()> {
        let mut history = History::new(self.read());
        history.push(line);
        let folder = self.0.parent().unwrap_or(&self.0);
        std::fs::create_dir_all(folder)?;
        let file = tempfile::NamedTempFile::new_in(folder)?;
        std::fs::write(file.path(), history.lines.join("\n") + "\n")?;
        file.persist(&self.0).map_err(|error| error.error).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let mut history = History::default();
        assert_eq!(history.older(), None);
        for line in ["a", "b", "b", ""] {
            history.push(line);
        }
        assert_eq!(history.older(), Some("b"));
        assert_eq!(history.older(), Some("a"));
        assert_eq!(history.older(), Some("a"));
        assert_eq!(history.newer(), "b");
        assert_eq!(history.newer(), "");
    }

    #[test]
    fn the_file_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let kept = HistoryFile::in_folder(&folder.path().join("new"));
        assert!(kept.read().is_empty());
        for number in 0..MAX_HISTORY_LINES + 3 {
            kept.add(&number.to_string()).unwrap();
        }
        let lines = kept.read();
        assert_eq!(lines.len(), MAX_HISTORY_LINES);
        assert_eq!((&*lines[0], &*lines[MAX_HISTORY_LINES - 1]), ("3", "502"));
    }
}
