//! [`HostSecrets`]: the values of secrets for `switchboard_config`, from the store and from providers.
//!
//! Used by every process that resolves configuration. Lookups run on a thread of their own, because a keychain
//! and a command may take seconds and `resolve` is plain code. No error text contains a value or the output of a command
//! printed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use switchboard_config::quote_arguments;
use switchboard_config::secret::{
    SecretLookup, SecretLookupError, SecretProvider, SecretSource, SecretText,
};
use switchboard_process::ProcessGuard;

use crate::helper::{HelperCommand, HelperError};
use crate::store::{SecretStore, SecretStoreError, SignInStoreError};

/// Longer than any key or certificate.
const MAX_FILE_BYTES: u64 = 64 * 1024;
/// How long a failed command is not run again.
const FAILURE_PAUSE: Duration = Duration::from_secs(30);

/// The secrets of this user: those in the store, and those of providers in the user's settings.
pub struct HostSecrets {
    store: SecretStore,
    commands: ProviderCommands,
}

/// Runs the commands of providers. A value is kept until this process ends or the store changes, so that a
/// password manager is not asked whenever a file changes.
struct ProviderCommands {
    /// The environment of the commands, which are the user's own.
    env: Vec<(OsString, OsString)>,
    home: PathBuf,
    guard: ProcessGuard,
    results: Mutex<CommandResults>,
}

#[derive(Default)]
struct CommandResults {
    /// When the store was changed last, as far as these results know.
    stamp: Option<SystemTime>,
    by_line: HashMap<String, (Instant, Result<SecretText, SecretLookupError>)>,
}

// === impl HostSecrets ===

impl HostSecrets {
    /// The secrets in `store`; commands start in `home` with this environment.
    pub fn new(
        store: SecretStore,
        env: Vec<(OsString, OsString)>,
        home: PathBuf,
        guard: ProcessGuard,
    ) -> Self {
        let results = Mutex::default();
        Self { store, commands: ProviderCommands { env, home, guard, results } }
    }

    fn find(&self, source: SecretSource<'_>) -> Result<SecretText, SecretLookupError> {
        match source {
            SecretSource::Store(name) => {
                let found = self.store.find(name).map_err(|error| store_failure(&error))?;
                found.ok_or(SecretLookupError::NotSet)
            }
            SecretSource::Provider(SecretProvider::File(path)) => read_file(path),
            SecretSource::Provider(SecretProvider::Command(line)) => self.run(line),
            SecretSource::Provider(SecretProvider::OnePassword(reference)) => {
                self.run(&format!("op read --no-newline {}", quote_arguments([reference])))
            }
        }
    }

    fn run(&self, line: &str) -> Result<SecretText, SecretLookupError> {
        let stamp = std::fs::metadata(self.store.path()).and_then(|about| about.modified()).ok();
        // Held while the command runs: several workspaces that need it at once run it once.
        let mut results = self.commands.results.lock();
        if results.stamp != stamp {
            *results = CommandResults { stamp, by_line: HashMap::new() };
        }
        if let Some((at, result)) = results.by_line.get(line)
            && (result.is_ok() || at.elapsed() < FAILURE_PAUSE)
        {
            return result.clone();
        }
        let result = self.commands.run(line);
        results.by_line.insert(line.to_owned(), (Instant::now(), result.clone()));
        result
    }
}

impl SecretLookup for HostSecrets {
    fn find_secret(&self, source: SecretSource<'_>) -> Result<SecretText, SecretLookupError> {
        std::thread::scope(|scope| {
            let looked_up = scope.spawn(|| self.find(source)).join();
            looked_up.unwrap_or_else(|_| Err(failed("the lookup ended unexpectedly")))
        })
    }

    fn watched_files(&self) -> Vec<PathBuf> {
        vec![self.store.path()]
    }
}

impl fmt::Debug for HostSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSecrets").field("file", &self.store.path()).finish_non_exhaustive()
    }
}

// === impl ProviderCommands ===

