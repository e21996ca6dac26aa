//! Test of a plugin that is replaced a hundred times under load: no call fails, and no process or file is
//! left over.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use switchboard_plugin::{PluginHostOptions, PluginServer};

use crate::{
    client::Client,
    source::{Folder, host_with, options, put},
};

const CLIENTS: usize = 64;
const REPLACEMENTS: u64 = 100;
/// Every fifth version is broken.
const BROKEN: u64 = 5;
/// After this many versions, everything that is created once exists.
const SETTLED: u64 = 20;
/// Longer than a replacement takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// The `VERSION` in the compiled plugin; each replacement has a number in its place.
const MARK: &str = "version-000000";

/// The newest version that was written, and the newest that has answered.
#[derive(Default)]
struct Versions {
    written: AtomicU64,
    seen: AtomicU64,
    calls: AtomicU64,
    over: AtomicBool,
}

/// The resources in use by the host and its processes.
#[derive(Debug)]
struct Used {
    processes: usize,
    /// Open descriptors of all processes.
    descriptors: usize,
    /// Memory of all processes, in KiB.
    memory: usize,
    /// Private copies of the plugin.
    copies: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_notices_a_hundred_replacements() {
    let (folder, made, copies) = (Folder::new(), Folder::new(), Folder::new());
    let template = std::fs::read(made.compile("v", &[&format!("VERSION=\"{MARK}\"")])).unwrap();
    let broken = std::fs::read(made.compile("broken", &["FAIL_INITIALIZE"])).unwrap();
    let (plugin, beside) = (folder.path().join("plugin.so"), made.path().join("next"));
    let replace = |content: &[u8]| {
        std::fs::write(&beside, content).unwrap();
        put(&beside, &plugin);
    };
    replace(&numbered(&template, 0));
    let options = PluginHostOptions { copies: copies.path().to_owned(), ..options() };
    let plugins = Arc::new(host_with(&folder, options).await);
    let versions = Arc::new(Versions::default());
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let client = Client::greeted(&plugins).await;
        clients.push(tokio::spawn(call_until_the_end(client, versions.clone())));
    }

    let (mut before, mut waits) = (None, Vec::new());
    for number in 1..=REPLACEMENTS {
        if number == SETTLED + 1 {
            before = Some(at_rest(copies.path()).await);
        }
        let calls = versions.calls.load(Ordering::SeqCst);
        if number % BROKEN == 0 {
            // Each broken file differs from the others, or the host would not load it.
            replace(&[&broken[..], &number.to_le_bytes()].concat());
            refused(&plugins).await;
        } else {
            versions.written.store(number, Ordering::SeqCst);
            replace(&numbered(&template, number));
            let written = Instant::now();
            until(|| versions.seen.load(Ordering::SeqCst) == number).await;
            waits.push(written.elapsed());
        }
        // As many calls as there are clients, however busy the machine is.
        until(|| versions.calls.load(Ordering::SeqCst) >= calls + CLIENTS as u64).await;
    }
    let after = at_rest(copies.path()).await;
    versions.over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }

    // The median, since a busy machine may be late now and then.
    waits.sort();
    let wait = waits[waits.len() / 2];
    assert!(wait < Duration::from_secs(1), "a new version answers after {wait:?}");

    let before = before.unwrap();
    assert_eq!(after.processes, before.processes, "{before:?}, {after:?}");
    // The current version, and the previous one for a rollback.
    assert!(after.copies <= 2, "{after:?}");
    assert!(after.descriptors <= before.descriptors + 4, "{before:?}, {after:?}");
    assert!(after.memory <= before.memory + before.memory / 10, "{before:?}, {after:?}");
}

/// Calls without a pause. Each answer comes from the version that was current at the call, or a later one.
async fn call_until_the_end(mut client: Client, versions: Arc<Versions>) {
    while !versions.over.load(Ordering::SeqCst) {
        let current = versions.seen.load(Ordering::SeqCst);
        let answer = client.call("act", json!({})).await;
        let number = answer.strip_prefix("version-").and_then(|number| number.parse().ok());
        let number: u64 = number.unwrap_or_else(|| panic!("a call failed: {answer}"));
        let newest = versions.written.load(Ordering::SeqCst);
        assert!((current..=newest).contains(&number), "{number} is not in {current}..={newest}");
        assert!(client.heard.is_empty(), "no list changed: {:?}", client.heard);
        versions.seen.fetch_max(number, Ordering::SeqCst);
        versions.calls.fetch_add(1, Ordering::SeqCst);
    }
}

/// The plugin as version `number`.
fn numbered(template: &[u8], number: u64) -> Vec<u8> {
    let (mut made, version) = (template.to_vec(), format!("version-{number:06}"));
    let places: Vec<usize> = (0..made.len() - MARK.len())
        .filter(|at| made[*at..].starts_with(MARK.as_bytes()))
        .collect();
    assert!(!places.is_empty(), "the version is in the file");
    for at in places {
        made[at..at + version.len()].copy_from_slice(version.as_bytes());
    }
    made
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "it did not come to that");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the present file has been refused.
async fn refused(plugins: &PluginServer) {
    let says_so = || {
        let problems = plugins.problems();
        problems.iter().any(|problem| problem.what.contains("`Initialize` failed"))
    };
    until(says_so).await;
}

/// The resources in use once old workers are gone.
async fn at_rest(copies: &Path) -> Used {
    // One guard and its worker.
    until(|| workers(copies).len() <= 2).await;
    let everybody = [vec![PathBuf::from("/proc/self")], workers(copies)].concat();
    let entries = |folder: PathBuf| std::fs::read_dir(folder).map_or(0, Iterator::count);
    Used {
        processes: everybody.len(),
        descriptors: everybody.iter().map(|process| entries(process.join("fd"))).sum(),
        memory: everybody.iter().map(|process| resident(process)).sum(),
        copies: std::fs::read_dir(copies).unwrap().map(|own| entries(own.unwrap().path())).sum(),
    }
}

/// The guards and workers with a copy of ours in their arguments.
fn workers(copies: &Path) -> Vec<PathBuf> {
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let copies = copies.to_str().unwrap();
    let is_ours = |process: &PathBuf| {
        let order = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&order).contains(copies)
    };
    processes.filter(is_ours).collect()
}

/// The memory of a process, in KiB.
fn resident(process: &Path) -> usize {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
