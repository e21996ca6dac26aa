//! The token helper: a command of the user or the administrator that prints a bearer token.
//!
//! Used by `connectors::fetch` and `connectors::credentials`. It does not cache the token. Helpers of single
//! entries are in `switchboard_auth`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use switchboard_process::{
    Process, ProcessCommand, ProcessExit, ProcessGuard, SpawnedProcess, StderrOptions, spawn,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::error::{ConnectorsError, TokenHelperFault};

/// Longer than any token.
const MAX_TOKEN_BYTES: u64 = 16 * 1024;

/// The command, its folder and its environment.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct TokenHelper {
    pub(super) line: String,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
}

// === impl TokenHelper ===

impl TokenHelper {
    /// Runs the helper and returns the `Authorization` value for its output. When this returns, no process of
    /// the helper is left.
    ///
    /// Takes `stop` instead of being dropped, so that the end of the helper is awaited in that case too.
    pub(super) async fn authorization(
        &self,
        guard: &ProcessGuard,
        after: Duration,
        stop: &CancellationToken,
    ) -> Result<HeaderValue, ConnectorsError> {
        let started = spawn(self.command(), guard, StderrOptions::default()).await;
        let SpawnedProcess { stdin, stdout, process } =
            started.map_err(|source| ConnectorsError::HelperStart { source })?;
        drop(stdin);
        let output = tokio::select! {
            output = timeout(after, read_output(stdout, &process)) => output,
            () = stop.cancelled() => Ok(Err(ConnectorsError::Abandoned)),
        };
        process.stop().await;
        parse_token(&output.map_err(|_| ConnectorsError::HelperTimeout { after })??)
    }

    fn command(&self) -> ProcessCommand {
        ProcessCommand {
            args: vec!["-c".into(), self.line.clone().into()],
            env: self.env.clone(),
            cwd: Some(self.cwd.clone()),
            ..ProcessCommand::new("/bin/sh")
        }
    }
}

async fn read_output(
    stdout: pipe::Receiver,
    process: &Process,
) -> Result<Vec<u8>, ConnectorsError> {
    let mut bytes = Vec::new();
    let read = stdout.take(MAX_TOKEN_BYTES + 1).read_to_end(&mut bytes).await;
    read.map_err(|source| ConnectorsError::HelperRead { source })?;
    if bytes.len() as u64 > MAX_TOKEN_BYTES {
        let what = TokenHelperFault::TooMuch;
        return Err(ConnectorsError::NotAToken { what });
    }
    match process.wait_exit().await {
        ProcessExit::Code(0) => Ok(bytes),
        exit => Err(ConnectorsError::HelperFailed { exit }),
    }
}

/// Parses a token: one word of visible characters.
fn parse_token(output: &[u8]) -> Result<HeaderValue, ConnectorsError> {
    let token = output.trim_ascii();
    if token.is_empty() {
        let what = TokenHelperFault::Nothing;
        return Err(ConnectorsError::NotAToken { what });
    }
    let garbage = || ConnectorsError::NotAToken { what: TokenHelperFault::Garbage };
    if !token.iter().all(u8::is_ascii_graphic) {
        return Err(garbage());
    }
    let mut value =
        HeaderValue::from_bytes(&[b"Bearer ", token].concat()).map_err(|_| garbage())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_one_word_is_a_token() {
        let check = |output: &[u8], what| match parse_token(output) {
            Err(ConnectorsError::NotAToken { what: found }) => assert_eq!(found, what),
            other => panic!("{other:?}"),
        };
        check(b"", TokenHelperFault::Nothing);
        check(b" \n", TokenHelperFault::Nothing);
        check(b"two words", TokenHelperFault::Garbage);
        check(b"two\nlines", TokenHelperFault::Garbage);
        check(b"\x1b[31mred", TokenHelperFault::Garbage);
        check("caf\u{e9}".as_bytes(), TokenHelperFault::Garbage);
        let value = parse_token(b"abc.DEF-1~+/=\n").unwrap();
        assert_eq!(value.as_bytes(), b"Bearer abc.DEF-1~+/=");
        assert!(!format!("{value:?}").contains("abc"));
    }
}
