//! The Debian packages that tests and installers need: installed as root, named in an error otherwise.
//!
//! Used by `peers`. Packages of npm and Python are in `install`.

use std::process::Command;

use crate::command::{output, run, succeeds};
use crate::failure::{Failure, Result};

/// The programs that tests and installers start, and the packages they come from.
const PROGRAMS: [(&str, &str); 12] = [
    ("npm", "npm"),
    ("python3", "python3"),
    // To build the allocator.
    ("make", "make"),
    // To build the plugins that tests load.
    ("g++", "g++"),
    ("cmake", "cmake"),
    // A private session bus, and a Secret Service on it.
    ("dbus-run-session", "dbus-daemon"),
    ("gnome-keyring-daemon", "gnome-keyring"),
    // A terminal for the tests of the terminal UI.
    ("tmux", "tmux"),
    // A browser for the tests of signing in.
    ("chromium", "chromium"),
    // Shells that complete with our scripts.
    ("fish", "fish"),
    ("zsh", "zsh"),
    // The balancer of several replicas.
    ("nginx", "nginx"),
];

/// Makes sure that all programs run. They are not part of the cache, which may be older than the machine.
pub(super) fn all() -> Result<()> {
    PROGRAMS.iter().try_for_each(|(program, package)| provide(program, package))
}

/// Makes sure that `program` runs; installs `package` if necessary.
fn provide(program: &str, package: &str) -> Result<()> {
    // Some programs know `-V` only.
    if ["--version", "-V"].iter().any(|flag| succeeds(Command::new(program).arg(flag))) {
        return Ok(());
    }
    install(package, &format!("`{program}` does not run"))
}

/// Installs a Debian package and says so. Without root it fails with the command to run.
pub(super) fn install(package: &str, reason: &str) -> Result<()> {
    if !(is_root() && succeeds(Command::new("apt-get").arg("--version"))) {
        return Err(Failure::new("cannot install the peers")
            .because(reason)
            .hint(format!("install it, on Debian with: apt-get install {package}")));
    }
    println!("{reason}: installing the Debian package {package}");
    run(apt_get().arg("update"))?;
    run(apt_get().args(["install", "--yes", "--no-install-recommends", package]))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.arg("--quiet").env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
