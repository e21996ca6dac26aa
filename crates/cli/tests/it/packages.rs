//! Test of the packages that `cargo xtask dist` makes, from the program under test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::story::cargo;

/// Runs a program and returns what it prints; fails unless the program succeeds.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Makes all packages from a program without symbols, as a release is.
fn dist(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join("switchboard");
    if !program.exists() {
        output(
            Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_switchboard")),
        );
    }
    let out = folder.join(name);
    let mut run = cargo();
    run.args(["xtask", "dist", "--url", "https://downloads.example/switchboard", "--from"]);
    run.arg(&program).arg("--out").arg(&out).env("SOURCE_DATE_EPOCH", "1700000000");
    output(run.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    out
}

/// The one file of a folder with this ending.
fn file(folder: &Path, ending: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    assert_eq!(files.len(), 1, "{ending} in {files:?}");
    files.remove(0)
}

#[test]
fn packages_hold_a_program_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = dist(folder.path(), "one");
    let version = format!("switchboard {}\n", env!("CARGO_PKG_VERSION"));
    output(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&out));
    check_archive(&file(&out, "-linux-gnu.tar.gz"), folder.path(), &version);
    check_deb(&file(&out, ".deb"), folder.path(), &version);
    check_container(&out.join("container"), &version);
    check_formula(&out);
    check_bill(&file(&out, ".cdx.json"));

    let again = dist(folder.path(), "two");
    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(sums(&out), sums(&again), "the packages are reproducible");
}

fn check_archive(archive: &Path, folder: &Path, version: &str) {
    output(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder));
    let name = archive.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.gz");
    let root = folder.join(name);
    assert_eq!(output(Command::new(root.join("bin/switchboard")).arg("--version")), version);
    for path in [
        "share/man/man1/switchboard.1.gz",
        "share/man/man1/switchboard-serve.1.gz",
        "share/bash-completion/completions/switchboard",
        "share/zsh/site-functions/_switchboard",
        "share/fish/vendor_completions.d/switchboard.fish",
        "share/systemd/user/switchboard.service",
        "lib/systemd/system/switchboard.service",
        "share/doc/switchboard/LICENSE-APACHE",
        "share/doc/switchboard/LICENSE-MIT",
    ] {
        assert!(fs::metadata(root.join(path)).is_ok_and(|file| file.len() > 100), "{path}");
    }
    let page =
        output(Command::new("gzip").arg("-dc").arg(root.join("share/man/man1/switchboard.1.gz")));
    assert!(
        page.contains(".SH NAME\nswitchboard \\- One program between every AI client"),
        "{page}"
    );
    if is_installed("man") {
        let mut man = Command::new("man");
        man.args(["--warnings", "-l"]).arg(root.join("share/man/man1/switchboard-serve.1.gz"));
        let shown = man.env("LC_ALL", "C.UTF-8").env("MANPAGER", "cat").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "");
    }
    check_uninstall(archive);
    if is_installed("systemd-analyze") {
        check_units(&root);
    }
}

/// Everything that unpacking the archive put into a home is removed, but for the program, which is named.
fn check_uninstall(archive: &Path) {
    let home = tempfile::tempdir().unwrap();
    let local = home.path().join(".local");
    fs::create_dir(&local).unwrap();
    let unpack = ["--strip-components=1", "-xzf"];
    output(Command::new("tar").args(unpack).arg(archive).arg("-C").arg(&local));
    let program = local.join("bin/switchboard");
    let mut uninstall = Command::new(&program);
    uninstall.args(["self", "uninstall", "--yes"]).env_clear().env("HOME", home.path());
    let shown = output(uninstall.current_dir(home.path()));
    let find = output(Command::new("find").arg(home.path()).args(["-type", "f"]));
    assert_eq!(find.trim_end(), program.display().to_string(), "{shown}");
}

