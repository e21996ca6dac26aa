//! A program and everything it has started, as `/proc` tells it at this moment.

use std::fs;

/// One process of a program that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its id.
    pub pid: u32,
    /// Whose child it is. Of the program itself, and of those whose parents are gone, that is nobody here.
    pub parent: u32,
    /// What it calls itself, at most fifteen bytes; it may call itself anything.
    pub name: String,
    /// Bytes of memory it has, those it shares with others among them.
    pub resident: u64,
}

/// The program `pid` and all below it, parents before children. Reads files: not for the runtime's own thread. The
/// guard is left out, but those it has adopted are in.
pub(super) fn list_process_tree(pid: u32) -> Vec<ProcessInfo> {
    let Some(program) = read(pid) else { return Vec::new() };
    // Under a guard whoever lost their parents is a child of it.
    let root = if program.parent == std::process::id() { pid } else { program.parent };
    let others = below(root).into_iter().filter(|other| *other != pid);
    std::iter::once(pid).chain(others).filter_map(read).collect()
}

#[cfg(target_os = "linux")]
fn below(root: u32) -> Vec<u32> {
    use super::guard::descendants::descendants;
    let root = nix::unistd::Pid::from_raw(root.cast_signed());
    descendants(root).into_iter().map(|pid| pid.as_raw().cast_unsigned()).collect()
}

#[cfg(not(target_os = "linux"))]
fn below(_: u32) -> Vec<u32> {
    Vec::new()
}

/// One of them; `None` for one that is gone, or dead and not yet waited for.
fn read(pid: u32) -> Option<ProcessInfo> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let field = |name: &str| {
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    };
    if field("State")?.starts_with('Z') {
        return None;
    }
    let kilobytes = field("VmRSS").and_then(|size| size.split(' ').next()?.parse::<u64>().ok());
    Some(ProcessInfo {
        pid,
        parent: field("PPid")?.parse().ok()?,
        name: field("Name")?.to_owned(),
        resident: kilobytes.unwrap_or_default() * 1024,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a program")]
    fn everything_below_a_program_is_there_once() {
        let mut program = Command::new("sh")
            // What runs in the background reads from nothing unless it is given something else.
            .args(["-c", "exec 3<&0; sh -c 'echo $$; read x; true' <&3 & wait; true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(program.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        let family = list_process_tree(program.id());
        let pids: Vec<_> = family.iter().map(|member| member.pid).collect();
        assert_eq!(pids, [program.id(), child]);
        assert!(family.iter().all(|member| member.resident > 0 && member.name == "sh"));
        assert_eq!(family[1].parent, program.id());
        drop(program.stdin.take());
        program.wait().unwrap();
        assert_eq!(list_process_tree(program.id()), []);
    }
}
