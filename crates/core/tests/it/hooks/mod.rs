//! Tests of hooks, with real commands under a real guard.

#![cfg(target_os = "linux")]
mod after;
mod before;
mod elicitation;
mod failing;
mod matching;
mod request;

use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_config::{EffectiveHook, HookEvent, PermissionMode, Scope, SourceOrigin};
use switchboard_core::EngineProblem;
use switchboard_core::hooks::{HookNote, HookRunner, Hooks, ToolUse};
use switchboard_process::ProcessGuard;
use switchboard_testkit::processes::{wait_until, working_in};
use switchboard_wire::json::Raw;

/// Everything here ends within this, or has failed.
const BOUND: Duration = Duration::from_secs(60);

/// Runs a test on a runtime of its own, for a bounded time.
pub(crate) fn bounded(test: impl Future<Output = ()>) {
    // May have to be built first, which takes as long as it takes.
    switchboard_testkit::guard_path();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(BOUND, test).await });
    ended.expect("the test hangs");
}

/// A project of its own, in which hooks run.
pub(crate) struct Folder {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        Self { _folder: folder, path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn runner(&self) -> HookRunner {
        HookRunner {
            guard: ProcessGuard::at(switchboard_testkit::guard_path()).unwrap(),
            environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            project: self.path.clone(),
        }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// Nobody who was started here is left.
    pub(crate) fn is_deserted(&self) {
        let left = || working_in(&self.path);
        let gone = wait_until(Duration::from_secs(10), || left().is_empty());
        assert!(gone.is_some(), "still there: {:?}", left());
    }

    fn hooks(&self, hooks: &[EffectiveHook]) -> Hooks {
        let (hooks, problems) = self.hooks_and_problems(hooks);
        assert_eq!(problems, []);
        hooks
    }

    fn hooks_and_problems(&self, hooks: &[EffectiveHook]) -> (Hooks, Vec<EngineProblem>) {
        // Each stands on a line of its own.
        let numbered = hooks.iter().zip(1..).map(|(hook, line)| {
            let mut hook = hook.clone();
            hook.start_folder.clone_from(&self.path);
            hook.at.line = line;
            hook
        });
        Hooks::new(&numbered.collect::<Vec<_>>(), self.runner())
    }
}

fn hook(event: HookEvent, command: &str) -> EffectiveHook {
    EffectiveHook {
        event,
        matcher: None,
        command: command.to_owned(),
        timeout: Duration::from_secs(30),
        start_folder: PathBuf::new(),
        scope: Scope::User,
        at: SourceOrigin::file("settings.json").start(),
    }
}

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

fn tool_use(input: &Raw) -> ToolUse<'_> {
    ToolUse {
        session: "s-1",
        mode: PermissionMode::Client,
        tool: "mcp__disk__delete",
        input,
        id: "call-1",
    }
}

/// `line kind: message` of each note.
fn told(notes: &[HookNote]) -> Vec<String> {
    let tell = |note: &HookNote| format!("{} {:?}: {}", note.at.line, note.kind, note.message);
    notes.iter().map(tell).collect()
}
