//! Recognises completions, man pages and units of ours in a home folder, and how the program was installed.
//!
//! Used by `self_uninstall::inventory`. A file under one of our names with other content is the person's.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchboard_config::{HostContext, quote_arguments};

use super::inventory::ItemKind;

/// Files below the home folder that may be ours, and a text that those of ours hold.
const FILES_IN_HOME: [(ItemKind, &str, &str); 12] = [
    (
        ItemKind::Completion,
        ".local/share/bash-completion/completions/switchboard",
        "_switchboard()",
    ),
    (ItemKind::Completion, ".local/share/zsh/site-functions/_switchboard", "#compdef switchboard"),
    (
        ItemKind::Completion,
        ".local/share/fish/vendor_completions.d/switchboard.fish",
        "--command switchboard ",
    ),
    (ItemKind::Completion, ".config/fish/completions/switchboard.fish", "--command switchboard "),
    (ItemKind::Unit, ".config/systemd/user/switchboard.service", "/switchboard serve"),
    (ItemKind::Unit, ".local/share/systemd/user/switchboard.service", "/switchboard serve"),
    // Files of the archive that have no use in a home, and are unpacked there all the same.
    (ItemKind::Unit, ".local/lib/systemd/system/switchboard.service", "/switchboard serve"),
    (ItemKind::Unit, ".local/lib/sysusers.d/switchboard.conf", "u switchboard "),
    (ItemKind::Document, ".local/share/doc/switchboard/README.md", "# Switchboard"),
    (ItemKind::Document, ".local/share/doc/switchboard/CHANGELOG.md", "# Changelog"),
    (ItemKind::Document, ".local/share/doc/switchboard/LICENSE-APACHE", "Apache License"),
    (
        ItemKind::Document,
        ".local/share/doc/switchboard/LICENSE-MIT",
        "Permission is hereby granted",
    ),
];
/// Folders of the archive that hold nothing else.
pub(super) const FOLDERS_IN_HOME: [&str; 1] = [".local/share/doc/switchboard"];
/// Where man pages lie that were unpacked into `~/.local`.
const MAN_PAGES: &str = ".local/share/man/man1";
/// The link that `systemctl --user enable` makes.
const UNIT_LINK: &str = ".config/systemd/user/default.target.wants/switchboard.service";

/// Returns the files of ours in the home folder.
pub(super) fn files_in_home(host: &HostContext) -> Vec<(ItemKind, PathBuf)> {
    let is_ours = |path: &Path, text: &str| {
        fs::read(path).is_ok_and(|content| String::from_utf8_lossy(&content).contains(text))
    };
    let files = FILES_IN_HOME.iter().map(|(kind, path, text)| (*kind, host.home.join(path), *text));
    let files = files.filter(|(_, path, text)| is_ours(path, text));
    let mut found: Vec<_> = files.map(|(kind, path, _)| (kind, path)).collect();
    let link = host.home.join(UNIT_LINK);
    let points_to_unit = |target: PathBuf| target.ends_with("systemd/user/switchboard.service");
    if fs::read_link(&link).is_ok_and(points_to_unit) {
        found.push((ItemKind::Unit, link));
    }
    found.extend(man_pages(&host.home.join(MAN_PAGES)));
    found
}

fn man_pages(folder: &Path) -> Vec<(ItemKind, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let page = name.strip_prefix("switchboard").and_then(|name| name.strip_suffix(".1.gz"));
        page.is_some_and(|page| page.is_empty() || page.starts_with('-'))
    };
    let mut pages: Vec<_> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    pages.sort();
    pages.into_iter().map(|page| (ItemKind::ManPage, page)).collect()
}

/// Whether the state holds entries that `setup` took out of clients, and that only `setup --undo` can put back.
pub(super) fn holds_entries_of_clients(state_dir: &Path) -> bool {
    let record = fs::read(state_dir.join("setup.json")).unwrap_or_default();
    let record: Value = serde_json::from_slice(&record).unwrap_or_default();
    record["changes"].as_array().is_some_and(|changes| !changes.is_empty())
}

/// The command that removes the program, by where it lies.
pub(super) fn removal_command(program: &Path) -> String {
    let path = program.to_string_lossy();
    if path == "/usr/bin/switchboard" {
        "sudo apt remove switchboard".to_owned()
    } else if path.contains("/Cellar/") {
        "brew uninstall switchboard".to_owned()
    } else if path.ends_with("/.cargo/bin/switchboard") {
        "cargo uninstall switchboard-cli".to_owned()
    } else {
        format!("rm {}", quote_arguments([&*path]))
    }
}

#[cfg(test)]
mod tests {
    use super::removal_command;

    #[test]
    fn the_program_is_removed_as_it_was_installed() {
        let check = |program: &str, command| {
            assert_eq!(removal_command(program.as_ref()), command);
        };
        check("/usr/bin/switchboard", "sudo apt remove switchboard");
        check("/opt/homebrew/Cellar/switchboard/1/bin/switchboard", "brew uninstall switchboard");
        check("/home/a/.cargo/bin/switchboard", "cargo uninstall switchboard-cli");
        check("/home/a b/switchboard", "rm '/home/a b/switchboard'");
    }
}
