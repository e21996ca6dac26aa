//! Scripted peers and faults, for tests only.

#[cfg(target_os = "linux")]
pub mod processes;
pub mod programs;

pub use programs::guard_path;
