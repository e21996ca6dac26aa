//! Two entries that mean the same server.

use std::collections::BTreeMap;

use url::Url;

use super::{Entry, Transport};

/// What makes two expanded entries the same server: the URL, or command, arguments and environment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signature {
    /// A server behind a URL.
    Remote(String),
    /// A process.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
        /// Its variables.
        env: BTreeMap<String, String>,
    },
}

impl Signature {
    /// The signature of an entry.
    pub fn of(entry: &Entry) -> Self {
        match &entry.transport {
            Transport::Stdio(stdio) => Self::Stdio {
                command: std::iter::once(&stdio.command).chain(&stdio.args).cloned().collect(),
                env: stdio.env.clone(),
            },
            transport => Self::Remote(canonical(transport.url().unwrap_or_default())),
        }
    }
}

/// Case of the host, default ports and dots in the path do not make another server.
fn canonical(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return url.to_owned() };
    parsed.set_fragment(None);
    parsed.as_str().trim_end_matches('/').to_owned()
}
