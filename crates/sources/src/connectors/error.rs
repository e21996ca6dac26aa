//! Why there is no fresh catalogue. No variant holds the token, nor text that could repeat it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;
use switchboard_process::{ProcessExit, SpawnError};
use switchboard_wire::http::HttpError;

/// Why there is no fresh catalogue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectorsError {
    /// The setting is not a URL.
    #[error("`connectors.url` is not a URL")]
    Url {
        /// Why.
        source: url::ParseError,
    },
    /// The setting is a URL that cannot be fetched.
    #[error("`connectors.url` must begin with `https://` or `http://`, not `{scheme}:`")]
    Scheme {
        /// What it begins with.
        scheme: String,
    },
    /// Others could read what is fetched on the way, and the token with it.
    #[error(
        "`connectors.url` must begin with `https://`: only on this machine is plain `http` used"
    )]
    Plain,
    /// The token helper could not be started.
    #[error("cannot start `connectors.tokenHelper`")]
    HelperStart {
        /// Why.
        source: SpawnError,
    },
    /// The token helper's output could not be read.
    #[error("cannot read what `connectors.tokenHelper` prints")]
    HelperRead {
        /// Why.
        source: io::Error,
    },
    /// The token helper did not come to an end.
    #[error("`connectors.tokenHelper` did not end within {after:?}")]
    HelperTimeout {
        /// How long it was given.
        after: Duration,
    },
    /// The token helper failed.
    #[error("`connectors.tokenHelper` {exit}; run it in a terminal to see what it says")]
    HelperFailed {
        /// How.
        exit: ProcessExit,
    },
    /// The token helper printed something that cannot be a token.
    #[error("`connectors.tokenHelper` printed {what}, not a token")]
    NotAToken {
        /// What it printed, without a word of it.
        what: TokenHelperFault,
    },
    /// The exchange failed.
    #[error("cannot fetch the catalogue")]
    Http {
        /// Why.
        source: HttpError,
    },
    /// The exchange took too long as a whole.
    #[error("cannot fetch the catalogue: it took longer than {after:?}")]
    TooSlow {
        /// How long it was given.
        after: Duration,
    },
    /// The answer was another one.
    #[error("cannot fetch the catalogue: it was answered with {status}")]
    Status {
        /// Which.
        status: StatusCode,
    },
    /// The answer is not said to be JSON.
    #[error("the catalogue is `{content_type}` and not JSON")]
    NotJson {
        /// What it is said to be.
        content_type: String,
    },
    /// The answer is not a list of servers.
    #[error("the catalogue is not a list of servers")]
    NotACatalogue,
    /// Something else is wanted by now.
    #[error("the catalogue is not wanted any more")]
    Abandoned,
    /// The catalogue was fetched, and could not be kept for later.
    #[error("cannot keep a copy of the catalogue in {}", path.display())]
    Keep {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What a helper prints instead of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenHelperFault {
    /// Nothing.
    Nothing,
    /// More than a token can be.
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
