//! Child processes of `xtask`: prints each command before it starts, and names it in a failure.
//!
//! Used by all verbs. Long-running programs of the conformance tests are in `conformance::listener`.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::paths;

/// The cargo that runs `xtask`, in the repository's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(paths::root());
    // Variables that cargo sets for `xtask` would make build scripts run again, and rebuild all crates above them.
    for (name, _) in std::env::vars_os() {
        let told = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
        if told.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    // CI builds everything once, and what helps a second build fills its disk.
    if std::env::var_os("CI").is_some() && std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Prints `command`, runs it in this terminal, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = describe(command);
    println!("$ {line}");
    let status = command.status().map_err(|why| cannot_start(command, &why))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{line}` failed")).because(status))
}

/// Runs `command` and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|why| cannot_start(command, &why))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("`{}` failed", describe(command))).because(format!(
        "{}\n{}",
        output.status,
        stderr.trim_end()
    )))
}

/// Whether `command` starts and succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn cannot_start(command: &Command, why: &std::io::Error) -> Failure {
    let program = command.get_program().display();
    Failure::new(format!("cannot start `{program}`")).because(why)
}

fn describe(command: &Command) -> String {
    let name = std::path::Path::new(command.get_program()).file_name();
    let program = name.unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_its_status() {
        let failure = run(&mut Command::new("false")).unwrap_err();
        assert_eq!(failure.to_string(), "`false` failed\n  caused by: exit status: 1");
        let failure = output(Command::new("no-such-program").arg("x")).unwrap_err();
        assert_eq!(failure.headline(), "cannot start `no-such-program`");
    }

    #[test]
    fn output_is_what_was_printed() {
        assert_eq!(output(Command::new("echo").arg("hello")).unwrap(), "hello\n");
        assert!(!succeeds(&mut Command::new("no-such-program")));
    }
}
