//! The container image: its definition, and the folder that is its whole content.
//!
//! Used by `dist`. The image holds the program, the libraries that it is linked with, certificates, and a user that
//! is not root; no shell and no package manager. An image builder is not needed to make the folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use super::package_tree::packaging_file;
use crate::command::output;
use crate::failure::{AboutFile, Failure, Result};

/// Where Debian, and most other systems, have the certificates of public authorities.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// Writes `container/Containerfile` and `container/rootfs`.
pub(super) fn write(release: &Release, out: &Path) -> Result<()> {
    let folder = out.join("container");
    let root = folder.join("rootfs");
    put(&folder.join("Containerfile"), packaging_file("Containerfile")?.as_bytes())?;
    copy(&release.program, &root.join("usr/bin/switchboard"))?;
    for library in libraries(&release.program)? {
        let inside = library.strip_prefix("/").unwrap_or(&library);
        copy(&library, &root.join(inside))?;
    }
    copy(&Path::new("/").join(CERTIFICATES), &root.join(CERTIFICATES))?;
    for (name, text) in [
        ("passwd", "switchboard:x:65532:65532::/home/switchboard:/sbin/nologin\n"),
        ("group", "switchboard:x:65532:\n"),
        ("nsswitch.conf", "hosts: files dns\n"),
    ] {
        put(&root.join("etc").join(name), text.as_bytes())?;
    }
    // The image builder keeps the modes: each user may write to these, as the one of the image must.
    for name in ["tmp", "home/switchboard"] {
        let folder = root.join(name);
        fs::create_dir_all(&folder).about("create", &folder)?;
        let mode = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(&folder, mode).about("change the mode of", &folder)?;
    }
    Ok(())
}

fn put(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).about("create", folder)?;
    fs::write(path, content).about("write", path)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).about("create", folder)?;
    fs::copy(from, to).map(drop).about("copy", from)
}

/// The shared libraries of a program and its loader, as the loader names them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let listed = output(Command::new("ldd").arg(program))?;
    // `libc.so.6 => /lib/…/libc.so.6 (0x…)`, and for the loader `/lib64/ld-linux-x86-64.so.2 (0x…)`.
    let paths = listed.lines().filter_map(|line| {
        let named = line.split("=>").last()?.split_whitespace().next()?;
        named.starts_with('/').then(|| PathBuf::from(named))
    });
    let paths: Vec<_> = paths.collect();
    if paths.is_empty() {
        return Err(Failure::new("`ldd` names no library of the program"));
    }
    Ok(paths)
}
