//! The errors of fetching the connector catalog. No variant holds the token, or text that could repeat it.
//!
//! Used by `connectors` and, in `SourceProblem::Connectors`, by every front.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;
use switchboard_process::{ProcessExit, SpawnError};
use switchboard_wire::http::HttpError;

/// Why there is no fresh connector catalog.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectorsError {
    /// The setting is not a URL.
    #[error("`connectors.url` is not a URL")]
    Url {
        /// The cause.
        source: url::ParseError,
    },
    /// The setting is a URL that cannot be fetched.
    #[error("`connectors.url` must begin with `https://` or `http://`, not `{scheme}:`")]
    Scheme {
        /// The URL's scheme.
        scheme: String,
    },
    /// The connection would be unencrypted: others could read the catalog and the token.
    #[error(
        "`connectors.url` must begin with `https://`: only on this machine is plain `http` used"
    )]
    Plain,
    /// The token helper could not be started.
    #[error("cannot start `connectors.tokenHelper`")]
    HelperStart {
        /// The cause.
        source: SpawnError,
    },
    /// The token helper's output could not be read.
    #[error("cannot read what `connectors.tokenHelper` prints")]
    HelperRead {
        /// The cause.
        source: io::Error,
    },
    /// The token helper exceeded its timeout.
    #[error("`connectors.tokenHelper` did not end within {after:?}")]
    HelperTimeout {
        /// The timeout.
        after: Duration,
    },
    /// The token helper failed.
    #[error("`connectors.tokenHelper` {exit}; run it in a terminal to see what it says")]
    HelperFailed {
        /// Its exit.
        exit: ProcessExit,
    },
    /// The token helper printed something that cannot be a token.
    #[error("`connectors.tokenHelper` printed {what}, not a token")]
    NotAToken {
        /// The kind of output, without quoting it.
        what: TokenHelperFault,
    },
    /// The HTTP exchange failed.
    #[error("cannot fetch the connector catalog")]
    Http {
        /// The cause.
        source: HttpError,
    },
    /// The fetch as a whole exceeded its timeout.
    #[error("cannot fetch the connector catalog: it took longer than {after:?}")]
    TooSlow {
        /// The timeout.
        after: Duration,
    },
    /// The server answered with a status that is no success.
    #[error("cannot fetch the connector catalog: it was answered with {status}")]
    Status {
        /// The status.
        status: StatusCode,
    },
    /// The answer's content type is not JSON.
    #[error("the connector catalog is `{content_type}` and not JSON")]
    NotJson {
        /// Its content type.
        content_type: String,
    },
    /// The answer is not a list of servers.
    #[error("the connector catalog is not a list of servers")]
    NotACatalogue,
    /// The fetch was cancelled because the settings changed.
    #[error("the connector catalog is not wanted any more")]
    Abandoned,
    /// The catalog was fetched but could not be cached.
    #[error("cannot keep a copy of the connector catalog in {}", path.display())]
    Keep {
        /// The cache file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The kinds of helper output that are no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenHelperFault {
    /// Nothing.
    Nothing,
    /// Longer than a token can be.
    TooMuch,
    /// Several words or lines, or characters that no token has.
    Garbage,
}

impl std::fmt::Display for TokenHelperFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::TooMuch => "too much",
            Self::Garbage => "something else",
        })
    }
}
