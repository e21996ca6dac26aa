//! Debian packages that the peers need: installed when we may, named in the error when we may not.

use std::process::Command;

use crate::command::{output, run, succeeds};
use crate::failure::{Failure, Result};

/// The programs that tests and installers start, and the packages they come from.
const PROGRAMS: [(&str, &str); 9] = [
    ("npm", "npm"),
    ("python3", "python3"),
    // Builds the allocator.
    ("make", "make"),
    // Builds the plugins that tests load.
    ("g++", "g++"),
    ("cmake", "cmake"),
    // A private session bus, and a Secret Service on it.
    ("dbus-run-session", "dbus-daemon"),
    ("gnome-keyring-daemon", "gnome-keyring"),
    // A terminal for the terminal UI.
    ("tmux", "tmux"),
    // Clicks through a sign-in.
    ("chromium", "chromium"),
];

/// Makes sure that all of them run. They are no part of the cache, which may be older than the machine.
pub(super) fn all() -> Result<()> {
    PROGRAMS.iter().try_for_each(|(program, package)| provide(program, package))
}

/// Makes sure `program` runs, from `package` if need be.
fn provide(program: &str, package: &str) -> Result<()> {
    // Where a program does not know the word it may know the letter.
    if ["--version", "-V"].iter().any(|flag| succeeds(Command::new(program).arg(flag))) {
        return Ok(());
    }
    install(package, &format!("`{program}` does not run"))
}

/// Installs a Debian package, saying so. Only root can; anyone else is told what to do.
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
