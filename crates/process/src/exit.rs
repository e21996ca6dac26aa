//! How a process ended, with a text for people.
//!
//! Used by every crate that starts a program.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    /// The process exited with this status.
    Code(i32),
    /// This signal ended the process.
    Signal(i32),
    /// Unknown: its guard, or the runtime that watched it, ended first.
    Unknown,
}

// === impl ProcessExit ===

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with status {code}"),
            Self::Signal(number) => match Signal::try_from(number) {
                Ok(signal) => write!(f, "killed by {}", signal.as_str()),
                Err(_) => write!(f, "killed by signal {number}"),
            },
            Self::Unknown => f.write_str("ended with an unknown status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessExit;

    #[test]
    fn reads_as_a_sentence() {
        let check = |exit: ProcessExit, text: &str| assert_eq!(exit.to_string(), text);
        check(ProcessExit::Code(3), "exited with status 3");
        check(ProcessExit::Signal(11), "killed by SIGSEGV");
        check(ProcessExit::Signal(40), "killed by signal 40");
        check(ProcessExit::Unknown, "ended with an unknown status");
    }
}
