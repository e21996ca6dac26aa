//! The token helper: a command of the user's or the administrator's that prints a bearer token.

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

/// No token is longer.
const MAX_TOKEN_BYTES: u64 = 16 * 1024;

/// What to run, and where.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct TokenHelper {
    pub(super) line: String,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
}

// === impl Helper ===

impl TokenHelper {
    /// Runs it and gives back the `Authorization` that its output makes. When this returns nothing of it runs any more.
    ///
    /// Waits for `stop` too, instead of being dropped, so that the helper's end is waited for then as well.
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

/// A token is one word of visible characters.
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
