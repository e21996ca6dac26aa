//! Failures of commands: message, causes, location, hint, and exit code.
//!
//! Used by all commands; `main` prints the failure through `printer`. It does not choose hints (`hint` does).

use std::process::ExitCode;

use serde_json::{Value, json};
use switchboard_config::SourceLocation;
use switchboard_hub::{ErrorExplanation, HubError};
use switchboard_wire::{Error, Remedy, RemoteError, error_chain, sanitize};

use crate::commands::token_failed;
use crate::hint::{self, Subject};
use crate::notice::Notice;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    causes: Vec<String>,
    at: Option<SourceLocation>,
    hint: Option<String>,
    kind: FailureKind,
    /// The class of remedy of a failed call, for machines.
    remedy: Option<Remedy>,
    /// Whether `causes` lists the items that the message counts.
    is_list: bool,
}

/// Exit codes that people and scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Failed = 1,
    Usage = 2,
    NeedsAuthentication = 3,
    Denied = 4,
    Interrupted = 130,
}

// === impl Failure ===

impl Failure {
    /// A failure with a message only.
    pub(crate) fn plain(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = sanitize::sanitize_line(&message.into()).into_owned();
        Self {
            message,
            causes: Vec::new(),
            is_list: false,
            at: None,
            hint: None,
            kind,
            remedy: None,
        }
    }

    /// A failure caused by an error of this program or the system.
    pub(crate) fn new(message: impl Into<String>, cause: impl std::error::Error) -> Self {
        let mut failure = Self::plain(FailureKind::Failed, message);
        failure.causes = error_chain(&cause);
        failure
    }

    /// A wrong command line, with a hint.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::plain(FailureKind::Usage, message).with_hint(hint)
    }

    /// The failure of a server.
    pub(crate) fn server(message: impl Into<String>, error: &Error, subject: &Subject<'_>) -> Self {
        let kind = match error.remedy() {
            Remedy::SignIn => FailureKind::NeedsAuthentication,
            _ => FailureKind::Failed,
        };
        let RemoteError { causes, hint, .. } = RemoteError::from_wire_error(error);
        let hint = hint.or_else(|| hint::for_error(error, subject));
        Self { causes, hint, ..Self::plain(kind, message) }
    }

    /// A failed change of the configuration.
    pub(crate) fn config(message: impl Into<String>, error: &switchboard_config::Error) -> Self {
        use switchboard_config::Error as E;
        let kind = match error {
            E::Blocked { .. } | E::Managed { .. } => FailureKind::Denied,
            E::Name(_) | E::Entry { .. } => FailureKind::Usage,
            _ => FailureKind::Failed,
        };
        Self {
            causes: hint::causes_of_config(error).unwrap_or_else(|| error_chain(error)),
            at: hint::place_of_config(error),
            hint: hint::of_config(error),
            ..Self::plain(kind, message)
        }
    }

    /// A hub, a workspace or an address that could not be opened.
    pub(crate) fn hub(error: &HubError) -> Self {
        let (kind, at, causes) = match error {
            HubError::Tokens { path, source } => return token_failed(source, path),
            HubError::RunConfiguration(problem) => {
                (FailureKind::Usage, problem.at.clone(), vec![problem.message.clone()])
            }
            HubError::Agent(problem) => (FailureKind::Usage, problem.at.clone(), Vec::new()),
            HubError::BareNames
            | HubError::UnknownServer { .. }
            | HubError::UserAuthBeyondMachine { .. }
            | HubError::ResourceUrl { .. }
            | HubError::IssuerUrl { .. }
            | HubError::NoToken { .. } => (FailureKind::Usage, None, Vec::new()),
            _ => (FailureKind::Failed, None, Vec::new()),
        };
        let mut failure = Self::plain(kind, hint::message_of_hub(error)).with_location(at);
        failure.causes = std::error::Error::source(error).map(error_chain).unwrap_or_default();
        let failure = failure.with_causes(causes);
        match hint::of_hub(error) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }

    /// A tool that answered with `isError`.
    pub(crate) fn tool(name: &str) -> Self {
        Self::plain(FailureKind::Failed, format!("`{name}` reports an error"))
    }

    /// Ctrl-C.
    pub(crate) fn interrupted() -> Self {
        Self::plain(FailureKind::Interrupted, "interrupted")
    }

    /// Adds a hint.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(sanitize::sanitize_line(&hint.into()).into_owned());
        self
    }

    /// Adds the class of remedy, for machines.
    pub(crate) fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Adds causes.
    pub(crate) fn with_causes(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        let causes = causes.into_iter();
        self.causes.extend(causes.map(|cause| sanitize::sanitize_block(&cause).into_owned()));
        self
    }

    /// Adds the items that the message counts.
    pub(crate) fn with_items(mut self, items: impl IntoIterator<Item = String>) -> Self {
        let items = items.into_iter();
        self.causes.extend(items.map(|item| sanitize::sanitize_line(&item).into_owned()));
        self.is_list = true;
        self
    }

    /// Wraps the failure in another message; the old message becomes its first cause.
    pub(crate) fn with_context(mut self, message: impl Into<String>) -> Self {
        let above = Self::plain(self.kind, message).message;
        self.causes.insert(0, std::mem::replace(&mut self.message, above));
        self
    }

    /// Adds the file and line.
    pub(crate) fn with_location(mut self, at: Option<SourceLocation>) -> Self {
        self.at = at;
        self
    }

    /// Message, causes and hint on one line.
    pub(crate) fn in_one_line(&self) -> String {
        let parts = std::iter::once(&self.message).chain(&self.causes).chain(&self.hint);
        parts.map(String::as_str).collect::<Vec<_>>().join("; ")
    }

    /// The failure as a warning, for a command that goes on.
    pub(crate) fn to_warning(&self) -> Notice {
        let parts = std::iter::once(&self.message).chain(&self.causes);
        let message = parts.map(String::as_str).collect::<Vec<_>>().join(": ");
        let notice = Notice::warning(message).with_location(self.at.clone());
        match &self.hint {
            Some(hint) => notice.with_hint(hint),
            None => notice,
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn causes(&self) -> &[String] {
        &self.causes
    }

    /// Whether the causes list the items that the message counts.
    pub(crate) fn is_list(&self) -> bool {
        self.is_list
    }

    pub(crate) fn at(&self) -> Option<&SourceLocation> {
        self.at.as_ref()
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn needs_authentication(&self) -> bool {
        self.kind == FailureKind::NeedsAuthentication
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }

    /// The failure as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({ "kind": self.kind.as_str(), "message": self.message });
        if !self.causes.is_empty() {
            error[if self.is_list { "items" } else { "causes" }] = json!(self.causes);
        }
        if let Some(at) = &self.at {
            error["at"] = json!(at);
        }
        if let Some(hint) = &self.hint {
            error["hint"] = json!(hint);
        }
        if let Some(remedy) = self.remedy {
            error["remedy"] = json!(remedy);
        }
        error
    }
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        Self::hub(&error)
    }
}

