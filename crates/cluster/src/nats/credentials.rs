//! The credentials for NATS: a user with a password, or a token; in the URL or in a private file.
//!
//! Used by `nats`. `Debug` shows none of it. It does not know where NATS is.

use std::fmt;
use std::path::Path;

use crate::private_text::read_private_text;
use crate::{ClusterError, ClusterOptions};

/// The first line of a file of another kind, with a signed user.
const SIGNED_USER: &str = "-----BEGIN NATS USER JWT-----";

/// How this replica shows NATS who it is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum NatsCredentials {
    /// A user and a password.
    User {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// A token.
    Token(String),
}

/// The credentials of the file, else of the URL.
pub(super) fn find(options: &ClusterOptions) -> Result<Option<NatsCredentials>, ClusterError> {
    match &options.credentials_file {
        Some(file) => read(file).map(Some),
        None => Ok(options.servers.credentials()),
    }
}

fn read(path: &Path) -> Result<NatsCredentials, ClusterError> {
    let text = read_private_text(path)?;
    parse(&text).map_err(|reason| ClusterError::Credentials {
        path: path.to_owned(),
        reason: reason.to_owned(),
    })
}

/// One line: `user:password`, or a token.
fn parse(text: &str) -> Result<NatsCredentials, &'static str> {
    let text = text.trim();
    if text.starts_with(SIGNED_USER) {
        return Err(
            "signed users (.creds files) are not supported; write USER:PASSWORD or a token",
        );
    }
    if text.is_empty() || text.lines().count() > 1 {
        return Err("write one line into it, USER:PASSWORD or a token");
    }
    Ok(match text.split_once(':') {
        Some((user, password)) => {
            NatsCredentials::User { user: user.to_owned(), password: password.to_owned() }
        }
        None => NatsCredentials::Token(text.to_owned()),
    })
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User { .. } => "NatsCredentials::User(..)",
            Self::Token(_) => "NatsCredentials::Token(..)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_one_line() {
        let user = |user: &str, password: &str| NatsCredentials::User {
            user: user.to_owned(),
            password: password.to_owned(),
        };
        assert_eq!(parse("ann:a:b\n"), Ok(user("ann", "a:b")));
        assert_eq!(parse("token"), Ok(NatsCredentials::Token("token".to_owned())));
        assert!(parse("").is_err() && parse("a:b\nc:d").is_err());
        assert!(parse("-----BEGIN NATS USER JWT-----\nx").unwrap_err().contains(".creds"));
    }

    #[test]
    fn nobody_sees_them() {
        let shown = format!("{:?} {:?}", parse("ann:hunter2"), parse("hunter2"));
        assert!(!shown.contains("hunter2") && !shown.contains("ann"), "{shown}");
    }
}
