//! Test plugins in C++, compiled on the spot, and a host that runs them.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use switchboard_plugin::{
    PluginHostOptions, PluginRunOptions, PluginServer, PluginSources, PluginTimeouts,
};
use switchboard_process::ProcessGuard;
use tempfile::TempDir;

/// The program of guard and worker.
pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_plugin-worker-for-tests");

/// A folder of plugins.
pub(crate) struct Folder(TempDir);

/// The plugin to compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Of interface version 1.
    One,
    /// Of interface version 2.
    Two,
    /// Of interface version 1; tries to leave the sandbox.
    Escape,
}

impl Source {
    fn file(self) -> &'static str {
        match self {
            Self::One => "v1.cpp",
            Self::Two => "v2.cpp",
            Self::Escape => "escape.cpp",
        }
    }
}

/// Replaces a plugin as an installer does: written beside it, then renamed.
pub(crate) fn put(from: &Path, to: &Path) {
    let beside = to.with_extension("new");
    std::fs::copy(from, &beside).unwrap();
    std::fs::rename(beside, to).unwrap();
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Compiles the version 1 plugin as `name`, with these definitions.
    pub(crate) fn compile(&self, name: &str, definitions: &[&str]) -> PathBuf {
        self.compile_of(Source::One, name, definitions)
    }

    /// Compiles a plugin as `name`, with these definitions.
    pub(crate) fn compile_of(&self, source: Source, name: &str, definitions: &[&str]) -> PathBuf {
        let made = self.path().join(format!("{name}.building"));
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-sdk/include");
        let mut command = Command::new("g++");
        command.args([
            "-std=c++17",
            "-shared",
            "-fPIC",
            "-O1",
            "-Wall",
            "-Werror",
            "-Wno-unused-function",
            "-pthread",
        ]);
        command.args(definitions.iter().map(|definition| format!("-D{definition}")));
        command.arg("-I").arg(include).arg(sources.join(source.file())).arg("-o").arg(&made);
        let done = command.output().expect("a C++ compiler is needed: `g++`");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let path = self.path().join(format!("{name}.so"));
        std::fs::rename(made, &path).unwrap();
        path
    }
}

/// Options with short timeouts, so that hangs are found quickly.
pub(crate) fn options() -> PluginHostOptions {
    PluginHostOptions {
        times: PluginTimeouts {
            start: Duration::from_secs(5),
            quiet: Duration::from_millis(50),
            rest: Duration::from_millis(20),
            ..PluginTimeouts::default()
        },
        terms: PluginRunOptions {
            call: Duration::from_millis(1500),
            ..PluginRunOptions::default()
        },
        env: vec![("GIVEN".into(), "1".into())],
        ..PluginHostOptions::new(WORKER.into(), ProcessGuard::at(WORKER).unwrap())
    }
}

pub(crate) async fn host(folder: &Folder) -> PluginServer {
    host_with(folder, options()).await
}

pub(crate) async fn host_with(folder: &Folder, options: PluginHostOptions) -> PluginServer {
    let folders = vec![folder.path().to_owned()];
    PluginServer::start(options, PluginSources { builtins: &[], folders }).await
}
