//! A contender's process: started, watched from outside, ended.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// A process that ends with its handle.
pub(crate) struct Process(Child);

/// Bytes of a process that are in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryUse {
    /// The resident set, with the pages of files that processes share.
    pub(crate) resident: usize,
    /// The pages that belong to this process alone.
    pub(crate) private: usize,
}

// === impl Process ===

impl Process {
    /// Starts it, and reads the line in which it says where it is.
    pub(crate) fn start(command: &mut Command) -> (Self, String) {
        let mut process = Self::start_silent(command.stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut said = BufReader::new(process.0.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        // It must never wait for a reader of what it says later.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        (process, line)
    }

    /// Starts one that says nothing of use.
    pub(crate) fn start_silent(command: &mut Command) -> Self {
        // It ends when this end of its standard input does, however we end.
        let child = command.stdin(Stdio::piped()).spawn();
        Self(child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")))
    }

    /// The time it has had on the processor, its dead threads counted.
    pub(crate) fn cpu(&self) -> Duration {
        let clock = clock_getcpuclockid(self.pid()).unwrap();
        clock_gettime(clock).unwrap().into()
    }

    /// Its memory now.
    pub(crate) fn memory(&self) -> MemoryUse {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
            kibibytes * 1024
        };
        MemoryUse { resident: bytes("VmRSS:"), private: bytes("RssAnon:") }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its own children end with it: it is asked before it is made to.
        let _ = nix::sys::signal::kill(self.pid(), nix::sys::signal::Signal::SIGTERM);
        for _ in 0..200 {
            if matches!(self.0.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