impl From<Failure> for ErrorExplanation {
    fn from(failure: Failure) -> Self {
        Self { message: failure.message, causes: failure.causes, hint: failure.hint }
    }
}

// === impl FailureKind ===

impl FailureKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::NeedsAuthentication => "needs-auth",
            Self::Denied => "denied",
            Self::Interrupted => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the hub, its kind and a part of its hint.
    #[test]
    fn errors_of_the_hub_have_the_words_of_the_command_line() {
        use FailureKind::{Failed, Usage};
        let io = || std::io::Error::from(std::io::ErrorKind::AddrInUse);
        for (error, kind, message, hint) in [
            (
                HubError::Descriptors { limit: 20, needed: 32 },
                Failed,
                "this process may open 20 files at once, and needs at least 32",
                "`ulimit -n`",
            ),
            (HubError::BareNames, Usage, "`--names bare` is for one server only", "`--servers`"),
            (
                HubError::UnknownServer { name: "x".into() },
                Usage,
                "there is no server `x`",
                "`switchboard list`",
            ),
            (
                HubError::IssuerUrl { url: "x".into() },
                Usage,
                "`x` is not a valid URL for `--auth-issuer`",
                "https://login.example.com",
            ),
            (
                HubError::Bind { address: ([127, 0, 0, 1], 80).into(), source: io() },
                Failed,
                "cannot listen on 127.0.0.1:80",
                "`--listen`",
            ),
        ] {
            let failure = Failure::from(error);
            assert_eq!((failure.kind, failure.message()), (kind, message));
            assert!(failure.hint().is_some_and(|text| text.contains(hint)), "{failure:?}");
        }
        let failure = Failure::from(HubError::Guard(io()));
        assert_eq!(failure.causes(), [io().to_string()]);
    }
}
