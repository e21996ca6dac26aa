//! A user's folders for the tests, and sources with waits for snapshots.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::{
    ConfigProblemKind, ConfigWorkspace, EnvironmentVariables, HostContext, ResolveOptions, Scope,
};
use switchboard_process::ProcessGuard;
use switchboard_sources::{DesiredSnapshot, SourceProblem, Sources, SourcesOptions, SourcesTiming};
use switchboard_testkit::guard_path;
use switchboard_wire::http::{HttpPool, HttpPoolOptions, ProxySettings, TlsOptions};
use tempfile::TempDir;
use tokio::sync::watch;

pub(crate) use switchboard_testkit::deadline::{TEST_DEADLINE, soon};

/// A home with a project in it, and an administrator's folder of its own.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(home.path("project")).unwrap();
        home
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// The user's settings file.
    pub(crate) fn settings(&self) -> PathBuf {
        self.path(".config/switchboard/settings.json")
    }

    pub(crate) fn surroundings(&self) -> HostContext {
        let home = self.path("");
        let variables = [
            ("HOME", home.to_str().unwrap()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("PRIVATE_API_KEY", "sk-not-for-helpers"),
        ];
        let env: EnvironmentVariables =
            variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        HostContext {
            env,
            cwd: self.path("project"),
            home: self.path(""),
            config_dir: self.path(".config/switchboard"),
            state_dir: self.path(".local/state/switchboard"),
            managed_dir: self.path("etc/switchboard"),
            owner: None,
            now: 1,
            secrets: std::sync::Arc::new(switchboard_config::secret::NoSecrets),
        }
    }

    /// The commands that a user would type.
    pub(crate) fn workspace(&self) -> ConfigWorkspace {
        ConfigWorkspace::new(self.surroundings(), ResolveOptions::default())
    }

    pub(crate) async fn follow(&self) -> Followed {
        self.follow_with(options()).await
    }

    pub(crate) async fn follow_with(&self, options: SourcesOptions) -> Followed {
        self.follow_asked(ResolveOptions::default(), options).await
    }

    pub(crate) async fn follow_asked(
        &self,
        asked: ResolveOptions,
        options: SourcesOptions,
    ) -> Followed {
        let start = Sources::start(self.surroundings(), asked, options);
        let sources = soon(start).await;
        Followed { snapshots: sources.subscribe(), sources }
    }
}

/// Sources with their snapshots.
pub(crate) struct Followed {
    pub(crate) sources: Sources,
    snapshots: watch::Receiver<Arc<DesiredSnapshot>>,
}

impl Followed {
    pub(crate) fn now(&self) -> Arc<DesiredSnapshot> {
        self.sources.snapshot()
    }

    /// Waits for a snapshot that meets a condition.
    pub(crate) async fn until(
        &mut self,
        so: impl Fn(&DesiredSnapshot) -> bool,
    ) -> Arc<DesiredSnapshot> {
        let waited = self.snapshots.wait_for(|snapshot| so(snapshot));
        if let Ok(snapshot) = tokio::time::timeout(TEST_DEADLINE, waited).await {
            return Arc::clone(&snapshot.unwrap());
        }
        panic!("it does not come to pass; last was {:#?}", self.now())
    }

    /// Waits until exactly these servers are ready.
    pub(crate) async fn ready(&mut self, names: &[&str]) -> Arc<DesiredSnapshot> {
        self.until(|snapshot| ready(snapshot) == names).await
    }
}

pub(crate) fn options() -> SourcesOptions {
    let pool = HttpPoolOptions {
        tls: TlsOptions { platform_roots: false, ..TlsOptions::default() },
        proxies: ProxySettings::Off,
        ..HttpPoolOptions::default()
    };
    let mut options = SourcesOptions::new(ProcessGuard::at(guard_path()).unwrap());
    options.pool = Some(HttpPool::new(&pool).unwrap());
    // Polling must not find by chance a change that was not reported.
    options.timing.look = Duration::from_secs(3600);
    options
}

/// Options with other timing.
pub(crate) fn timed(change: impl FnOnce(&mut SourcesTiming)) -> SourcesOptions {
    let mut options = options();
    change(&mut options.timing);
    options
}

/// The names of the ready servers, sorted.
pub(crate) fn ready(snapshot: &DesiredSnapshot) -> Vec<&str> {
    let mut names: Vec<_> =
        snapshot.desired.ready_servers().map(|(server, _)| &*server.name).collect();
    names.sort_unstable();
    names
}

/// The state of the first server with this name.
pub(crate) fn state<'a>(snapshot: &'a DesiredSnapshot, name: &'a str) -> &'static str {
    let server = snapshot.desired.servers_named(name).next();
    server.map_or("absent", |server| server.state.name())
}

pub(crate) fn has_kind(snapshot: &DesiredSnapshot, kind: ConfigProblemKind) -> bool {
    let is_kind = |problem: &SourceProblem| matches!(problem, SourceProblem::Configuration(problem) if problem.kind == kind);
    snapshot.problems.iter().any(is_kind)
}

pub(crate) fn is_held(snapshot: &DesiredSnapshot) -> bool {
    let is_held = |problem: &SourceProblem| matches!(problem, SourceProblem::BrokenFile { .. });
    snapshot.problems.iter().any(is_held)
}

pub(crate) fn is_narrowed(snapshot: &DesiredSnapshot) -> bool {
    let is_narrowed = |problem: &SourceProblem| matches!(problem, SourceProblem::Narrowed { .. });
    snapshot.problems.iter().any(is_narrowed)
}

/// The text of a file with these servers.
pub(crate) fn servers(names: &[&str]) -> String {
    let entry = |name: &&str| ((*name).to_owned(), serde_json::json!({ "command": "true" }));
    let servers: serde_json::Map<_, _> = names.iter().map(entry).collect();
    serde_json::json!({ "mcpServers": servers }).to_string()
}

/// Writes in place, and creates the folders above.
pub(crate) fn write(path: impl AsRef<Path>, text: impl AsRef<str>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text.as_ref()).unwrap();
}

/// Replaces a file, as most editors and our own commands do.
pub(crate) fn replace(path: impl AsRef<Path>, text: impl AsRef<str>) {
    let path = path.as_ref();
    let staged = path.with_extension("swp");
    write(&staged, text);
    fs::rename(staged, path).unwrap();
}

/// Writes a project server and approves it, as `switchboard add -s project` does.
pub(crate) fn add(home: &Home, scope: Scope, name: &str) {
    let entry = serde_json::json!({ "command": "true" });
    let existing = switchboard_config::OnExistingEntry::Replace;
    home.workspace().add(scope, name, &entry, existing).unwrap();
}
