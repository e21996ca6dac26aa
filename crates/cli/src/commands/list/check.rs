//! Connecting to every server that is ready, so many at once.

use std::ffi::OsString;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::{Desired, Transport};
use switchboard_wire::client::Target;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::connect::{self, Headers};
use super::progress::Progress;
use super::row::Status;
use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;
use crate::target;

const TIMEOUT: &str = "MCP_TIMEOUT";
const LOCAL: &str = "MCP_SERVER_CONNECTION_BATCH_SIZE";
const REMOTE: &str = "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE";

/// How many at once, and how long each may take.
struct Limits {
    local: Arc<Semaphore>,
    remote: Arc<Semaphore>,
    timeout: Duration,
}

/// Connects to the servers that are ready and tells of each as soon as it is known.
pub(super) async fn all(
    desired: &Desired,
    caller: &Caller,
    printer: &Printer,
    mut tell: impl FnMut(usize, Status),
) -> Result<(), Failure> {
    let limits = Limits::new(desired, caller);
    let variables = variables(desired, caller);
    let (sender, mut results) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    let mut progress = Progress::new(printer);
    for (index, server) in desired.servers.iter().enumerate() {
        let Some(entry) = server.entry() else {
            continue;
        };
        progress.begin(index, &server.name);
        let target = target::of_entry(server, entry, &variables, caller.catalogue.as_ref());
        let is_local = matches!(entry.transport, Transport::Stdio(_));
        let slots = if is_local { &limits.local } else { &limits.remote };
        let check = connect::Check {
            name: server.name.clone(),
            slots: slots.clone(),
            timeout: limits.timeout,
            headers: headers(&entry.transport),
        };
        tasks.spawn(one(index, target, check, sender.clone()));
    }
    drop(sender);
    while let Some((index, status)) = progress.until(results.recv()).await {
        progress.end(index);
        tell(index, status);
    }
    // Everybody has been told of; what is left is saying goodbye to the servers.
    while tasks.join_next().await.is_some() {}
    Ok(())
}

async fn one(
    index: usize,
    target: Result<Target, Failure>,
    check: connect::Check,
    results: mpsc::Sender<(usize, Status)>,
) {
    let (status, client) = match target {
        Ok(target) => check.run(target).await,
        Err(failure) => {
            let message = format!("cannot connect to `{}`", check.name);
            (Status::Failed(failure.under(message)), None)
        }
    };
    // Nobody listens any more only when the whole command ends.
    let _ = results.send((index, status)).await;
    drop(results);
    if let Some(client) = client {
        connect::close(&client).await;
    }
}

fn headers(transport: &Transport) -> Headers {
    match transport {
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote)
            if remote.headers_helper.is_some() =>
        {
            Headers::Helper
        }
        _ => Headers::Written,
    }
}

/// The caller's environment with what settings put on top of it.
fn variables(desired: &Desired, caller: &Caller) -> Vec<(OsString, OsString)> {
    let set = desired.settings.env.iter();
    let set: Vec<(OsString, OsString)> =
        set.map(|(name, value)| (name.into(), value.value.clone().into())).collect();
    let ours = caller.variables.iter();
    let kept = ours.filter(|(name, _)| !set.iter().any(|(other, _)| other == name));
    kept.cloned().chain(set.iter().cloned()).collect()
}

// === impl Limits ===

impl Limits {
    fn new(desired: &Desired, caller: &Caller) -> Self {
        let slots = |name, usual| {
            let number: usize = number(name, desired, caller).unwrap_or(usual);
            Arc::new(Semaphore::new(number.clamp(1, 1000)))
        };
        let timeout = number(TIMEOUT, desired, caller).filter(|millis| *millis > 0);
        Self {
            local: slots(LOCAL, 3),
            remote: slots(REMOTE, 20),
            timeout: Duration::from_millis(timeout.unwrap_or(30_000)),
        }
    }
}

/// Variables that should hold a number and do not, so that the usual one is used.
pub(super) fn not_numbers(desired: &Desired, caller: &Caller) -> Vec<Notice> {
    let is_wrong = |name: &&str| {
        text(name, desired, caller).is_some_and(|text| text.trim().parse::<u64>().is_err())
    };
    let names = [TIMEOUT, LOCAL, REMOTE].into_iter().filter(is_wrong);
    names
        .map(|name| {
            let at = desired.settings.env.get(name).map(|value| value.at.clone());
            Notice::warning(format!("`{name}` is not a number, and is not used")).placed(at)
        })
        .collect()
}

/// A number from the settings' variables, else from the caller's.
fn number<T: FromStr>(name: &str, desired: &Desired, caller: &Caller) -> Option<T> {
    text(name, desired, caller)?.trim().parse().ok()
}

fn text<'a>(name: &str, desired: &'a Desired, caller: &'a Caller) -> Option<&'a str> {
    let set = desired.settings.env.get(name).map(|value| &*value.value);
    set.or_else(|| caller.variable(name))
}
