//! Has what runs once clients come laid side by side in the program, by `layout.ld` (`cargo xtask layout`).
//!
//! That chore also wants a map of what the linker made, which must change nothing else: the names of functions depend on
//! what a compiler is told.
//!
//! Only where the toolchain's own linker is used, which is known to understand it; elsewhere the program is the same,
//! and takes more memory.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=layout.ld");
    println!("cargo::rerun-if-env-changed=SWITCHBOARD_LINK_MAP");
    if let Ok(map) = var("SWITCHBOARD_LINK_MAP") {
        println!("cargo::rustc-link-arg-bins=-Wl,-Map={map}");
    }
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let of_linker = |flag: &str| flag.trim_start_matches("-C").trim_start().starts_with("link");
    let chosen = var("RUSTC_LINKER").is_ok() || flags.split('\u{1f}').any(of_linker);
    if is("TARGET", "x86_64-unknown-linux-gnu")
        && is("HOST", "x86_64-unknown-linux-gnu")
        && is("PROFILE", "release")
        && !chosen
    {
        let folder = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-T{folder}/layout.ld");
    }
}
