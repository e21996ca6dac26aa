//! What a bare Debian machine lacks: installed when we may, explained when we may not.

use std::process::Command;

use crate::command::{output, run, succeeds};
use crate::failure::{Failure, Result};

/// Makes sure `program` runs, from `package` if need be.
pub(super) fn provide(program: &str, package: &str) -> Result<()> {
    if succeeds(Command::new(program).arg("--version")) {
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
