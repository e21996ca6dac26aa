//! The files that a package installs: the program, its man pages, completions, units and documents.
//!
//! Used by `dist` for the archive, the Debian package and the container. Man pages and completions come from the
//! program itself. It writes no files.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::archive::{TarFile, gzip};
use super::{Release, man_page};
use crate::command::output;
use crate::failure::{AboutFile, Result};
use crate::paths;

/// The kind of package, which decides where files go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packaging {
    /// To be unpacked anywhere, for example in `~/.local`.
    Archive,
    /// Under `/usr`, as Debian wants it.
    Debian,
}

/// The files of a package.
pub(super) struct PackageTree {
    pub(super) files: Vec<TarFile>,
}

// === impl PackageTree ===

impl PackageTree {
    pub(super) fn of(release: &Release, packaging: Packaging) -> Result<Self> {
        let mut tree = Self { files: Vec::new() };
        let is_debian = packaging == Packaging::Debian;
        let root = if is_debian { "usr/" } else { "" };
        let program = fs::read(&release.program).about("read", &release.program)?;
        tree.add(format!("{root}bin/switchboard"), 0o755, program);
        for (name, page) in man_page::pages(release)? {
            tree.add(format!("{root}share/man/man1/{name}.1.gz"), 0o644, gzip(page.as_bytes())?);
        }
        for (shell, path) in completion_paths(packaging) {
            let script = output(Command::new(&release.program).args(["completions", shell]))?;
            tree.add(format!("{root}{path}"), 0o644, script.into_bytes());
        }
        let (path, unit) = user_unit(packaging)?;
        tree.add(format!("{root}{path}"), 0o644, unit.into_bytes());
        for (source, path) in [
            ("systemd/system/switchboard.service", "lib/systemd/system/switchboard.service"),
            ("sysusers.d/switchboard.conf", "lib/sysusers.d/switchboard.conf"),
        ] {
            tree.add(format!("{root}{path}"), 0o644, packaging_file(source)?.into_bytes());
        }
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
            let path = paths::root().join(name);
            let content = fs::read(&path).about("read", &path)?;
            tree.add(format!("{root}share/doc/switchboard/{name}"), 0o644, content);
        }
        Ok(tree)
    }

    pub(super) fn add(&mut self, path: String, mode: u32, content: Vec<u8>) {
        self.files.push(TarFile { path, mode, content });
    }
}

/// Where each shell looks for completions.
fn completion_paths(packaging: Packaging) -> [(&'static str, &'static str); 3] {
    let zsh = match packaging {
        Packaging::Archive => "share/zsh/site-functions/_switchboard",
        Packaging::Debian => "share/zsh/vendor-completions/_switchboard",
    };
    [
        ("bash", "share/bash-completion/completions/switchboard"),
        ("zsh", zsh),
        ("fish", "share/fish/vendor_completions.d/switchboard.fish"),
    ]
}

/// The path and text of the user unit. In `~/.local`, systemd looks for units under `share`.
fn user_unit(packaging: Packaging) -> Result<(&'static str, String)> {
    let unit = packaging_file("systemd/user/switchboard.service")?;
    Ok(match packaging {
        Packaging::Archive => {
            let unit = unit.replace("/usr/bin/switchboard", "%h/.local/bin/switchboard");
            ("share/systemd/user/switchboard.service", unit)
        }
        Packaging::Debian => ("lib/systemd/user/switchboard.service", unit),
    })
}

/// A file of the folder `packaging`.
pub(super) fn packaging_file(name: impl AsRef<Path>) -> Result<String> {
    let path = paths::root().join("packaging").join(name);
    fs::read_to_string(&path).about("read", &path)
}
