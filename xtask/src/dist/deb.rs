//! The Debian package, written without Debian's tools.
//!
//! Used by `dist`. `packaging/deb` has the fields and the scripts; it does not sign and has no repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::Release;
use super::archive::{TarFile, ar, gzip, tar};
use super::package_tree::{PackageTree, Packaging, packaging_file};
use crate::failure::{AboutFile, Failure, Result};

/// Writes the package and returns its path.
pub(super) fn write(release: &Release, out: &Path) -> Result<PathBuf> {
    let architecture = architecture(&release.target)?;
    let mut tree = PackageTree::of(release, Packaging::Debian)?;
    let copyright = packaging_file("deb/copyright")?;
    tree.add("usr/share/doc/switchboard/copyright".to_owned(), 0o644, copyright.into_bytes());
    let bytes: usize = tree.files.iter().map(|file| file.content.len()).sum();
    let control = packaging_file("deb/control")?
        .replace("@VERSION@", &release.version)
        .replace("@ARCHITECTURE@", architecture)
        .replace("@GLIBC@", &newest_glibc(&release.program)?)
        .replace("@INSTALLED_KIB@", &bytes.div_ceil(1024).to_string());
    let mut members = vec![control_file("control", 0o644, control)];
    for name in ["postinst", "prerm", "postrm"] {
        members.push(control_file(name, 0o755, packaging_file(format!("deb/{name}"))?));
    }
    let archive = |files: &[TarFile]| tar(files, release.epoch).and_then(|tar| gzip(&tar));
    let parts = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", archive(&members)?),
        ("data.tar.gz", archive(&tree.files)?),
    ];
    let path = out.join(format!("switchboard_{}_{architecture}.deb", release.version));
    fs::write(&path, ar(&parts, release.epoch)).about("write", &path)?;
    Ok(path)
}

fn control_file(name: &str, mode: u32, text: String) -> TarFile {
    TarFile { path: name.to_owned(), mode, content: text.into_bytes() }
}

/// Debian's name of a target.
fn architecture(target: &str) -> Result<&'static str> {
    match target.split('-').next() {
        Some("x86_64") => Ok("amd64"),
        Some("aarch64") => Ok("arm64"),
        _ => Err(Failure::new(format!("Debian's name for `{target}` is not known here"))),
    }
}

/// The newest version of glibc whose symbols the program uses, which the package depends on.
fn newest_glibc(program: &Path) -> Result<String> {
    const MARK: &[u8] = b"GLIBC_2.";
    let content = fs::read(program).about("read", program)?;
    let minor = |at: usize| {
        let digits = content[at + MARK.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0_u32, |number, digit| number * 10 + u32::from(digit - b'0'))
    };
    let starts = content.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    let newest = starts.map(|(at, _)| minor(at)).filter(|minor| *minor < 1000).max();
    newest
        .map(|minor| format!("2.{minor}"))
        .ok_or_else(|| Failure::new("the program names no version of glibc"))
}
