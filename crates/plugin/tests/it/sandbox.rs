//! Tests of the sandbox: a plugin tries every known way out, and everything that must work within it.

use std::{
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
    process::{Child, Command, Stdio},
    sync::Arc,
};

use serde_json::json;
use switchboard_plugin::{
    PluginHostOptions, PluginRunOptions,
    worker::{WorkerLimits, WorkerSandbox},
};
use tempfile::TempDir;

use crate::{
    client::Client,
    source::{Folder, Source, host_with, options},
};

/// The files, sockets and processes that a plugin tries to reach.
struct Targets {
    folder: TempDir,
    abstract_name: String,
    process: Child,
    tcp: std::net::TcpListener,
    _sockets: (UnixListener, UnixListener, UnixDatagram),
}

/// Which target a way out is tried on.
#[derive(Debug, Clone, Copy)]
enum Target {
    Nothing,
    File,
    Socket,
    AbstractSocket,
    DatagramSocket,
    Process,
    Port,
}

/// Whether a way is open outside the sandbox, so that the test proves that the sandbox closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outside {
    Open,
    /// Depends on the kernel or on the user.
    Depends,
}

use Outside::{Depends, Open};
use Target::{AbstractSocket, DatagramSocket, File, Nothing, Port, Process, Socket};

const WAYS: [(&str, Target, Outside); 58] = [
    ("unix", Socket, Open),
    ("unix", AbstractSocket, Open),
    ("unix datagram pair", DatagramSocket, Open),
    ("vsock", Nothing, Depends),
    ("netlink user", Nothing, Depends),
    ("kill", Process, Open),
    ("kill group", Process, Open),
    ("tgkill", Process, Open),
    ("tkill", Process, Open),
    ("sigqueue", Process, Open),
    ("pidfd", Process, Open),
    ("pidfd signal", Process, Open),
    ("set owner", Process, Open),
    ("set owner ioctl", Process, Open),
    ("set signal", Nothing, Open),
    ("ptrace", Process, Depends),
    ("process memory", Process, Depends),
    ("limits of another", Process, Open),
    ("priority of another", Process, Open),
    ("affinity of another", Process, Open),
    ("terminal", Nothing, Depends),
    ("other terminal", Nothing, Depends),
    ("type", Nothing, Depends),
    ("type with high bits", Nothing, Depends),
    ("chmod", Nothing, Open),
    ("fchmod", Nothing, Open),
    ("fchmodat", Nothing, Open),
    ("fchmodat2", Nothing, Depends),
    ("chown", Nothing, Open),
    ("lchown", Nothing, Open),
    ("fchown", Nothing, Open),
    ("fchownat", Nothing, Open),
    ("setxattr", Nothing, Depends),
    ("fsetxattr", Nothing, Depends),
    ("removexattr", Nothing, Depends),
    ("utimensat", Nothing, Open),
    ("utimes", Nothing, Open),
    ("attributes", Nothing, Depends),
    ("write", File, Open),
    ("read", File, Open),
    ("make", File, Open),
    ("link", File, Open),
    ("rename", File, Open),
    ("truncate", File, Open),
    ("truncate by reading", File, Open),
    ("openat2", File, Open),
    ("remove", File, Open),
    ("watch", Nothing, Open),
    ("execute", Nothing, Open),
    ("fork", Nothing, Open),
    ("clone3", Nothing, Open),
    ("execute memory", Nothing, Depends),
    ("io_uring", Nothing, Depends),
    ("namespace", Nothing, Depends),
    ("shared memory", Nothing, Depends),
    ("keys", Nothing, Depends),
    ("handle", Nothing, Depends),
    ("x32", Nothing, Depends),
];

/// Operations that must work in the sandbox as well as outside.
const NEEDS: [(&str, Target); 11] = [
    ("can signal itself", Nothing),
    ("can start threads", Nothing),
    ("can wait", Nothing),
    ("can use a pair", Nothing),
    ("can connect", Port),
    ("can look up names", Nothing),
    ("can read", Nothing),
    ("can write to nothing", Nothing),
    ("can map memory", Nothing),
    ("can ask about itself", Nothing),
    ("can tell what is no terminal", Nothing),
];

