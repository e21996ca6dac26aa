//! The Homebrew formula: it builds the program from the source archive.
//!
//! Used by `dist`. `packaging/homebrew.rb` is its text; version, address and checksum are filled in here.

use std::fs;
use std::path::Path;

use super::package_tree::packaging_file;
use super::{Release, checksum};
use crate::failure::{AboutFile, Result};

/// Writes `switchboard.rb` for a source archive that will be under `url`.
pub(super) fn write(release: &Release, source: &Path, url: &str, out: &Path) -> Result<()> {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let formula = packaging_file("homebrew.rb")?
        .replace("@VERSION@", &release.version)
        .replace("@HOME@", url)
        .replace("@URL@", &format!("{}/{name}", url.trim_end_matches('/')))
        .replace("@SHA256@", &checksum(source)?);
    let path = out.join("switchboard.rb");
    fs::write(&path, formula).about("write", &path)
}
