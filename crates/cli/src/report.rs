//! Every failure as a person reads it: what, why, what to do; and as an exit code.

use std::process::ExitCode;

use serde_json::{Value, json};
use switchboard_wire::{Error, Remedy, sanitize};

use crate::hint;

/// A command that did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    kind: Kind,
}

/// Exit codes people and scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failed = 1,
    Usage = 2,
    NeedsAuthentication = 3,
    Interrupted = 130,
}

// === impl Failure ===

impl Failure {
    /// Something of ours that failed.
    pub(crate) fn new(message: impl Into<String>, cause: impl std::error::Error) -> Self {
        let causes = chain(&cause);
        Self {
            message: message.into(),
            causes,
            hint: None,
            kind: Kind::Failed,
        }
    }

    /// Something that was typed and cannot be meant.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), Some(hint.into()));
        Self {
            message,
            causes: Vec::new(),
            hint,
            kind: Kind::Usage,
        }
    }

    /// A server that failed.
    pub(crate) fn server(message: impl Into<String>, error: &Error) -> Self {
        let kind = match error.remedy() {
            Remedy::SignIn => Kind::NeedsAuthentication,
            _ => Kind::Failed,
        };
        let mut causes = chain(error);
        if matches!(error, Error::Http(_) | Error::WebSocket(_)) {
            // Between what we were doing and what the system said are the layers of libraries.
            causes.drain(1..causes.len().saturating_sub(1).max(1));
        }
        Self {
            message: message.into(),
            causes,
            hint: hint::of(error),
            kind,
        }
    }

    /// A tool that answered with `isError`.
    pub(crate) fn tool(name: &str) -> Self {
        let message = format!("`{}` reports an error", sanitize::line(name));
        Self {
            message,
            causes: Vec::new(),
            hint: None,
            kind: Kind::Failed,
        }
    }

    /// Ctrl-C.
    pub(crate) fn interrupted() -> Self {
        let message = "interrupted".to_owned();
        Self {
            message,
            causes: Vec::new(),
            hint: None,
            kind: Kind::Interrupted,
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn causes(&self) -> &[String] {
        &self.causes
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "error": { "message": self.message, "causes": self.causes, "hint": self.hint } })
    }
}

/// An error and everything below it, each once.
fn chain(error: &dyn std::error::Error) -> Vec<String> {
    let mut causes = vec![sanitize::block(&error.to_string()).into_owned()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = sanitize::block(&cause.to_string()).into_owned();
        if !causes.iter().any(|said| said.contains(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    causes
}
