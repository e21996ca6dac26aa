//! A command that prints headers, or a secret: the user's own way to get at credentials.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use switchboard_process::{
    Process, ProcessCommand, ProcessExit, ProcessGuard, SpawnedProcess, StderrOptions, spawn,
};
use switchboard_wire::http::{
    ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, RequestLine,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::secret::Secret;

/// No set of headers is larger.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
/// How long it may take.
const HELPER_TIMEOUT: Duration = Duration::from_secs(10);

/// What to run, and where.
///
/// It gets the environment given here and nothing else: a person's API keys do not reach it by accident. Has no
/// `Debug`: that environment may hold secrets.
#[derive(Clone)]
pub struct HelperCommand {
    /// A line for the shell.
    pub line: String,
    /// The environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Who sees to it that nothing is left of it.
    pub guard: ProcessGuard,
}

/// One that prints headers. They are kept until a server refuses them; then it runs once more.
pub struct HeadersHelper(pub HelperCommand);

/// A helper that did not print what it should have.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// It could not be started.
    #[error("the helper cannot be started")]
    Start(#[source] switchboard_process::SpawnError),
    /// Its output could not be read.
    #[error("the helper cannot be read")]
    Read(#[source] std::io::Error),
    /// It said that it failed.
    #[error("the helper failed: {0}")]
    Failed(ProcessExit),
    /// It took too long.
    #[error("the helper printed nothing within {0:?}")]
    Timeout(Duration),
    /// What it printed is no JSON object of strings that can be headers.
    #[error("the headers helper has to print a JSON object of strings: {0}")]
    NotHeaders(&'static str),
    /// What it printed is not one word.
    #[error("the helper has to print one word, the secret")]
    NotASecret,
}

/// A helper, as credentials.
pub(crate) struct HelperCredentials {
    helper: HeadersHelper,
    /// Waited for by all who need it, so that the helper runs once for them.
    headers: Mutex<Option<HeaderMap>>,
}

// === impl HeadersHelper ===

impl HeadersHelper {
    /// Credentials that are what it prints.
    pub fn into_credentials(self) -> Arc<dyn CredentialProvider> {
        Arc::new(HelperCredentials { helper: self, headers: Mutex::default() })
    }

    async fn run(&self) -> Result<HeaderMap, HelperError> {
        parse(&self.0.run_for_output().await?)
    }
}

// === impl Helper ===

impl HelperCommand {
    /// The one word that it prints.
    pub(crate) async fn run_for_secret(&self) -> Result<Secret<String>, HelperError> {
        let output = self.run_for_output().await?;
        let word = output.trim_ascii();
        let is_word = !word.is_empty() && word.iter().all(u8::is_ascii_graphic);
        let text = std::str::from_utf8(word).ok().filter(|_| is_word);
        text.map(|text| Secret::new(text.to_owned())).ok_or(HelperError::NotASecret)
    }

    /// Runs it. When this returns nothing of it runs any more.
    async fn run_for_output(&self) -> Result<Vec<u8>, HelperError> {
        let command = ProcessCommand {
            args: vec!["-c".into(), self.line.clone().into()],
            env: self.env.clone(),
            cwd: Some(self.cwd.clone()),
            ..ProcessCommand::new("/bin/sh")
        };
        let started = spawn(command, &self.guard, StderrOptions::default()).await;
        let SpawnedProcess { stdin, stdout, process } = started.map_err(HelperError::Start)?;
        drop(stdin);
        let output = timeout(HELPER_TIMEOUT, read_output(stdout, &process)).await;
        process.stop().await;
        output.map_err(|_| HelperError::Timeout(HELPER_TIMEOUT))?
    }
}

async fn read_output(stdout: pipe::Receiver, process: &Process) -> Result<Vec<u8>, HelperError> {
    let mut bytes = Vec::new();
    stdout.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes).await.map_err(HelperError::Read)?;
    if bytes.len() as u64 > MAX_OUTPUT_BYTES {
        return Err(HelperError::NotHeaders("it is too long"));
    }
    match process.wait_exit().await {
        ProcessExit::Code(0) => Ok(bytes),
        exit => Err(HelperError::Failed(exit)),
    }
}

fn parse(output: &[u8]) -> Result<HeaderMap, HelperError> {
    let printed: Map<String, Value> = serde_json::from_slice(output)
        .map_err(|_| HelperError::NotHeaders("it is something else"))?;
    let mut headers = HeaderMap::new();
    for (name, value) in printed {
        let text = value.as_str().ok_or(HelperError::NotHeaders("a value is no string"))?;
        let name = HeaderName::try_from(name)
            .map_err(|_| HelperError::NotHeaders("a name is no name of a header"))?;
        let mut value = HeaderValue::try_from(text)
            .map_err(|_| HelperError::NotHeaders("a value cannot be a header's"))?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

// === impl HelperCredentials ===

impl HelperCredentials {
    async fn current_headers(&self) -> Result<HeaderMap, HelperError> {
        let mut headers = self.headers.lock().await;
        if headers.is_none() {
            *headers = Some(self.helper.run().await?);
        }
        Ok(headers.clone().unwrap_or_default())
    }

    /// Other headers in place of the refused ones.
    async fn renew_headers(&self, refused: &HeaderMap) -> ChallengeAction {
        let mut headers = self.headers.lock().await;
        if headers.as_ref() != Some(refused) {
            return ChallengeAction::Retry; // Somebody else ran it already.
        }
        match self.helper.run().await {
            Ok(printed) if printed != *refused => {
                *headers = Some(printed);
                ChallengeAction::Retry
            }
            Ok(_) => {
                let reason = "the server refuses what the headers helper prints".to_owned();
                ChallengeAction::SignIn { reason }
            }
            Err(error) => ChallengeAction::Failed { reason: error.to_string() },
        }
    }
}

impl CredentialProvider for HelperCredentials {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(async {
            self.current_headers().await.map_err(|error| CredentialError::Failed(Box::new(error)))
        })
    }

    fn on_challenge<'a>(
        &'a self,
        challenge: &'a CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(self.renew_headers(&challenge.sent))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_of_strings_is_headers() {
        for (output, why) in [
            ("", "it is something else"),
            ("[]", "it is something else"),
            (r#"{"a": 1}"#, "a value is no string"),
            (r#"{"a b": "x"}"#, "a name is no name of a header"),
            (r#"{"a": "x\ny"}"#, "a value cannot be a header's"),
        ] {
            match parse(output.as_bytes()) {
                Err(HelperError::NotHeaders(found)) => assert_eq!(found, why, "{output}"),
                other => panic!("{output}: {other:?}"),
            }
        }
        let headers = parse(br#"{"X-Key": "s3cret", "b": ""}"#).unwrap();
        assert_eq!(headers["x-key"], "s3cret");
        assert!(!format!("{headers:?}").contains("s3cret"));
    }
}
