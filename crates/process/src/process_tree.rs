//! A program and all its descendants, read from `/proc`.
//!
//! Used by `Process::process_tree`, for the list of processes in the fronts. It does not stop them
//! (`guard::stop_tree`).

use std::fs;

/// One process of a started program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// The process id.
    pub pid: u32,
    /// The parent's id. For the program itself, and for adopted processes, the parent is not in the list.
    pub parent: u32,
    /// The name that the process gave itself, at most fifteen bytes.
    pub name: String,
    /// The file name of its program, with that of the script where the program is an interpreter.
    pub program: Option<String>,
    /// Resident memory in bytes, shared pages included.
    pub resident: u64,
}

/// The program `pid` and all its descendants, parents before children. Reads files, so it must not run on a
/// thread of the runtime. The guard is left out, but processes that it adopted are in.
pub(super) fn list_process_tree(pid: u32) -> Vec<ProcessInfo> {
    let Some(program) = read(pid) else { return Vec::new() };
    // Under a guard, orphans are children of the guard.
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

/// Reads one process; `None` if it is gone or a zombie.
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
        program: program(pid),
        resident: kilobytes.unwrap_or_default() * 1024,
    })
}

/// The program of a process. Node.js and others give their threads names, which say nothing about the program.
fn program(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word));
    let program = file_name(&words.next()?)?;
    let is_interpreter = INTERPRETERS.iter().any(|known| program.starts_with(known));
    // An option before the script may take a value, which is not the script.
    let script = words.next().filter(|word| is_interpreter && !word.starts_with('-'));
    let script = script.as_deref().and_then(file_name);
    Some(script.map_or_else(|| program.clone(), |script| format!("{program} {script}")))
}

/// Programs whose first argument is the script that they run.
const INTERPRETERS: [&str; 6] = ["node", "python", "ruby", "deno", "bun", "perl"];

fn file_name(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    (!name.is_empty()).then(|| name.to_owned())
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
            // A background command of `sh` reads from `/dev/null` unless it is given another input.
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
        assert!(family.iter().all(|member| member.program.as_deref() == Some("sh")));
        assert_eq!(family[1].parent, program.id());
        drop(program.stdin.take());
        program.wait().unwrap();
        assert_eq!(list_process_tree(program.id()), []);
    }
}
