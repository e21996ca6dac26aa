//! The way to a worker: started, its first words heard, its voice followed to the end.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use switchboard_process as process;
use switchboard_process::{Command, Process, StderrOptions};
use switchboard_wire::{
    envelope::{Message, Parsed},
    link::{Frame, LinkReader, lines},
};
use tokio::{sync::mpsc, task::coop::consume_budget, time::timeout};

use crate::{
    fault::Fault,
    flood::{FloodGauge, MeteredStderr, MeteredStdout},
    options::Options,
    running::{Calls, Cancellation, News, Sorted, Worker},
    told::{Failed, Ready, said},
    worker::{self, Order},
};

/// The largest message of a worker.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// How long the end of a worker may take to be told once its channel has closed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What a worker sends, and where it goes.
struct Voice {
    reader: LinkReader,
    gauge: Arc<FloodGauge>,
    seat: usize,
    news: mpsc::Sender<News>,
}

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
        let gauge = Arc::new(FloodGauge::new());
        let log = options.logs.as_ref().map(|logs| logs.sink(&order.load.name(), "plugins"));
        let stderr = MeteredStderr { log, gauge: gauge.clone() };
        let stderr = StderrOptions { sink: Some(Arc::new(stderr)) };
        let order =
            serde_json::to_string(order).map_err(|error| Fault::Spawn(error.to_string()))?;
        let command = Command {
            args: vec![worker::COMMAND.into(), order.into()],
            env: options.env.clone(),
            ..Command::new(options.program.clone())
        };
        let spawned = process::spawn(command, &options.guard, stderr).await;
        let spawned = spawned.map_err(|error| Fault::Spawn(told(&error)))?;
        let (writer, mut reader, writing) = lines::link(
            MeteredStdout::new(spawned.stdout, gauge.clone()),
            spawned.stdin,
            MAX_MESSAGE_BYTES,
        );
        tokio::spawn(writing);
        let ready = match first(&mut reader).await {
            Some(ready) => ready?,
            None => return Err(ended(&spawned.process).await),
        };
        let calls = if ready.thread_safe { Calls::Many } else { Calls::One };
        let cancellation =
            if ready.abi == 1 { Cancellation::EndsWorker } else { Cancellation::TellsPlugin };
        let worker = Arc::new(Self::new(writer, spawned.process, calls, cancellation));
        let voice = Voice { reader, gauge, seat, news: news.clone() };
        tokio::spawn(voice.follow(Arc::downgrade(&worker)));
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

// === impl Voice ===

impl Voice {
    /// Sorts what the worker sends until it ends, is not wanted any more, or floods.
    async fn follow(mut self, worker: Weak<Worker>) {
        while let Some(frame) = self.next().await {
            let Some(worker) = worker.upgrade() else { return };
            self.sort(&worker, frame);
            // Many messages come with one read: others have their turn between them.
            consume_budget().await;
        }
        // A worker without a call and without a place is not asked about.
        let Some(worker) = worker.upgrade() else { return };
        let flooded = self.gauge.is_flooded();
        worker.end(if flooded { Fault::Flooded } else { ended(&worker.process).await });
    }

    /// The next message, unless the worker has ended or floods.
    async fn next(&mut self) -> Option<Frame> {
        tokio::select! {
            biased;
            () = self.gauge.flooded() => None,
            frame = self.reader.next() => frame.ok().flatten(),
        }
    }

    fn sort(&self, worker: &Worker, frame: Frame) {
        let bytes = match &frame {
            Frame::Text(text) => text.len(),
            Frame::Broken(_) => 0,
        };
        let sorted = match frame.parse() {
            Ok(Parsed::One(message)) => worker.sort(message, self.seat, &self.news),
            _ => {
                tracing::debug!("a worker sent a line that is no message");
                Sorted::Unasked
            }
        };
        if sorted == Sorted::Answer {
            self.gauge.credit_answer(bytes);
        }
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