/// systemd finds nothing wrong with the units, and rates the system unit as safe.
fn check_units(root: &Path) {
    let unit = |kind: &str| {
        let folder = if kind == "user" { "share/systemd/user" } else { "lib/systemd/system" };
        root.join(folder).join("switchboard.service")
    };
    for kind in ["user", "system"] {
        // The program of the unit is that of the archive: `verify` looks whether it is there.
        let text = fs::read_to_string(unit(kind)).unwrap();
        let program = root.join("bin/switchboard").display().to_string();
        let text = text.replace("/usr/bin/switchboard", &program);
        let text = text.replace("%h/.local/bin/switchboard", &program);
        fs::write(unit(kind), text).unwrap();
        let scope = if kind == "user" { "--user" } else { "--system" };
        let mut verify = Command::new("systemd-analyze");
        verify.args([scope, "--man=no", "verify"]).arg(unit(kind));
        let verified = verify.env("XDG_RUNTIME_DIR", root).output().unwrap();
        let said = String::from_utf8_lossy(&verified.stderr);
        let complaints: Vec<_> =
            said.lines().filter(|line| line.contains("switchboard.service")).collect();
        assert!(complaints.is_empty(), "{said}");
    }
    let mut rate = Command::new("systemd-analyze");
    rate.args(["security", "--offline=true", "--threshold=25"]).arg(unit("system"));
    output(&mut rate);
}

fn check_deb(package: &Path, folder: &Path, version: &str) {
    if !is_installed("dpkg-deb") {
        // The same files are in the archive; that the form is right is known where Debian's tools are.
        return;
    }
    let about = output(Command::new("dpkg-deb").arg("--info").arg(package));
    for line in [" Package: switchboard\n", " Depends: libc6 (>= 2.", " Installed-Size: "] {
        assert!(about.contains(line), "{about}");
    }
    let listed = output(Command::new("dpkg-deb").arg("--contents").arg(package));
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
    assert!(listed.contains("-rwxr-xr-x"), "{listed}");
    assert!(listed.contains(" usr/share/man/man1/switchboard.1.gz\n"), "{listed}");
    let root = folder.join("deb");
    output(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&root));
    assert_eq!(output(Command::new(root.join("usr/bin/switchboard")).arg("--version")), version);
    output(Command::new("dpkg-deb").arg("--control").arg(package).arg(folder.join("control")));
    for name in ["postinst", "prerm", "postrm"] {
        output(Command::new("sh").arg("-n").arg(folder.join("control").join(name)));
    }
    check_maintainer_scripts(folder);
}

