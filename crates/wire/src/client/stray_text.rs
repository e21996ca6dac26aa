//! The first text that a server printed to standard output where a message belongs.
//!
//! Used by `connect`: a server that never answers, but prints `Listening on port 3000`, explains itself this way. It
//! does not make the connection fail, since some servers print a greeting first.

use std::sync::{Arc, OnceLock};

use crate::{Error, sanitize};

/// The longest text that is kept.
const MAX_CHARS: usize = 200;

/// The text, shared between the task that reads and the one that connects.
#[derive(Debug, Clone, Default)]
pub(super) struct StrayText(Arc<OnceLock<String>>);

// === impl StrayText ===

impl StrayText {
    /// Keeps a text that is no message, if it is the first one.
    pub(super) fn note(&self, text: &str) {
        if !text.trim_start().starts_with(['{', '[']) {
            let shown = || sanitize::sanitize_line(text.trim()).chars().take(MAX_CHARS).collect();
            self.0.get_or_init(shown);
        }
    }

    /// Explains why connecting failed, where the error itself says nothing.
    pub(super) fn explain(&self, error: Error) -> Error {
        let is_mute = match &error {
            Error::Timeout { .. } | Error::Closed => true,
            Error::Exited { stderr, .. } => stderr.trim().is_empty(),
            _ => false,
        };
        match self.0.get().filter(|_| is_mute) {
            Some(line) => Error::StrayText { line: line.clone(), source: Arc::new(error) },
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_explains_a_silent_failure() {
        let stray = StrayText::default();
        assert!(matches!(stray.explain(Error::Closed), Error::Closed));
        stray.note(r#"{"jsonrpc":"2.0"}"#);
        stray.note("[1]");
        assert!(matches!(stray.explain(Error::Closed), Error::Closed));
        stray.note(" Listening on port 3000\r");
        stray.note("more");
        let error = stray.explain(Error::Closed);
        let text =
            "the server printed `Listening on port 3000` to standard output instead of a message";
        assert_eq!(error.to_string(), text);
        assert!(matches!(stray.explain(Error::Busy), Error::Busy));
    }
}
