//! Has what runs once clients come laid side by side in the program, by `layout.ld` (`cargo xtask layout`).
//!
//! Only where the toolchain's own linker is used, which is known to understand it; elsewhere the program is the same,
//! and takes more memory.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=layout.ld");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    let chosen = var("RUSTC_LINKER").is_ok()
        || var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    if is("TARGET", "x86_64-unknown-linux-gnu")
        && is("HOST", "x86_64-unknown-linux-gnu")
        && is("PROFILE", "release")
        && !chosen
    {
        let folder = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/layout.ld");
    }
}
