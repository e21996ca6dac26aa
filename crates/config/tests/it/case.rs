//! Test cases as data: files, environment and options, then the expected desired state.
//!
//! A case file holds many cases. `=== name` starts one, `--- place` a part:
//!
//! - `project/…`, `home/…`, `config/…`, `managed/…`: a file with this content,
//! - `before project/…`: a file that exists only while a person approves everything,
//! - `env`: lines `NAME=VALUE`,
//! - `secrets`: lines `NAME=VALUE` of the store, and `cmd LINE=VALUE` of a command,
//! - `ask`: lines such as `approve all`, `approve NAME`, `reject NAME`, `agent NAME`, `strict`,
//!   `cwd project/sub`, `dynamic {…}`, `dynamic-file project/x.json`, `connectors {…}`, `owner other`,
//!   `link project/x to project/y`, `old approvals` (in the format of the first version),
//!   `show start folders`; `PATH` in `env` contains places,
//! - `expect`: the rendering of the result. Run the tests with `UPDATE=1` to write it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_config::secret::{
    NoSecrets, SecretLookup, SecretLookupError, SecretProvider, SecretSource, SecretText,
};
use switchboard_config::{
    ConfigNode, ConfigProblem, ConfigWorkspace, Desired, DesiredServer, DiscoveredServer,
    DynamicConfig, EDITOR_SERVER, Entry, FetchedConnectors, HostContext, IdeTransport,
    PermissionRule, PluginTerms, ResolveOptions, Scope, ServerReadiness, SignInOwner, SourceOrigin,
    Transport, read_limits,
};

/// One case.
pub(crate) struct Case {
    pub(crate) name: String,
    parts: Vec<(String, String)>,
}

/// Splits a case file.
pub(crate) fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name: name.to_owned(), parts: Vec::new() });
        } else if let (Some(place), Some(case)) = (line.strip_prefix("--- "), cases.last_mut()) {
            case.parts.push((place.to_owned(), String::new()));
        } else if let Some((_, text)) = cases.last_mut().and_then(|case| case.parts.last_mut()) {
            text.push_str(line);
            text.push('\n');
        }
    }
    cases
}

/// The folders, environment and options of one case.
pub(crate) struct World {
    root: PathBuf,
    /// Deletes the folder on drop.
    _folder: Option<tempfile::TempDir>,
    pub(crate) surroundings: HostContext,
    pub(crate) asked: ResolveOptions,
    /// Whether the rendering shows in which folder commands start.
    shows_start_folders: bool,
    /// The discovered servers.
    found: Vec<DiscoveredServer>,
}

/// The value of a secret that the store has and cannot open.
pub(crate) const LOCKED_SECRET: &str = "<locked>";

/// Secrets of a case.
#[derive(Debug)]
struct FixedSecrets(Vec<(String, String)>);

