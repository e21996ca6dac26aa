//! Tests of the error messages for programs that cannot be started: each cause has its own error.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use switchboard_process::{
    ProcessCommand, ProcessExit, ProcessGuard, SpawnError, SpawnedProcess, StderrOptions, spawn,
};

use super::{both, bounded, command, sh, start};

async fn refused(command: ProcessCommand, guard: &ProcessGuard) -> SpawnError {
    spawn(command, guard, StderrOptions::default()).await.expect_err("it started")
}

fn with_path(program: &str, path: &str) -> ProcessCommand {
    ProcessCommand { env: vec![("PATH".into(), path.into())], ..command(program, []) }
}

/// Written by another process: a file that this process had open for writing could not be executed while the
/// fork of another test still holds it.
fn script(file: &Path, text: &str) {
    let status = std::process::Command::new("sh")
        .args(["-c", "printf '%s' \"$1\" > \"$0\" && chmod +x \"$0\""])
        .args([file.as_os_str(), text.as_ref()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_missing_command() {
    bounded(async {
        for guard in both() {
            let error = refused(with_path("npx-x", "/nowhere:/bin"), &guard).await;
            assert!(matches!(error, SpawnError::NotFound { .. }));
            assert_eq!(error.to_string(), "command `npx-x` was not found in PATH `/nowhere:/bin`");
            let error = refused(command("npx-x", []), &guard).await;
            assert_eq!(error.to_string(), "command `npx-x` was not found in PATH `/bin:/usr/bin`");
            for program in ["/nowhere/x", "./x", "/bin/sh/x"] {
                let error = refused(command(program, []), &guard).await;
                assert!(matches!(error, SpawnError::NotFound { searched: None, .. }));
                assert_eq!(error.to_string(), format!("command `{program}` was not found"));
            }
            let error = refused(command("", []), &guard).await;
            assert!(matches!(error, SpawnError::NotFound { .. }));
        }
    });
}

#[test]
fn a_directory() {
    bounded(async {
        for guard in both() {
            let error = refused(command("/bin/", []), &guard).await;
            assert!(matches!(error, SpawnError::IsDirectory { .. }));
            assert_eq!(error.to_string(), "command `/bin/` is a directory");
        }
    });
}

#[test]
fn a_file_that_is_not_executable() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        for guard in both() {
            let by_name = with_path("tool", folder.path().to_str().unwrap());
            for command in [command(&file, []), by_name] {
                let error = refused(command, &guard).await;
                assert!(matches!(error, SpawnError::NotExecutable { .. }));
                let expected = format!("command `{}` is not executable", file.display());
                assert_eq!(error.to_string(), expected);
            }
        }
    });
}

#[test]
fn a_bad_working_directory() {
    bounded(async {
        for guard in both() {
            for cwd in ["/nowhere", "/bin/sh"] {
                let command = ProcessCommand { cwd: Some(cwd.into()), ..command("/bin/sh", []) };
                let error = refused(command, &guard).await;
                assert!(matches!(error, SpawnError::BadWorkingDirectory { .. }));
                assert_eq!(
                    error.to_string(),
                    format!("working directory `{cwd}` is not a directory that can be entered")
                );
            }
        }
    });
}

#[test]
fn a_missing_interpreter() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        script(&file, "#!/nowhere/python\n");
        for guard in both() {
            let error = refused(command(&file, []), &guard).await;
            let SpawnError::Exec { source, .. } = &error else { panic!("{error:?}") };
            assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
            let expected = format!(
                "cannot execute `{}`: the interpreter or loader it names was not found",
                file.display()
            );
            assert_eq!(error.to_string(), expected);
        }
    });
}

#[test]
fn an_argument_the_system_does_not_take() {
    bounded(async {
        for guard in both() {
            let error = refused(command("/bin/echo", [&"x".repeat(200 * 1024)]), &guard).await;
            let SpawnError::Exec { source, .. } = &error else { panic!("{error:?}") };
            assert_eq!(source.kind(), std::io::ErrorKind::ArgumentListTooLong);
            assert_eq!(error.to_string(), "cannot execute `/bin/echo`");
            let error = refused(command("/bin/echo", ["a\0b"]), &guard).await;
            let SpawnError::Exec { source, .. } = &error else { panic!("{error:?}") };
            assert_eq!(source.kind(), std::io::ErrorKind::InvalidInput);
        }
    });
}

#[test]
fn a_child_that_exits_at_once_has_started() {
    bounded(async {
        for guard in both() {
            let SpawnedProcess { process, .. } = start(sh("echo no key >&2; exit 1"), &guard).await;
            let told = format!("{}: {}", process.wait_exit().await, process.stderr_tail());
            assert_eq!(told, "exited with status 1: no key\n");
            assert_eq!(process.stop().await, ProcessExit::Code(1));
        }
    });
}

#[test]
fn a_guard_that_is_none() {
    bounded(async {
        assert!(ProcessGuard::at("/nowhere").is_err());
        for program in ["/bin/true", "/bin/cat"] {
            let guard = ProcessGuard::at(program).unwrap();
            let error = refused(command("/bin/true", []), &guard).await;
            assert!(matches!(error, SpawnError::Guard { .. }), "{error:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let error = refused(sh("true"), &ProcessGuard::at(folder.path()).unwrap()).await;
        assert_eq!(error.to_string(), "the process guard failed while being started");
    });
}
