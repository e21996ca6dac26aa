//! `switchboard plugin new`: writes a plugin project that builds and passes its own test.
//!
//! Used by `commands::plugin`. The SDK files for Rust are in `sdk`. It does not build the project.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::sdk::{self, SDK_FOLDER};
use crate::args::{Language, New};
use crate::printer::{BOLD, Printer};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

const HEADER: &str = include_str!("../../../../plugin-sdk/include/switchboard_plugin_v2.h");

/// A file of a project: its path in the project, and its text.
pub(super) type ProjectFile = (&'static str, String);

pub(super) fn run(new: &New, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    check(&new.name)?;
    let folder = caller.surroundings.cwd.join(&new.name);
    if folder.exists() {
        let message = format!("`{}` is there already", new.name);
        return Err(Failure::plain(FailureKind::Usage, message).with_hint("take another name"));
    }
    let files = files(new, caller);
    for (name, text) in &files {
        let path = folder.join(name);
        write(&path, text)
            .map_err(|error| Failure::new(format!("cannot write `{}`", path.display()), error))?;
    }
    if printer.is_json() {
        let files: Vec<_> = files.iter().map(|(name, _)| name).collect();
        return printer.json(&json!({ "folder": folder, "files": files }));
    }
    printer.done(format_args!("{BOLD}Made {}{BOLD:#}. Next:\n", new.name));
    printer.done(next(new));
    Ok(())
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Checks that a name is valid in every language and file system.
fn check(name: &str) -> Result<(), Failure> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if starts_well && name.chars().all(is_plain) && !name.ends_with('-') {
        return Ok(());
    }
    let hint = "use lower-case letters, digits and `-`, and begin with a letter";
    Err(Failure::usage(format!("`{name}` cannot be the name of a plugin"), hint))
}

fn files(new: &New, caller: &Caller) -> Vec<ProjectFile> {
    let filled = |template: &str| {
        let sdk = sdk_path(new, caller);
        template.replace("@NAME@", &new.name).replace("@SDK@", &json!(sdk).to_string())
    };
    match new.lang {
        Language::Rust => {
            let mut files = vec![
                ("Cargo.toml", filled(include_str!("template/Cargo.toml.in"))),
                ("src/lib.rs", filled(include_str!("template/lib.rs.in"))),
                (".gitignore", "/target\n".to_owned()),
            ];
            if new.sdk.is_none() {
                files.extend(sdk::files());
            }
            files
        }
        Language::C => vec![
            ("CMakeLists.txt", filled(include_str!("template/CMakeLists.c.in"))),
            ("plugin.c", filled(include_str!("template/plugin.c.in"))),
            ("test.c", filled(include_str!("template/test.c.in"))),
            ("include/switchboard_plugin_v2.h", HEADER.to_owned()),
            (".gitignore", "/build\n".to_owned()),
        ],
        Language::Cpp => vec![
            ("CMakeLists.txt", filled(include_str!("template/CMakeLists.cpp.in"))),
            ("plugin.cpp", filled(include_str!("template/plugin.cpp.in"))),
            ("test.cpp", filled(include_str!("template/test.c.in"))),
            ("include/switchboard_plugin_v2.h", HEADER.to_owned()),
            (".gitignore", "/build\n".to_owned()),
        ],
    }
}

/// The path of the SDK in a Rust project: its own folder, or the sources that `--sdk` names.
fn sdk_path(new: &New, caller: &Caller) -> PathBuf {
    match &new.sdk {
        Some(sources) => caller.surroundings.cwd.join(sources).join("crates/plugin-sdk"),
        None => PathBuf::from(SDK_FOLDER),
    }
}

fn next(new: &New) -> String {
    let name = &new.name;
    match new.lang {
        Language::Rust => format!(
            "  cd {name} && cargo test && cargo build\n  switchboard plugin check target/debug/lib{}.so",
            name.replace('-', "_")
        ),
        Language::C | Language::Cpp => format!(
            "  cd {name} && cmake -B build && cmake --build build && ctest --test-dir build\n  switchboard plugin check build/{name}.so"
        ),
    }
}
