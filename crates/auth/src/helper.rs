//! Credential helpers: a command of the user that prints headers or a client secret.
//!
//! Used by `hub::credentials` for `headersHelper` and by `organisation` for the client
//! secret, and by `host_secrets` for providers. It does not run the token helper of connector catalogs (`sources::connectors::helper`).

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

/// Larger than any set of headers.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
/// The timeout for one run.
const HELPER_TIMEOUT: Duration = Duration::from_secs(10);

/// The command line, environment and folder of a helper.
///
/// The helper gets this environment and nothing else, so the user's API keys do not reach it by accident. Has
/// no `Debug`, because the environment may hold secrets.
#[derive(Clone)]
pub struct HelperCommand {
    /// The command line, for the shell.
    pub line: String,
    /// The helper's environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The guard that ends the helper's processes.
    pub guard: ProcessGuard,
}

/// A helper that prints headers. The headers are cached until a server refuses them; then the helper runs
/// again.
pub struct HeadersHelper(pub HelperCommand);

/// Why a helper gave no headers or secret.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The helper could not be started.
    #[error("the helper cannot be started")]
    Start(#[source] switchboard_process::SpawnError),
    /// The helper's output could not be read.
    #[error("the helper cannot be read")]
    Read(#[source] std::io::Error),
    /// The helper exited with a failure.
    #[error("the helper failed: {0}")]
    Failed(ProcessExit),
    /// The helper exceeded its timeout.
    #[error("the helper printed nothing within {0:?}")]
    Timeout(Duration),
    /// The output is no JSON object of strings that can be headers.
    #[error("the headers helper has to print a JSON object of strings: {0}")]
    NotHeaders(&'static str),
    /// The output is not a single word.
    #[error("the helper has to print one word, the secret")]
    NotASecret,
}

/// The credential provider of a [`HeadersHelper`].
pub(crate) struct HelperCredentials {
    helper: HeadersHelper,
    /// The cached headers. Concurrent requests wait for this lock, so that the helper runs once for all.
    headers: Mutex<Option<HeaderMap>>,
}

// === impl HeadersHelper ===

impl HeadersHelper {
    /// Returns credentials made of the headers that the helper prints.
    pub fn into_credentials(self) -> Arc<dyn CredentialProvider> {
        Arc::new(HelperCredentials { helper: self, headers: Mutex::default() })
    }

    async fn run(&self) -> Result<HeaderMap, HelperError> {
        parse(&self.0.run_for_output().await?)
    }
}

// === impl HelperCommand ===

impl HelperCommand {
    /// Runs the helper and returns the one word that it prints.
    pub(crate) async fn run_for_secret(&self) -> Result<Secret<String>, HelperError> {
        let output = self.run_for_output().await?;
        let word = output.trim_ascii();
        let is_word = !word.is_empty() && word.iter().all(u8::is_ascii_graphic);
        let text = std::str::from_utf8(word).ok().filter(|_| is_word);
        text.map(|text| Secret::new(text.to_owned())).ok_or(HelperError::NotASecret)
    }

    /// Runs the helper. When this returns, no process of the helper is left.
    pub(crate) async fn run_for_output(&self) -> Result<Vec<u8>, HelperError> {
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

    /// Runs the helper again to replace refused headers.
    async fn renew_headers(&self, refused: &HeaderMap) -> ChallengeAction {
        let mut headers = self.headers.lock().await;
        if headers.as_ref() != Some(refused) {
            return ChallengeAction::Retry; // Another request has run the helper already.
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