/// Errors of a refused call; other errors mean that the sandbox let the call through.
const REFUSED: [&str; 3] = ["EPERM", "EACCES", "ENOSYS"];

#[tokio::test(flavor = "multi_thread")]
async fn every_way_out_is_closed() {
    let (folder, targets) = (compiled(), Targets::new());
    let mut plugin = attempts(&folder, WorkerSandbox::Closed).await;
    for (how, target, _) in WAYS {
        let found = plugin.attempt(how, &targets.name(target)).await;
        assert!(REFUSED.contains(&&*found), "{how} ({target:?}): {found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_ways_are_open_outside() {
    let (folder, targets) = (compiled(), Targets::new());
    let mut plugin = attempts(&folder, WorkerSandbox::Open).await;
    for (how, target, _) in WAYS.iter().filter(|(_, _, outside)| *outside == Open) {
        let found = plugin.attempt(how, &targets.name(*target)).await;
        assert_eq!(found, "done", "{how} ({target:?})");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_plugins_need_works_in_it() {
    let (folder, targets) = (compiled(), Targets::new());
    for sandbox in [WorkerSandbox::Open, WorkerSandbox::Closed] {
        let mut plugin = attempts(&folder, sandbox).await;
        for (how, target) in NEEDS {
            let found = plugin.attempt(how, &targets.name(target)).await;
            assert_eq!(found, "done", "{how}, {sandbox:?}");
        }
    }
}

/// With or without a sandbox: a worker in the session of a terminal could type for the terminal's user.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_has_a_session_of_its_own() {
    let folder = compiled();
    for sandbox in [WorkerSandbox::Open, WorkerSandbox::Closed] {
        let mut plugin = attempts(&folder, sandbox).await;
        assert_eq!(plugin.attempt("own session", "").await, "done", "{sandbox:?}");
        let terminal = plugin.attempt("terminal", "").await;
        assert!(["ENXIO", "EACCES"].contains(&&*terminal), "{sandbox:?}: {terminal}");
    }
}

/// The numbers of the 32-bit entry mean other calls than those that the filter knows.
#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn a_call_through_the_32_bit_entry_ends_the_worker() {
    let folder = compiled();
    let mut plugin = attempts(&folder, WorkerSandbox::Closed).await;
    let found = plugin.attempt("32 bits", "").await;
    assert!(found.contains("killed by SIGSYS"), "{found}");
}

fn compiled() -> Folder {
    let folder = Folder::new();
    folder.compile_of(Source::Escape, "escape", &[]);
    folder
}

async fn attempts(folder: &Folder, sandbox: WorkerSandbox) -> Client {
    let limits = WorkerLimits { sandbox, ..WorkerLimits::default() };
    let terms = PluginRunOptions { limits, ..PluginRunOptions::default() };
    let plugins = Arc::new(host_with(folder, PluginHostOptions { terms, ..options() }).await);
    assert_eq!(plugins.problems(), [], "these tests need a kernel with Landlock");
    Client::greeted(&plugins).await
}

// === impl Client ===

impl Client {
    async fn attempt(&mut self, how: &str, target: &str) -> String {
        self.call("escape", json!({ "how": how, "target": target })).await
    }
}

// === impl Targets ===

impl Targets {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "text").unwrap();
        let abstract_name = format!("switchboard-sandbox-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = (
            UnixListener::bind(folder.path().join("socket")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
            UnixDatagram::bind(folder.path().join("datagrams")).unwrap(),
        );
        // Ends when its standard input closes, and so with the test.
        let mut process = Command::new("cat");
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let process = process.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let tcp = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        Self { folder, abstract_name, process, tcp, _sockets: sockets }
    }

    fn name(&self, target: Target) -> String {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        match target {
            Nothing => String::new(),
            File => path("file"),
            Socket => path("socket"),
            AbstractSocket => format!("@{}", self.abstract_name),
            DatagramSocket => path("datagrams"),
            Process => self.process.id().to_string(),
            Port => self.tcp.local_addr().unwrap().port().to_string(),
        }
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
