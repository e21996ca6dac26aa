//! The token helper: a command of the user's or the administrator's that prints a bearer token.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use switchboard_process::{Command, Exit, Guard, Process, Spawned, StderrOptions, spawn};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::error::{Error, NotAToken};

/// No token is longer.
const MAX_BYTES: u64 = 16 * 1024;

/// What to run, and where.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Helper {
    pub(super) line: String,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
}

// === impl Helper ===

impl Helper {
    /// Runs it and gives back the `Authorization` that its output makes. When this returns nothing of it runs any more.
    ///
    /// Waits for `stop` too, instead of being dropped, so that the helper's end is waited for then as well.
    pub(super) async fn authorization(
        &self,
        guard: &Guard,
        after: Duration,
        stop: &CancellationToken,
    ) -> Result<HeaderValue, Error> {
        let started = spawn(self.command(), guard, StderrOptions::default()).await;
        let Spawned { stdin, stdout, process } =
            started.map_err(|source| Error::HelperStart { source })?;
        drop(stdin);
        let output = tokio::select! {
            output = timeout(after, output(stdout, &process)) => output,
            () = stop.cancelled() => Ok(Err(Error::Abandoned)),
        };
        process.stop().await;
        authorization(&output.map_err(|_| Error::HelperTimeout { after })??)
    }

    fn command(&self) -> Command {
        Command {
            args: vec!["-c".into(), self.line.clone().into()],
            env: self.env.clone(),
            cwd: Some(self.cwd.clone()),
            ..Command::new("/bin/sh")
        }
    }
}

async fn output(stdout: pipe::Receiver, process: &Process) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = stdout.take(MAX_BYTES + 1).read_to_end(&mut bytes).await;
    read.map_err(|source| Error::HelperRead { source })?;
    if bytes.len() as u64 > MAX_BYTES {
        let what = NotAToken::TooMuch;
        return Err(Error::NotAToken { what });
    }
    match process.exited().await {
        Exit::Code(0) => Ok(bytes),
        exit => Err(Error::HelperFailed { exit }),
    }
}

/// A token is one word of visible characters.
fn authorization(output: &[u8]) -> Result<HeaderValue, Error> {
    let token = output.trim_ascii();
    if token.is_empty() {
        let what = NotAToken::Nothing;
        return Err(Error::NotAToken { what });
    }
    let garbage = || Error::NotAToken { what: NotAToken::Garbage };
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
        let check = |output: &[u8], what| match authorization(output) {
            Err(Error::NotAToken { what: found }) => assert_eq!(found, what),
            other => panic!("{other:?}"),
        };
        check(b"", NotAToken::Nothing);
        check(b" \n", NotAToken::Nothing);
        check(b"two words", NotAToken::Garbage);
        check(b"two\nlines", NotAToken::Garbage);
        check(b"\x1b[31mred", NotAToken::Garbage);
        check("caf\u{e9}".as_bytes(), NotAToken::Garbage);
        let value = authorization(b"abc.DEF-1~+/=\n").unwrap();
        assert_eq!(value.as_bytes(), b"Bearer abc.DEF-1~+/=");
        assert!(!format!("{value:?}").contains("abc"));
    }
}
