//! The sources of the plugin SDK, embedded in the program.
//!
//! Used by `plugin new`, which writes them into each Rust project. The project then depends on no repository address
//! and on no registry name that another party could take. The two manifests stand alone; all other files are those of
//! `crates/plugin-sdk` and `crates/plugin-macros`, byte for byte. A test compares both with the workspace.

use super::new::ProjectFile;

/// The folder of a project that holds the SDK, relative to the project's manifest.
pub(super) const SDK_FOLDER: &str = "sdk";

macro_rules! source {
    ($target:literal, $source:literal) => {
        (concat!("sdk/", $target), include_str!(concat!("../../../../../", $source)))
    };
}

/// Files that are copied unchanged: the path in the project, and the text.
const SOURCES: &[(&str, &str)] = &[
    source!("LICENSE-APACHE", "LICENSE-APACHE"),
    source!("LICENSE-MIT", "LICENSE-MIT"),
    source!("include/switchboard_plugin_v1.h", "crates/plugin-sdk/include/switchboard_plugin_v1.h"),
    source!("include/switchboard_plugin_v2.h", "crates/plugin-sdk/include/switchboard_plugin_v2.h"),
    source!("src/abi/mod.rs", "crates/plugin-sdk/src/abi/mod.rs"),
    source!("src/abi/v1.rs", "crates/plugin-sdk/src/abi/v1.rs"),
    source!("src/abi/v2.rs", "crates/plugin-sdk/src/abi/v2.rs"),
    source!("src/content.rs", "crates/plugin-sdk/src/content.rs"),
    source!("src/context.rs", "crates/plugin-sdk/src/context.rs"),
    source!("src/export.rs", "crates/plugin-sdk/src/export.rs"),
    source!("src/failure.rs", "crates/plugin-sdk/src/failure.rs"),
    source!("src/item.rs", "crates/plugin-sdk/src/item.rs"),
    source!("src/lib.rs", "crates/plugin-sdk/src/lib.rs"),
    source!("src/plugin.rs", "crates/plugin-sdk/src/plugin.rs"),
    source!("src/return_types.rs", "crates/plugin-sdk/src/return_types.rs"),
    source!("src/uri.rs", "crates/plugin-sdk/src/uri.rs"),
    source!("macros/src/attribute.rs", "crates/plugin-macros/src/attribute.rs"),
    source!("macros/src/function.rs", "crates/plugin-macros/src/function.rs"),
    source!("macros/src/lib.rs", "crates/plugin-macros/src/lib.rs"),
];

/// Files that name the version of the SDK.
const TEMPLATES: &[(&str, &str)] = &[
    ("sdk/README.md", include_str!("template/sdk/README.md.in")),
    ("sdk/Cargo.toml", include_str!("template/sdk/Cargo.toml.in")),
    ("sdk/macros/Cargo.toml", include_str!("template/sdk/macros.toml.in")),
];

/// Every file of the SDK, as `plugin new` writes it.
pub(super) fn files() -> impl Iterator<Item = ProjectFile> {
    let copied = SOURCES.iter().map(|(path, text)| (*path, (*text).to_owned()));
    let filled = TEMPLATES
        .iter()
        .map(|(path, template)| (*path, template.replace("@VERSION@", env!("CARGO_PKG_VERSION"))));
    copied.chain(filled)
}