/// What the maintainer scripts do with the system unit, where systemd runs.
fn check_maintainer_scripts(folder: &Path) {
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["systemctl", "systemd-sysusers"] {
        let path = programs.join(name);
        fs::write(&path, format!("#!/bin/sh\necho {name} \"$@\"\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let running = folder.join("running");
    fs::create_dir(&running).unwrap();
    let check = |args: &[&str], folder_of_systemd: &Path, expected: &[&str]| {
        let text = fs::read_to_string(folder.join("control").join(args[0])).unwrap();
        let text = text.replace("/run/systemd/system", folder_of_systemd.to_str().unwrap());
        let mut script = Command::new("/bin/sh");
        let said = output(script.arg("-c").arg(text).args(args).env("PATH", &programs));
        assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{args:?}");
    };
    let (sysusers, reload) = ("systemd-sysusers switchboard.conf", "systemctl daemon-reload");
    let restart = "systemctl try-restart switchboard.service";
    check(&["postinst", "configure", ""], &running, &[sysusers, reload]);
    check(&["postinst", "configure", "0.0.1"], &running, &[sysusers, reload, restart]);
    check(&["postinst", "configure", "0.0.1"], &folder.join("absent"), &[sysusers]);
    check(&["prerm", "upgrade", "0.2.0"], &running, &[]);
    check(&["prerm", "remove"], &running, &["systemctl disable --now switchboard.service"]);
    check(&["postrm", "remove"], &running, &[reload]);
}

/// Runs the program in the content of the image, which the definition copies whole, as its user.
fn check_container(folder: &Path, version: &str) {
    let definition = fs::read_to_string(folder.join("Containerfile")).unwrap();
    let lines: Vec<_> = definition.lines().filter(|line| !line.starts_with('#')).collect();
    let instructions: Vec<_> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    let expected =
        ["FROM", "COPY", "USER", "ENV", "WORKDIR", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"];
    assert_eq!(instructions, expected);
    assert!(lines.contains(&"COPY rootfs/ /") && lines.contains(&"USER 65532:65532"));
    let root = folder.join("rootfs");
    for path in ["bin/sh", "usr/bin/sh", "usr/bin/env"] {
        assert!(!root.join(path).exists(), "the image has no {path}");
    }
    let is_root = nix::unistd::geteuid().is_root();
    // A container runtime mounts `/proc`, from which the program opens itself for its guards.
    fs::create_dir_all(root.join("proc")).unwrap();
    let run =
        r#"mount --rbind /proc "$0/proc" && exec chroot $USERSPEC "$0" /usr/bin/switchboard "$@""#;
    let inside = |args: &[&str]| {
        let mut command = Command::new("unshare");
        // An ordinary user needs a namespace of users to change the root, and has no other user in it.
        let (flags, user) = if is_root {
            (&["--mount"][..], "--userspec=65532:65532")
        } else {
            (&["--mount", "--map-root-user"][..], "")
        };
        command.args(flags).args(["sh", "-c", run]).arg(&root).args(args);
        output(
            command
                .env_clear()
                .env("USERSPEC", user)
                .env("HOME", "/home/switchboard")
                .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin"),
        )
    };
    assert_eq!(inside(&["--version"]), version);
    inside(&["add", "-s", "user", "web", "https://example.invalid/mcp"]);
    let shown = inside(&["get", "web"]);
    assert!(shown.contains("web (user scope): ready"), "the user can write to the home: {shown}");
    let served = definition.split("CMD [").nth(1).unwrap();
    let served: Vec<_> = served.split('"').skip(1).step_by(2).collect();
    assert!(inside(&[served[0], "--help"]).contains(served[1]), "{served:?}");
}

fn check_formula(out: &Path) {
    let formula = fs::read_to_string(out.join("switchboard.rb")).unwrap();
    let source = file(out, "-source.tar.gz");
    let name = source.file_name().unwrap().to_str().unwrap();
    let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let sum = sums.lines().find_map(|line| line.strip_suffix(&format!("  {name}"))).unwrap();
    let url = format!("url \"https://downloads.example/switchboard/{name}\"");
    assert!(formula.contains(&url) && formula.contains(&format!("sha256 \"{sum}\"")), "{formula}");
    assert!(!formula.contains('@'), "{formula}");
    let listed = output(Command::new("tar").arg("-tzf").arg(&source));
    assert!(listed.contains("/crates/cli/Cargo.toml\n"), "it builds from the source archive");
    if is_installed("ruby") {
        output(Command::new("ruby").arg("-c").arg(out.join("switchboard.rb")));
    }
}

fn check_bill(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let bill: Value = serde_json::from_str(&text).unwrap();
    let components = bill["components"].as_array().unwrap();
    let names: Vec<_> =
        components.iter().filter_map(|component| component["name"].as_str()).collect();
    assert!(names.contains(&"tokio") && names.contains(&"switchboard-hub"), "{names:?}");
    assert!(!names.contains(&"insta"), "what only tests use is not in the program");
    let known: Vec<_> =
        bill["dependencies"].as_array().unwrap().iter().map(|one| &one["ref"]).collect();
    assert_eq!(known.len(), components.len() + 1, "each has its dependencies");
    assert!(!text.contains("/home/") && !text.contains(env!("CARGO_MANIFEST_DIR")), "{text}");
}
