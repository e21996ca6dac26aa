//! The other side: our own binary again, which loads one plugin and answers for it.
//!
//! A plugin is foreign code. It may crash, hang, leak, print, throw, so it is never loaded into the hub. A worker gives
//! up what it does not need, loads its plugin, says what the plugin offers, and then answers requests, one on each line
//! of its standard input, until that ends. It holds no tokio and knows no client.
//!
//! `unsafe` is in `v1`, `v2` and `library`, which speak with the plugin through pointers.

mod channel;
mod crew;
mod elf;
mod library;
mod limits;
#[cfg(target_os = "linux")]
mod sandbox;
mod v1;
mod v2;

use std::{
    ffi::OsString,
    io::{self, BufRead as _},
    os::fd::OwnedFd,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use switchboard_plugin_sdk::abi;
use switchboard_wire::{
    envelope::{Message, Parsed, Request, RpcError, code, parse},
    json::Raw,
    meta::method,
};

use crate::told::{Failed, Ready, said};
use channel::Channel;
use crew::Crew;
pub(crate) use crew::MOST as MOST_AT_ONCE;

/// The word that makes our binary a worker.
pub const COMMAND: &str = "plugin-worker";

/// Plugins that are part of the program.
pub type Builtins = &'static [Builtin];

/// A plugin that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// The table a worker reads.
    pub table: fn() -> &'static abi::v2::Plugin,
    /// What it offers, for a host that need not start a worker to know.
    pub plugin: fn() -> switchboard_plugin_sdk::Plugin,
}

/// What a worker is told when it is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// What to load.
    pub load: Load,
    /// What it may use.
    pub limits: Limits,
}

/// What to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Load {
    /// A shared object that nobody will write to.
    File(PathBuf),
    /// A plugin that is part of the program.
    Builtin(String),
}

/// What a worker may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Bytes of memory it may write to (1 GiB).
    pub memory: u64,
    /// Descriptors it may hold (256).
    pub files: u64,
    /// What it may reach (everything that its user may).
    pub sandbox: Sandbox,
}

/// What a worker may reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Sandbox {
    /// What its user may.
    #[default]
    Open,
    /// What a program needs to run, read only, and the network. It starts no other program.
    Closed,
}

/// A plugin that answers.
trait Answerer: Send + Sync {
    /// What it is and offers.
    fn ready(&self) -> Result<Ready, Failed>;

    /// Answers a request. `None`: it was cancelled, and nobody waits.
    fn answer(&self, call: &channel::Call, request: &Request) -> Option<Result<Raw, RpcError>>;

    /// Somebody wants to hear of a resource, or nobody does any more.
    fn subscribe(&self, uri: &str, on: bool);

    /// Ends it.
    fn end(&self);
}

/// Becomes a worker and never returns, if that is what this process was started as.
pub fn run_if_worker(builtins: Builtins) {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == COMMAND) {
        let code = run(words.next(), builtins);
        // No destructor of a plugin's is worth waiting for.
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
}

fn run(order: Option<OsString>, builtins: Builtins) -> ExitCode {
    // Without a channel nobody is there to be told.
    let Ok((input, output)) = limits::take_over_channel() else { return ExitCode::FAILURE };
    let channel = Arc::new(Channel::new(output));
    let order = order.and_then(|order| serde_json::from_str::<Order>(order.to_str()?).ok());
    let started = order
        .ok_or_else(|| Failed::new("order", "the worker was not told what to load"))
        .and_then(|order| start(&order, &channel, builtins));
    let served = match started {
        Ok((plugin, ready)) => serve(input, &channel, &plugin, &ready),
        Err(failed) => Err(failed),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            channel.say(&said(said::FAILED, &failed));
            ExitCode::FAILURE
        }
    }
}

fn start(
    order: &Order,
    channel: &Arc<Channel>,
    builtins: Builtins,
) -> Result<(Arc<dyn Answerer>, Ready), Failed> {
    let limited = limits::apply(order.limits).and_then(|()| limits::await_the_end());
    limited.map_err(|error| Failed::new("limits", error.to_string()))?;
    if order.limits.sandbox == Sandbox::Closed {
        close_in(&order.load).map_err(|why| Failed::new("sandbox", why))?;
    }
    let plugin = load(&order.load, channel, builtins)?;
    let ready = plugin.ready()?;
    Ok((plugin, ready))
}

#[cfg(target_os = "linux")]
use sandbox::close_in;