impl ProviderCommands {
    /// Runs a command on this thread, which belongs to no runtime.
    fn run(&self, line: &str) -> Result<SecretText, SecretLookupError> {
        let command = HelperCommand {
            line: line.to_owned(),
            env: self.env.clone(),
            cwd: self.home.clone(),
            guard: self.guard.clone(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|_| failed("its command cannot be started"))?;
        let output =
            runtime.block_on(command.run_for_output()).map_err(|error| command_failure(&error))?;
        to_value(output, "its command printed")
    }
}

fn read_file(path: &Path) -> Result<SecretText, SecretLookupError> {
    let why = |error: &std::io::Error| {
        failed(format!("its file `{}` cannot be read: {}", path.display(), error.kind()))
    };
    let mut bytes = Vec::new();
    // Opening a pipe that nobody writes to would wait forever.
    if !std::fs::metadata(path).map_err(|error| why(&error))?.is_file() {
        return Err(failed(format!("its file `{}` is not a regular file", path.display())));
    }
    let file = std::fs::File::open(path).map_err(|error| why(&error))?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| why(&error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(failed(format!("its file `{}` is longer than 64 KiB", path.display())));
    }
    to_value(bytes, "its file has")
}

/// The value without line breaks at its end.
fn to_value(bytes: Vec<u8>, origin: &str) -> Result<SecretText, SecretLookupError> {
    let text = String::from_utf8(bytes).map_err(|_| failed(format!("{origin} no text")))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(failed(format!("{origin} nothing"))),
        value => Ok(SecretText::new(value)),
    }
}

fn failed(why: impl Into<String>) -> SecretLookupError {
    SecretLookupError::Failed(why.into())
}

fn store_failure(error: &SecretStoreError) -> SecretLookupError {
    match error {
        SecretStoreError::Key(SignInStoreError::NoKey { .. }) => failed(
            "it is sealed with a key in your keychain, which cannot be reached from here; unlock the keychain, or set the secret again",
        ),
        error => failed(error.to_string()),
    }
}

fn command_failure(error: &HelperError) -> SecretLookupError {
    failed(match error {
        HelperError::Start(_) => "its command cannot be started".to_owned(),
        HelperError::Failed(exit) => format!("its command failed: {exit}"),
        HelperError::Timeout(after) => format!("its command was not done within {after:?}"),
        HelperError::Read(_) | HelperError::NotASecret => "its command cannot be read".to_owned(),
        HelperError::NotHeaders(_) => "its command printed more than 64 KiB".to_owned(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::NoKeychain;

    fn secrets(folder: &Path) -> HostSecrets {
        let store = SecretStore::new(folder, &folder.join("sign-ins"), Arc::new(NoKeychain));
        let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        HostSecrets::new(store, env, folder.to_owned(), ProcessGuard::none())
    }

    fn find(secrets: &HostSecrets, provider: &SecretProvider) -> Result<String, String> {
        let found = secrets.find_secret(SecretSource::Provider(provider));
        found.map(|value| value.expose().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test makes a pipe")]
    fn a_file_is_its_value_without_the_last_line_break() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let find = || find(&secrets(folder.path()), &SecretProvider::File(path.clone()));
        assert!(find().unwrap_err().ends_with("cannot be read: entity not found"));
        std::fs::write(&path, "MARKER\r\n\n").unwrap();
        assert_eq!(find().unwrap(), "MARKER");
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(find().unwrap_err(), "its file has nothing");
        std::fs::write(&path, vec![b'x'; 70_000]).unwrap();
        assert!(find().unwrap_err().ends_with("is longer than 64 KiB"));
        // Nobody writes to this pipe, so opening it would wait forever.
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(find().unwrap_err().ends_with("is not a regular file"));
    }

    #[test]
    fn a_command_runs_once_until_the_store_changes() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = secrets(folder.path());
        let line = "echo run >> runs; wc -l < runs | tr -d ' '".to_owned();
        let provider = SecretProvider::Command(line);
        assert_eq!(find(&secrets, &provider).unwrap(), "1");
        assert_eq!(find(&secrets, &provider).unwrap(), "1");
        let value = [("A".to_owned(), SecretText::new("x"))].into();
        secrets.store.set(&value).unwrap();
        assert_eq!(find(&secrets, &provider).unwrap(), "2");
    }

    /// 1Password's program gets the reference as one argument, however it is written.
    #[test]
    fn a_reference_is_read_with_the_program_of_1password() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("op");
        std::fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\n").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut secrets = secrets(folder.path());
        secrets.commands.env =
            vec![("PATH".into(), format!("{}:/bin", folder.path().display()).into())];
        let reference = "op://My vault/it's $(id)/field".to_owned();
        let read = find(&secrets, &SecretProvider::OnePassword(reference.clone()));
        assert_eq!(read.unwrap(), format!("read|--no-newline|{reference}|"));
    }

    #[test]
    fn no_failure_shows_what_a_command_printed() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = secrets(folder.path());
        for (line, why) in [
            ("echo MARKER; echo MARKER >&2; exit 3", "its command failed: "),
            ("head -c 70000 /dev/zero", "its command printed more than 64 KiB"),
            ("true", "its command printed nothing"),
            ("printf 'MARKER\\377'", "its command printed no text"),
        ] {
            let error = find(&secrets, &SecretProvider::Command(line.to_owned())).unwrap_err();
            assert!(error.starts_with(why) && !error.contains("MARKER"), "{line}: {error}");
        }
    }
}
