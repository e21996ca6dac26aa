//! A program that is only the process guard.
//!
//! Used by tests through `testkit::guard_path`.

fn main() {
    #[cfg(unix)]
    switchboard_process::guard::run_if_guard();
    std::process::exit(64);
}