/// There is nothing to close a process in with.
#[cfg(not(target_os = "linux"))]
fn close_in(_load: &Load) -> Result<(), String> {
    Err("plugins can be closed in on Linux only".into())
}

fn load(
    load: &Load,
    channel: &Arc<Channel>,
    builtins: Builtins,
) -> Result<Arc<dyn Answerer>, Failed> {
    match load {
        Load::Builtin(name) => {
            let found = builtins.iter().find(|known| known.name == name);
            let found = found.ok_or_else(|| {
                Failed::new("load", format!("no plugin called `{name}` is part of the program"))
            })?;
            Ok(Arc::new(v2::Plugin::of_program((found.table)(), channel)?))
        }
        Load::File(path) => {
            elf::check(path)?;
            let library = library::Library::open(path)?;
            match library.version()? {
                library::Version::One(symbols) => Ok(Arc::new(v1::Plugin::new(symbols, channel)?)),
                library::Version::Two(entry) => {
                    Ok(Arc::new(v2::Plugin::of_library(entry, channel)?))
                }
            }
        }
    }
}

/// Answers until the host closes its end. The thread that loaded the plugin is the first to answer.
/// Answers until the host is gone. It is ready once somebody hears.
fn serve(
    input: OwnedFd,
    channel: &Arc<Channel>,
    plugin: &Arc<dyn Answerer>,
    ready: &Ready,
) -> Result<(), Failed> {
    let crew = Arc::new(Crew::new(if ready.thread_safe { crew::MOST } else { 1 }));
    let (ears, hands, answerer) = (channel.clone(), crew.clone(), plugin.clone());
    let reading = std::thread::Builder::new().name("reader".into()).spawn(move || {
        read(input, &ears, &hands, &answerer);
        hands.end();
    });
    reading
        .map_err(|error| Failed::new("start", format!("it has no room for a thread: {error}")))?;
    channel.say(&said(said::READY, ready));
    crew.work();
    plugin.end();
    Ok(())
}

fn read(input: OwnedFd, channel: &Arc<Channel>, crew: &Arc<Crew>, plugin: &Arc<dyn Answerer>) {
    const BUFFER: usize = 64 * 1024;
    let mut input = io::BufReader::with_capacity(BUFFER, std::fs::File::from(input));
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // The host writes what it has checked; anything else has nobody to be told.
        if let Ok(text) = std::str::from_utf8(&line)
            && let Ok(Parsed::One(message)) = parse(text.trim_end().to_owned().into())
        {
            take(message, channel, crew, plugin);
        }
    }
}

fn take(message: Message, channel: &Arc<Channel>, crew: &Arc<Crew>, plugin: &Arc<dyn Answerer>) {
    match message {
        Message::Request(request) => {
            let call = channel.begin(request.id().as_u64().unwrap_or_default());
            let (channel, plugin) = (channel.clone(), plugin.clone());
            crew.add(Box::new(move || {
                let outcome = match request.method().as_ref() {
                    said::DESCRIBE => Some(describe(&*plugin)),
                    _ => plugin.answer(&call, &request),
                };
                channel.finish(&call, outcome);
            }));
        }
        Message::Response(response) => channel.answered(&response),
        Message::Notification(note) => match note.method().as_ref() {
            method::CANCELLED => {
                let id = note.params().and_then(|params| params.get("requestId").ok().flatten());
                let id = id.and_then(|id| id.as_str().parse().ok());
                channel.cancel(id.unwrap_or_default());
            }
            subscribe @ (said::SUBSCRIBE | said::UNSUBSCRIBE) => {
                let uri = note.params().and_then(|params| params.get("uri").ok().flatten());
                let (uri, on) = (uri.and_then(|uri| uri.to_text()), subscribe == said::SUBSCRIBE);
                let plugin = plugin.clone();
                crew.add(Box::new(move || plugin.subscribe(&uri.unwrap_or_default(), on)));
            }
            _ => {}
        },
    }
}

/// What the plugin offers by now.
fn describe(plugin: &dyn Answerer) -> Result<Raw, RpcError> {
    let wrong = |why: String| RpcError::new(code::INTERNAL_ERROR, why);
    let ready = plugin.ready().map_err(|failed| wrong(failed.why))?;
    Raw::of(&ready).map_err(|error| wrong(error.to_string()))
}

// === impl Load ===

impl Load {
    /// What it is called where its own name is not known yet.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Builtin(name) => name.clone(),
            Self::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 1 << 30, files: 256, sandbox: Sandbox::Open }
    }
}
