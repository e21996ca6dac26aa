//! A process group that ends with `xtask`, even if `xtask` is killed.
//!
//! Used by `listener` and `suite`. A signal that kills `xtask` leaves no time to clean up, and other process groups
//! do not get it. So a shell leads each group and reads a pipe from `xtask`: at the end of the pipe it kills its
//! group, and itself.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::command::succeeds;

/// The script of the leading shell.
const LEAD: &str = "read -r _; kill -s KILL 0";

/// A process group that lives as long as this value, and no longer than `xtask`.
pub(super) struct Group {
    leader: Child,
}

// === impl Group ===

impl Group {
    pub(super) fn open() -> io::Result<Self> {
        let mut leader = Command::new("sh");
        leader.args(["-c", LEAD]);
        leader.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { leader: leader.process_group(0).spawn()? })
    }

    /// Starts a program in the group. At no moment can it outlive `xtask`.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let group = i32::try_from(self.leader.id()).map_err(io::Error::other)?;
        command.process_group(group).spawn()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = format!("-{}", self.leader.id());
        succeeds(Command::new("kill").args(["-KILL", "--", &group]));
        // The leader was killed with the group; its status adds nothing.
        let _ = self.leader.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// A program that starts another one.
    fn family() -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]).stdout(Stdio::piped());
        command
    }

    /// The signal that ended `child`, once all holders of its output have ended.
    fn ended_by(mut child: Child) -> Option<i32> {
        let mut output = child.stdout.take().unwrap();
        io::copy(&mut output, &mut io::sink()).unwrap();
        child.wait().unwrap().signal()
    }

    #[test]
    fn a_group_ends_with_us() {
        let mut group = Group::open().unwrap();
        let child = group.spawn(&mut family()).unwrap();
        // The death of `xtask` closes this pipe, too.
        drop(group.leader.stdin.take());
        assert_eq!(ended_by(child), Some(9));
        assert_eq!(group.leader.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_group_ends_when_it_is_done_with() {
        let group = Group::open().unwrap();
        let child = group.spawn(&mut family()).unwrap();
        drop(group);
        assert_eq!(ended_by(child), Some(9));
    }
}