impl FixedSecrets {
    fn new(lines: &str) -> Self {
        let pairs = lines.lines().filter_map(|line| line.split_once('='));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

impl SecretLookup for FixedSecrets {
    fn find_secret(&self, source: SecretSource<'_>) -> Result<SecretText, SecretLookupError> {
        let key = match source {
            SecretSource::Store(name) => name.to_owned(),
            SecretSource::Provider(SecretProvider::Command(line)) => format!("cmd {line}"),
            SecretSource::Provider(other) => {
                return Err(SecretLookupError::Failed(format!("no {other:?} in cases")));
            }
        };
        match self.0.iter().find(|(name, _)| *name == key) {
            Some((_, value)) if value == LOCKED_SECRET => {
                Err(SecretLookupError::Failed("the keychain is locked".to_owned()))
            }
            found => {
                found.map(|(_, value)| SecretText::new(value)).ok_or(SecretLookupError::NotSet)
            }
        }
    }

    fn watched_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self::at(&folder.path().canonicalize().unwrap());
        Self { _folder: Some(folder), ..world }
    }

    /// Sets the secrets of the store, as lines `NAME=VALUE`.
    pub(crate) fn set_secrets(&mut self, lines: &str) {
        self.surroundings.secrets = Arc::new(FixedSecrets::new(lines));
    }

    /// A world in an existing folder.
    pub(crate) fn at(root: &Path) -> Self {
        let root = root.to_owned();
        for name in ["home/project", "config", "state", "managed"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let surroundings = HostContext {
            env: [("HOME".to_owned(), "/home/me".to_owned())].into(),
            cwd: root.join("home/project"),
            home: root.join("home"),
            config_dir: root.join("config"),
            state_dir: root.join("state"),
            managed_dir: root.join("managed"),
            owner: owner(&root),
            now: 1_700_000_000,
            secrets: Arc::new(NoSecrets),
        };
        Self {
            root,
            _folder: None,
            surroundings,
            asked: ResolveOptions::default(),
            shows_start_folders: false,
            found: Vec::new(),
        }
    }

    pub(crate) fn path(&self, place: &str) -> PathBuf {
        let place =
            place.replacen("project", "home/project", usize::from(place.starts_with("project")));
        self.root.join(place)
    }

    pub(crate) fn write(&self, place: &str, text: &str) {
        let path = self.path(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn workspace(&self) -> ConfigWorkspace {
        ConfigWorkspace::new(self.surroundings.clone(), self.asked.clone())
    }

    pub(crate) fn desired(&self) -> Desired {
        let mut desired = self.workspace().desired();
        // What is read before there is a runtime is what counts afterwards.
        assert_eq!(read_limits(&self.surroundings), desired.settings.limits);
        self.found.iter().cloned().for_each(|found| desired.add_discovered(found));
        desired
    }

    /// Approves until no item is pending: one approval may bring up another item.
    pub(crate) fn approve(&self, which: impl Fn(&str) -> bool) {
        let items: Vec<_> =
            self.desired().pending.into_iter().map(|pending| pending.item).collect();
        let items: Vec<_> = items.into_iter().filter(|item| which(&item.name)).collect();
        self.workspace().approve(&items).unwrap();
    }

    /// A `PATH` with places such as `/project/bin`; a part that does not start with `/` stays unchanged.
    fn search_path(&self, value: &str) -> String {
        let place = |folder: &str| match folder.strip_prefix('/') {
            Some(place) => self.path(place).display().to_string(),
            None => folder.to_owned(),
        };
        value.split(':').map(place).collect::<Vec<_>>().join(":")
    }

    /// Rewrites paths as cases write them.
    pub(crate) fn tidy(&self, text: &str) -> String {
        let root = format!("{}/", self.root.display());
        text.replace(&root, "").replace("home/project", "project")
    }
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(fs::metadata(path).unwrap().uid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

impl Case {
    /// The desired state as text.
    pub(crate) fn outcome(&self) -> String {
        let mut world = World::new();
        self.prepare(&mut world);
        let desired = world.desired();
        let mut text = render(&desired);
        if world.shows_start_folders {
            text.push_str(&start_folders(&desired));
        }
        world.tidy(&text)
    }

    pub(crate) fn expected(&self) -> &str {
        self.parts
            .iter()
            .find(|(place, _)| place == "expect")
            .map_or("", |(_, text)| text.trim_end())
    }

    /// The case with another expectation, as it stands in the file.
    pub(crate) fn with_expectation(&self, outcome: &str) -> String {
        let mut text = format!("=== {}\n", self.name);
        for (place, part) in self.parts.iter().filter(|(place, _)| place != "expect") {
            let _ = write!(text, "--- {place}\n{}\n", part.trim_end());
        }
        let _ = write!(text, "--- expect\n{outcome}\n\n");
        text
    }

    fn prepare(&self, world: &mut World) {
        for (place, text) in &self.parts {
            if let Some(place) = place.strip_prefix("before ") {
                world.write(place, text.trim_end());
            }
        }
        if self.parts.iter().any(|(place, _)| place.starts_with("before ")) {
            world.approve(|_| true);
        }
        for (place, text) in &self.parts {
            match place.as_str() {
                "env" => {
                    let variables = text.lines().filter_map(|line| line.split_once('='));
                    let variables = variables.map(|(name, value)| match name {
                        "PATH" => (name.to_owned(), world.search_path(value)),
                        _ => (name.to_owned(), value.to_owned()),
                    });
                    let variables: Vec<_> = variables.collect();
                    world.surroundings.env.extend(variables);
                }
                "secrets" => world.set_secrets(text),
                "expect" | "ask" => {}
                place if place.starts_with("before ") => {}
                place => world.write(place, text.trim_end()),
            }
        }
        let asks = self.parts.iter().filter(|(place, _)| place == "ask");
        asks.flat_map(|(_, text)| text.lines()).for_each(|line| ask(world, line));
    }
}

fn ask(world: &mut World, line: &str) {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "approve" => world.approve(|name| rest == "all" || name == rest),
        "reject" => {
            let pending = world.desired().pending.into_iter().map(|pending| pending.item);
            let items: Vec<_> = pending.filter(|item| item.name == rest).collect();
            world.workspace().reject(&items).unwrap();
        }
        "agent" => world.asked.agent = Some(rest.to_owned()),
        "strict" => world.asked.strict = true,
        "cwd" => {
            world.surroundings.cwd = world.path(rest);
            fs::create_dir_all(&world.surroundings.cwd).unwrap();
        }
        "dynamic" => world.asked.dynamic.push(DynamicConfig::Text(rest.to_owned())),
        "dynamic-file" => world.asked.dynamic.push(DynamicConfig::File(world.path(rest))),
        "connectors" => {
            let origin = SourceOrigin::text("https://connectors.example");
            world.asked.connectors.push(FetchedConnectors { origin, text: rest.to_owned() });
        }
        "editor" => {
            let at = SourceOrigin::text("an editor").start();
            let ide = IdeTransport { url: rest.to_owned(), ide_name: None, auth_token: None };
            let (name, entry) = (EDITOR_SERVER.to_owned(), Entry::new(Transport::WsIde(ide)));
            let template = ConfigNode::from_json(&entry.to_json(), &at);
            let scope = Scope::Dynamic;
            world.found.push(DiscoveredServer { name, scope, at, template, entry });
        }
        "in-process" => {
            let at = SourceOrigin::text("this program").start();
            world.found.push(DiscoveredServer::in_process(rest, Scope::Dynamic, at));
        }
        "owner" => world.surroundings.owner = world.surroundings.owner.map(|owner| owner + 1),
        "corrupt-approvals" => world.write("state/approvals.json", "{"),
        "link" => {
            let (from, to) = rest.split_once(" to ").unwrap();
            let from = world.path(from);
            fs::create_dir_all(from.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(world.path(to), from).unwrap();
        }
        "old" => {
            let path = world.path("state/approvals.json");
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains("own-folder"), "{text}");
            fs::write(&path, text.replace("own-folder", "project-root")).unwrap();
        }
        // As a version wrote them that knew no secrets.
        "secretless" => {
            let path = world.path("state/approvals.json");
            let text = fs::read_to_string(&path).unwrap();
            let mut approvals: serde_json::Value = serde_json::from_str(&text).unwrap();
            let folders = approvals["folders"].as_object_mut().unwrap();
            for record in folders.values_mut().flat_map(|it| it.as_object_mut().unwrap()) {
                assert!(record.1.as_object_mut().unwrap().remove("secrets").is_some());
            }
            fs::write(&path, approvals.to_string()).unwrap();
        }
        "show" => world.shows_start_folders = true,
        "folder" => fs::create_dir_all(world.path(rest)).unwrap(),
        "" => {}
        other => panic!("`{other}` is not a thing to ask"),
    }
}

/// A compact rendering of the desired state.
pub(crate) fn render(desired: &Desired) -> String {
    let mut lines: Vec<String> = desired.servers.iter().map(server).collect();
    lines.extend(
        desired.shadowed.iter().map(|entry| {
            format!("shadowed {} ({}) behind {}", entry.name, entry.scope, entry.behind)
        }),
    );
    for (verb, rules) in [
        ("allow", &desired.rules.allow),
        ("deny", &desired.rules.deny),
        ("ask", &desired.rules.ask),
    ] {
        let rule = |rule: &PermissionRule| format!("{verb} {} ({})", rule.text, rule.scope);
        lines.extend(rules.iter().map(rule));
    }
    lines.extend(
        desired.rules.unclear.iter().map(|at| format!("no calls: unclear settings [{at}]")),
    );
    lines.extend(desired.rules.mode.iter().map(|mode| format!("mode {}", mode.value.word())));
    lines.extend(
        desired.rules.classifier.iter().map(|command| format!("classifier {}", command.command)),
    );
    lines.extend(desired.hooks.iter().map(|hook| {
        let matcher = hook.matcher.as_deref().unwrap_or("*");
        format!(
            "hook {} {matcher} `{}` {}s ({})",
            hook.event.word(),
            hook.command,
            hook.timeout.as_secs(),
            hook.scope
        )
    }));
    settings(desired, &mut lines);
    lines.extend(desired.agent.iter().map(|agent| {
        let trust = if agent.prompt.is_some() { "" } else { " (untrusted)" };
        format!("agent {}{trust} {}", agent.name, serde_json::to_string(&agent.tools).unwrap())
    }));
    lines.extend(desired.pending.iter().map(|pending| {
        let changes = pending.changes.iter().flatten().map(|change| {
            let side = |side: &Option<serde_json::Value>| {
                side.as_ref().map_or("-".to_owned(), ToString::to_string)
            };
            format!("; {} {} -> {}", change.field, side(&change.before), side(&change.after))
        });
        format!(
            "pending {} {}{}",
            pending.item.kind,
            pending.item.name,
            changes.collect::<String>()
        )
    }));
    lines.extend(desired.problems.iter().chain(&desired.skipped_folders).map(problem));
    lines.join("\n")
}

fn start_folders(desired: &Desired) -> String {
    let servers = desired.servers.iter().filter(|server| server.entry().is_some());
    let servers = servers.map(|server| (server.name.as_str(), &server.working_dir));
    let hooks = desired.hooks.iter().map(|hook| (hook.command.as_str(), &hook.start_folder));
    let classifier = desired.rules.classifier.iter();
    let classifier = classifier.map(|it| (it.command.as_str(), &it.start_folder));
    let all = servers.chain(hooks).chain(classifier);
    all.map(|(name, folder)| format!("\nstart {name} in {}/", folder.display())).collect()
}

fn settings(desired: &Desired, lines: &mut Vec<String>) {
    let settings = &desired.settings;
    lines.extend(settings.env.iter().map(|(name, value)| format!("env {name}={}", value.value)));
    lines.extend(
        settings
            .connectors
            .iter()
            .map(|it| format!("connectors {} {:?}", it.value.url, it.value.token_helper)),
    );
    let origins = settings.connectors.iter().flat_map(|it| &it.value.token_origins);
    lines.extend(origins.map(|origin| format!("token-origin {origin}")));
    lines.extend(
        settings.xaa_idp.iter().map(|it| format!("xaa {} {}", it.value.issuer, it.value.client_id)),
    );
    let admins = settings.admins.iter();
    lines.extend(admins.map(|it| format!("admin {}", serde_json::json!(it.value))));
    lines.extend(settings.native_plugins.iter().map(|it| format!("native {}", it.value)));
    if settings.plugins.all != PluginTerms::default() {
        lines.push(format!("plugins {}", terms(&settings.plugins.all)));
    }
    let each = settings.plugins.each.iter();
    lines.extend(each.map(|(name, own)| format!("plugin {name} {}", terms(own))));
    lines.extend(settings.ide_tools.iter().flatten().map(|it| format!("ide-tool {}", it.value)));
    lines.extend(settings.start.iter().map(|it| format!("start {it:?}")));
    lines.extend(settings.limits.hub_idle_ms.iter().map(|it| format!("hub-idle {it}")));
    lines.extend(settings.limits.server_idle_ms.iter().map(|it| format!("server-idle {it}")));
    lines.extend(settings.limits.threads.iter().map(|it| format!("threads {it}")));
}

fn terms(terms: &PluginTerms) -> String {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let numbers = [terms.pool, terms.deadline_ms, terms.memory_bytes, terms.open_files];
    let sandbox = match terms.sandbox {
        Some(true) => "closed",
        Some(false) => "open",
        None => "-",
    };
    format!("{} {sandbox}", numbers.map(number).join(" "))
}

fn server(server: &DesiredServer) -> String {
    let mut line =
        format!("{} {} ({} {})", server.name, server.state.name(), server.scope, server.at);
    if let Some(entry) = server.entry() {
        let _ = match &entry.transport {
            Transport::Stdio(stdio) => {
                let words: Vec<_> =
                    std::iter::once(&stdio.command).chain(&stdio.args).cloned().collect();
                let env: String =
                    stdio.env.iter().map(|(name, value)| format!(" {name}={value}")).collect();
                write!(line, ": {}{env}", words.join(" "))
            }
            transport => {
                let url = transport.url().map(|url| format!(" {url}")).unwrap_or_default();
                write!(line, ": {}{url}", transport.name())
            }
        };
        if entry.share_principals {
            line.push_str(" (all principals share it)");
        }
        if entry.sign_in == SignInOwner::Shared {
            line.push_str(" (its sign-in is shared)");
        }
    }
    if let Some(reason) = server.state.reason() {
        let _ = write!(line, ": {}", reason.why);
        let _ = reason.by.as_ref().map(|by| write!(line, " [{by}]"));
    }
    if let ServerReadiness::AwaitingApproval { changes: Some(changes) } = &server.state {
        let _ = write!(line, ": {} changed", changes.len());
    }
    line
}

fn problem(problem: &ConfigProblem) -> String {
    let word = |value: &dyn erased::ToJson| value.to_json().as_str().unwrap_or_default().to_owned();
    let mut line =
        format!("! {} {}: {}", word(&problem.severity), word(&problem.kind), problem.message);
    let _ = problem.at.as_ref().map(|at| write!(line, " [{at}]"));
    let _ = problem.hint.as_ref().map(|hint| write!(line, " hint: {hint}"));
    line
}

mod erased {
    pub(super) trait ToJson {
        fn to_json(&self) -> serde_json::Value;
    }

    impl<T: serde::Serialize> ToJson for T {
        fn to_json(&self) -> serde_json::Value {
            serde_json::to_value(self).unwrap()
        }
    }
}
