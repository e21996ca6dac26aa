//! The descendants of a process, read from `/proc`. The list is a snapshot: a caller that must reach every
//! process reads it again until it is empty.
//!
//! Used by `guard::stop_tree`, `orphans` and `process_tree`.

use std::fs;
use std::path::Path;

use nix::unistd::Pid;

/// Every process below `root`, children before grandchildren, zombies included.
pub(crate) fn descendants(root: Pid) -> Vec<Pid> {
    by_thread(root).unwrap_or_else(|| by_parent(root))
}

/// The children of a process, zombies included.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let by_parent = || parents_and_children().into_iter().filter(|(parent, _)| *parent == pid);
    listed_children(pid).unwrap_or_else(|| by_parent().map(|(_, child)| child).collect())
}

/// Reads the kernel's list of each thread's children: the cost depends on the size of the tree, not of the
/// machine. `None` if the kernel was built without these lists.
fn by_thread(root: Pid) -> Option<Vec<Pid>> {
    let mut found = listed_children(root)?;
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        // A process that has ended by now has left its children to `root`, where the next walk sees them.
        found.extend(listed_children(pid).unwrap_or_default());
    }
    Some(found)
}

fn listed_children(pid: Pid) -> Option<Vec<Pid>> {
    let mut found = Vec::new();
    let mut readable = false;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        if let Ok(list) = fs::read_to_string(thread.path().join("children")) {
            readable = true;
            found.extend(list.split_ascii_whitespace().filter_map(parse));
        }
    }
    readable.then_some(found)
}

/// Walks the parent ids of all processes.
fn by_parent(root: Pid) -> Vec<Pid> {
    let everyone = parents_and_children();
    let below = |above: Pid| everyone.iter().filter(move |(parent, _)| *parent == above);
    let mut found: Vec<Pid> = below(root).map(|(_, pid)| *pid).collect();
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        found.extend(below(pid).map(|(_, pid)| *pid));
    }
    found
}

/// Every process of this machine, as pairs of parent and child.
fn parents_and_children() -> Vec<(Pid, Pid)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let process = |entry: fs::DirEntry| {
        let pid = parse(entry.file_name().to_str()?)?;
        Some((parent(&entry.path())?, pid))
    };
    entries.flatten().filter_map(process).collect()
}

/// Reads the parent's id: the second field after the command's name, which may itself hold spaces and
/// parentheses.
fn parent(process: &Path) -> Option<Pid> {
    let stat = fs::read(process.join("stat")).ok()?;
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    parse(rest.split_ascii_whitespace().nth(1)?)
}

fn parse(number: &str) -> Option<Pid> {
    number.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::{by_parent, by_thread};
    use nix::unistd::Pid;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a program")]
    fn both_ways_find_the_whole_tree() {
        let script = "sh -c 'echo $$; read x; true' & echo $!; wait";
        let mut root = Command::new("sh")
            .args(["-c", &format!("exec 3<&0; {}", script.replace("read x", "read x <&3"))])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(root.stdout.take().unwrap()).lines();
        let grandchild: i32 = lines.next().unwrap().unwrap().parse().unwrap();
        lines.next();
        let pid = Pid::from_raw(root.id().cast_signed());

        assert_eq!(by_parent(pid), [Pid::from_raw(grandchild)]);
        assert!(by_thread(pid).is_none_or(|found| found == [Pid::from_raw(grandchild)]));
        let above = Pid::this();
        assert!(by_parent(above).contains(&Pid::from_raw(grandchild)));
        assert!(by_thread(above).is_none_or(|all| all.contains(&Pid::from_raw(grandchild))));

        drop(root.stdin.take());
        root.wait().unwrap();
    }
}
