//! How a process ended, in words a person can use.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody was left to tell: its guard, or the runtime that watched it, ended first.
    Unknown,
}

// === impl Exit ===

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with status {code}"),
            Self::Signal(number) => match Signal::try_from(number) {
                Ok(signal) => write!(f, "killed by {}", signal.as_str()),
                Err(_) => write!(f, "killed by signal {number}"),
            },
            Self::Unknown => f.write_str("ended, nobody saw how"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn reads_as_a_sentence() {
        let check = |exit: Exit, text: &str| assert_eq!(exit.to_string(), text);
        check(Exit::Code(3), "exited with status 3");
        check(Exit::Signal(11), "killed by SIGSEGV");
        check(Exit::Signal(40), "killed by signal 40");
        check(Exit::Unknown, "ended, nobody saw how");
    }
}
