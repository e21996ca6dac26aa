//! The way to a worker: started, its first words heard, its voice followed to the end.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use switchboard_wire::{
    envelope::{Message, Parsed},
    link::{LinkReader, lines},
    process::{self, Command, Process, StderrOptions},
};
use tokio::{sync::mpsc, time::timeout};

use crate::{
    fault::Fault,
    options::Options,
    running::{Calls, News, Worker},
    told::{Failed, Ready, said},
    worker::{self, Order},
};

/// The largest message of a plugin.
const LARGEST: usize = 64 << 20;
/// How long the end of a worker may take to be told once its channel has closed.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Worker {
    /// Starts a worker and waits until its plugin is ready.
    pub(crate) async fn start(
        order: &Order,
        options: &Options,
        seat: usize,
        news: &mpsc::Sender<News>,
    ) -> Result<(Arc<Self>, Ready), Fault> {
        let patience = options.times.start;
        let starting = Self::launch(order, options, seat, news);
        timeout(patience, starting).await.unwrap_or(Err(Fault::Slow(patience)))
    }

    async fn launch(
        order: &Order,
        options: &Options,
        seat: usize,
        news: &mpsc::Sender<News>,
    ) -> Result<(Arc<Self>, Ready), Fault> {
        let stderr = StderrOptions {
            sink: options.logs.as_ref().map(|logs| logs.sink(&order.load.name(), "plugins")),
        };
        let order =
            serde_json::to_string(order).map_err(|error| Fault::Spawn(error.to_string()))?;
        let command = Command {
            args: vec![worker::COMMAND.into(), order.into()],
            env: options.env.clone(),
            ..Command::new(options.program.clone())
        };
        let spawned = process::spawn(command, &options.guard, stderr).await;
        let spawned = spawned.map_err(|error| Fault::Spawn(told(&error)))?;
        let (writer, mut reader, writing) = lines::link(spawned.stdout, spawned.stdin, LARGEST);
        tokio::spawn(writing);
        let ready = match first(&mut reader).await {
            Some(ready) => ready?,
            None => return Err(ended(&spawned.process).await),
        };
        let calls = if ready.thread_safe { Calls::Many } else { Calls::One };
        let worker = Arc::new(Self::new(writer, spawned.process, calls));
        tokio::spawn(read(Arc::downgrade(&worker), reader, seat, news.clone()));
        Ok((worker, ready))
    }
}

/// The first thing a worker says; `None` if it says nothing.
async fn first(reader: &mut LinkReader) -> Option<Result<Ready, Fault>> {
    let frame = reader.next().await.ok().flatten()?;
    let Ok(Parsed::One(Message::Notification(note))) = frame.parse() else { return None };
    let params = note.params()?;
    match note.method().as_ref() {
        said::READY => params.decode().ok().map(Ok),
        said::FAILED => {
            let Failed { stage, why } = params.decode().ok()?;
            Some(Err(Fault::Refused { stage, why }))
        }
        _ => None,
    }
}

async fn read(worker: Weak<Worker>, mut reader: LinkReader, seat: usize, news: mpsc::Sender<News>) {
    while let Ok(Some(frame)) = reader.next().await {
        let Some(worker) = worker.upgrade() else { return };
        match frame.parse() {
            Ok(Parsed::One(message)) => worker.sort(message, seat, &news),
            _ => tracing::debug!("a worker said something that is no message"),
        }
    }
    // Nobody asks after one that is not wanted any more.
    if let Some(worker) = worker.upgrade() {
        worker.end(ended(&worker.process).await);
    }
}

async fn ended(process: &Process) -> Fault {
    let exit = timeout(LAST_WORDS, process.exited()).await;
    let exit = exit.unwrap_or(process::Exit::Unknown);
    Fault::Ended { exit, stderr: process.stderr_tail() }
}

/// An error and its causes in one line.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
