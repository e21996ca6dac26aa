//! Tests of a child's arguments, environment, descriptors and session: exactly those of the command, and
//! nothing of ours.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use switchboard_process::{ProcessCommand, SpawnError, raise_descriptor_limit};
use switchboard_testkit::programs::program;

use super::{both, bounded, command, guard, output, sh, stubborn};

fn lines(bytes: Vec<u8>) -> Vec<String> {
    let text = String::from_utf8(bytes).unwrap();
    let mut lines: Vec<String> = text.lines().map(Into::into).collect();
    lines.sort();
    lines
}

fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

#[test]
fn the_environment_is_exactly_the_given_one() {
    bounded(async {
        for guard in both() {
            let bare = command("/usr/bin/env", []);
            assert_eq!(output(bare.clone(), &guard).await, b"");
            let pairs = [("A", "1"), ("EMPTY", ""), ("TWICE", "x"), ("TWICE", "y=z")];
            let given = ProcessCommand { env: env(&pairs), ..bare };
            assert_eq!(lines(output(given, &guard).await), ["A=1", "EMPTY=", "TWICE=y=z"]);
        }
    });
}

#[test]
fn a_loader_variable_is_the_childs_alone() {
    bounded(async {
        let pairs = [("LD_DEBUG", "help")];
        let help = ProcessCommand { env: env(&pairs), ..command("/usr/bin/env", []) };
        let text = String::from_utf8(output(help, &guard()).await).unwrap();
        // The loader prints its help once and exits; a guard with this variable would not have started.
        assert_eq!(text.matches("Valid options").count(), 1);
    });
}

#[test]
fn the_working_directory_is_the_given_one_or_ours() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let ours = std::env::current_dir().unwrap();
        for guard in both() {
            for (cwd, expected) in [(Some(folder.clone()), &folder), (None, &ours)] {
                let pwd = ProcessCommand { cwd, ..command("/bin/pwd", []) };
                assert_eq!(lines(output(pwd, &guard).await), [expected.to_str().unwrap()]);
            }
        }
    });
}

/// A folder with `tool`, which prints its arguments.
fn toolbox(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join(name);
    std::fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink(program("stubborn"), inner.join("tool")).unwrap();
    folder
}

#[test]
fn a_relative_program_is_relative_to_the_working_directory() {
    bounded(async {
        let folder = toolbox("bin");
        for guard in both() {
            let cwd = Some(folder.path().to_owned());
            let tool = ProcessCommand { cwd, ..command("bin/tool", ["args", "x"]) };
            assert_eq!(output(tool, &guard).await, b"x\0");
        }
    });
}

#[test]
fn a_name_is_looked_up_in_the_commands_own_path() {
    bounded(async {
        let folder = toolbox("bin");
        let absolute = folder.path().join("bin");
        // A folder with that name earlier in `PATH` is skipped.
        std::fs::create_dir_all(folder.path().join("decoy/tool")).unwrap();
        let decoy = folder.path().join("decoy");
        let path = std::env::join_paths([Path::new("/nowhere"), &decoy, &absolute]).unwrap();
        for guard in both() {
            let tool = ProcessCommand {
                env: vec![("PATH".into(), path.clone())],
                cwd: Some(folder.path().to_owned()),
                ..command("tool", ["args", "x"])
            };
            assert_eq!(output(tool, &guard).await, b"x\0", "{}", path.display());
        }
    });
}

/// In a session with a terminal, the program could type for the terminal's user.
#[test]
fn a_program_has_a_session_of_its_own_and_no_terminal() {
    bounded(async {
        for guard in both() {
            let said = output(sh("read -r line < /proc/self/stat; echo $line"), &guard).await;
            let said = String::from_utf8(said).unwrap();
            // The fields of `pid (name) state parent group session terminal …`.
            let fields: Vec<_> = said.split(' ').collect();
            assert_eq!([fields[4], fields[5], fields[6]], [fields[0], fields[0], "0"], "{said}");
        }
    });
}

#[test]
fn a_name_is_not_looked_up_in_relative_folders() {
    let folder = toolbox("bin");
    std::os::unix::fs::symlink(program("stubborn"), folder.path().join("tool")).unwrap();
    for path in ["bin", "./bin", ".", "", ":", "bin:"] {
        let tool = ProcessCommand {
            env: vec![("PATH".into(), path.into())],
            cwd: Some(folder.path().to_owned()),
            ..command("tool", ["args", "x"])
        };
        let resolved = tool.resolve();
        assert!(matches!(resolved, Err(SpawnError::NotFound { .. })), "{path}: {resolved:?}");
    }
}

#[test]
fn a_program_is_called_what_the_command_calls_it() {
    bounded(async {
        for guard in both() {
            let cat = command("cat", ["/proc/self/cmdline"]);
            assert_eq!(output(cat, &guard).await, b"cat\0/proc/self/cmdline\0");
        }
    });
}

#[test]
fn arguments_arrive_whatever_they_hold() {
    bounded(async {
        let odd: Vec<OsString> = vec![
            "".into(),
            "two words".into(),
            "line\nbreak\ttab 'quotes\" $HOME \\".into(),
            OsString::from_vec(vec![0xFF, 0xFE, b'a', 0x80]),
            "x".repeat(100 * 1024).into(),
        ];
        let many: Vec<OsString> = (0..500).map(|number| "y".repeat(number).into()).collect();
        for guard in both() {
            for args in [&odd, &many] {
                let mut show = stubborn(["args"]);
                show.args.extend(args.iter().cloned());
                let mut expected = Vec::new();
                for arg in args {
                    expected.extend(arg.clone().into_vec());
                    expected.push(0);
                }
                assert!(output(show, &guard).await == expected);
            }
        }
    });
}

#[test]
fn no_signal_is_blocked_or_ignored() {
    bounded(async {
        for guard in both() {
            let status = lines(output(command("cat", ["/proc/self/status"]), &guard).await);
            for mask in ["SigBlk", "SigIgn", "SigPnd", "ShdPnd"] {
                let bits = status.iter().find_map(|line| line.strip_prefix(mask)).unwrap();
                let bits = u64::from_str_radix(bits.trim_start_matches(":\t"), 16).unwrap();
                // Signals above 31 belong to the C library, which does not let programs change them.
                assert_eq!(bits & 0x7FFF_FFFF, 0, "{mask}: {bits:x}");
            }
        }
    });
}

#[test]
fn no_descriptor_of_ours_reaches_the_child() {
    bounded(async {
        // Opened for all children, as a careless library might.
        let careless = nix::unistd::dup(std::io::stderr()).unwrap();
        let listed = lines(output(command("ls", ["/proc/self/fd"]), &guard()).await);
        // Descriptor 3 is the listing itself.
        assert_eq!(listed, ["0", "1", "2", "3"]);
        drop(careless);
    });
}

#[test]
fn a_raised_descriptor_limit_is_ours_alone() {
    bounded(async {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let soft = hard.min(777);
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
        assert_eq!(raise_descriptor_limit(), hard);
        assert_eq!(raise_descriptor_limit(), hard, "as often as it is wanted");
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (hard, hard));
        for guard in both() {
            let told = output(sh("ulimit -Sn; ulimit -Hn; env"), &guard).await;
            let told = String::from_utf8(told).unwrap();
            let told: Vec<_> = told.lines().collect();
            let expected = [soft, hard].map(|limit| match limit {
                u64::MAX => "unlimited".to_owned(),
                limit => limit.to_string(),
            });
            assert_eq!(told[..2], expected, "{guard:?}");
            assert!(!told[2..].iter().any(|line| line.contains("DESCRIPTORS")), "{told:?}");
        }
    });
}
