//! Processes that end with whoever started them, however that ends.
//!
//! A signal that ends us leaves no time to clean up, and those in groups of their own do not get it. So each group is
//! led by a shell that reads from us and hears nothing but the end; then it ends its group, and with it itself.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::command::succeeds;

/// What the one who leads does.
const LEAD: &str = "read -r _; kill -s KILL 0";

/// A process group that lives as long as this, and no longer than we do.
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

    /// Starts a program in the group. There is no moment at which it would outlive us.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let group = i32::try_from(self.leader.id()).map_err(io::Error::other)?;
        command.process_group(group).spawn()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = format!("-{}", self.leader.id());
        succeeds(Command::new("kill").args(["-KILL", "--", &group]));
        // It is gone with the others; collecting it cannot say anything new.
        let _ = self.leader.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// A program, and one that it started itself.
    fn family() -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]).stdout(Stdio::piped());
        command
    }

    /// Says what it was ended by, once whatever else it started has let go of its output.
    fn ended_by(mut child: Child) -> Option<i32> {
        let mut output = child.stdout.take().unwrap();
        io::copy(&mut output, &mut io::sink()).unwrap();
        child.wait().unwrap().signal()
    }

    #[test]
    fn a_group_ends_with_us() {
        let mut group = Group::open().unwrap();
        let child = group.spawn(&mut family()).unwrap();
        // Whatever ends us closes this.
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
