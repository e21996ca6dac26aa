//! Test helper: temporary homes, and sequences of commands with snapshots. Used by most files here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::steady;

/// A home with nothing in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program in this home with the environment of a bare login.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Everything a run shows, with what differs from run to run made the same.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.shown(&self.command(args).output().unwrap())
    }

    /// What a run shows. Whatever prints `error:` exits with another code than 0.
    pub(crate) fn shown(&self, output: &Output) -> String {
        let errors = String::from_utf8_lossy(&output.stderr);
        let has_error = errors.lines().any(|line| line.starts_with("error:"));
        assert!(!has_error || !output.status.success(), "exit 0 after an error: {errors}");
        let text = format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            output.status.code().unwrap_or(-1),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        self.filtered(&text)
    }

    pub(crate) fn filtered(&self, text: &str) -> String {
        let text = text.replace(env!("CARGO_BIN_EXE_switchboard"), "switchboard");
        let real = self.path().canonicalize().unwrap();
        let text = text.replace(&real.display().to_string(), "~");
        steady(&text.replace(&self.path().display().to_string(), "~"))
    }
}

/// Several commands in one project of one home, written down as a transcript.
pub(crate) struct Story {
    pub(crate) home: Home,
    env: Vec<(String, String)>,
    replaced: Vec<(String, String)>,
    transcript: String,
}

impl Story {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        fs::create_dir(home.path().join("project")).unwrap();
        Self { home, env: Vec::new(), replaced: Vec::new(), transcript: String::new() }
    }

    /// A file or folder of the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("project").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Sets a variable for everything that follows.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.into(), value.into()));
    }

    /// Puts the program on the `PATH` as `switchboard`.
    pub(crate) fn put_program_on_path(&mut self) {
        self.put_on_path(Path::new(env!("CARGO_BIN_EXE_switchboard")));
    }

    /// Puts a program on the `PATH` under its name: tables cut a command to their width, so a path, whose length differs
    /// from checkout to checkout, must not stand in one.
    pub(crate) fn put_on_path(&mut self, program: &Path) {
        self.put_on_path_as(program.file_name().unwrap(), program);
    }

    fn put_on_path_as(&mut self, name: impl AsRef<Path>, program: &Path) {
        let folder = self.home.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        symlink(program, folder.join(name)).unwrap();
        self.set("PATH", &format!("{}:/usr/bin:/bin", folder.display()));
    }

    /// Puts programs on the `PATH` in place of package managers, which some machines have and others not.
    pub(crate) fn put_stand_ins_on_path(&mut self) {
        for name in ["npx", "uvx"] {
            self.put_on_path_as(name, Path::new("/bin/true"));
        }
    }

    /// Text that differs from run to run, and what stands in its place.
    pub(crate) fn replace(&mut self, text: &str, with: &str) {
        self.replaced.push((text.into(), with.into()));
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.current_dir(self.path(""));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command without writing it down.
    pub(crate) fn quietly(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command and writes down everything shown.
    pub(crate) fn run(&mut self, args: &[&str]) -> &mut Self {
        let output = self.quietly(args);
        let shown = self.home.shown(&output);
        self.tell(args, &shown)
    }

    pub(crate) fn tell(&mut self, args: &[&str], shown: &str) -> &mut Self {
        let line = self.home.filtered(&args.join(" "));
        let text = format!("$ switchboard {line}{shown}\n");
        let replaced = self.replaced.iter();
        let text = replaced.fold(text, |text, (from, to)| text.replace(from, to));
        self.transcript.push_str(&text);
        self
    }

    /// Shows a file of the project, or of the home.
    pub(crate) fn cat(&mut self, name: &str) -> &mut Self {
        let text = fs::read_to_string(self.path(name)).unwrap();
        let text = self.home.filtered(&text);
        self.transcript.push_str(&format!("$ cat {name}\n{text}\n"));
        self
    }

    /// Everything that was written down.
    pub(crate) fn transcript(&self) -> &str {
        &self.transcript
    }
}

/// Cargo, without the variables that it sets for a test: they would make build scripts run again, and rebuild all
/// crates above them.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let name = name.into_string().unwrap_or_default();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|of| name.starts_with(of)) {
            command.env_remove(name);
        }
    }
    command
}
