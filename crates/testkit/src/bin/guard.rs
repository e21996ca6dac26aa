//! A program that is nothing but a guard.

fn main() {
    #[cfg(unix)]
    switchboard_process::guard::run_if_guard();
    std::process::exit(64);
}
