//! Starting a worker process: spawn, first message, and the task that reads its output.
//!
//! Used by `slot`, through `Worker::start`. It does not decide when to start a worker (`slot`).

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use switchboard_process as process;
use switchboard_process::{Process, ProcessCommand, StderrOptions};
use switchboard_wire::{
    envelope::{MessageOrBatch, RpcMessage},
    link::{LinkFrame, LinkReader, lines},
};
use tokio::{sync::mpsc, task::coop::consume_budget, time::timeout};

use crate::{
    fault::PluginFault,
    flood::{FloodGauge, MeteredStderr, MeteredStdout},
    messages::{WorkerFailed, WorkerReady, worker_method},
    options::PluginHostOptions,
    worker::{self, WorkerOrder},
    worker_process::{
        CallConcurrency, CancellationEffect, MessageKind, Worker, WorkerNotification,
    },
};

/// The largest message of a worker.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// How long to wait for the exit of a worker whose channel has closed.
const WORKER_END_TIMEOUT: Duration = Duration::from_secs(2);

/// A worker's output, and where its notifications go.
struct WorkerOutput {
    reader: LinkReader,
    gauge: Arc<FloodGauge>,
    slot_index: usize,
    news: mpsc::Sender<WorkerNotification>,
}

impl Worker {
    /// Starts a worker and waits until its plugin is ready.
    pub(crate) async fn start(
        order: &WorkerOrder,
        options: &PluginHostOptions,
        slot_index: usize,
        news: &mpsc::Sender<WorkerNotification>,
    ) -> Result<(Arc<Self>, WorkerReady), PluginFault> {
        let patience = options.times.start;
        let starting = Self::launch(order, options, slot_index, news);
        timeout(patience, starting).await.unwrap_or(Err(PluginFault::Slow(patience)))
    }

    async fn launch(
        order: &WorkerOrder,
        options: &PluginHostOptions,
        slot_index: usize,
        news: &mpsc::Sender<WorkerNotification>,
    ) -> Result<(Arc<Self>, WorkerReady), PluginFault> {
        let gauge = Arc::new(FloodGauge::new());
        let log = options.logs.as_ref().map(|logs| logs.sink(&order.load.name(), "plugins"));
        let stderr = MeteredStderr { log, gauge: gauge.clone() };
        let stderr = StderrOptions { sink: Some(Arc::new(stderr)), ..StderrOptions::default() };
        let order =
            serde_json::to_string(order).map_err(|error| PluginFault::Spawn(error.to_string()))?;
        let command = ProcessCommand {
            args: vec![worker::WORKER_COMMAND.into(), order.into()],
            env: options.env.clone(),
            ..ProcessCommand::new(options.program.clone())
        };
        let spawned = process::spawn(command, &options.guard, stderr).await;
        let spawned = spawned.map_err(|error| PluginFault::Spawn(error_chain(&error)))?;
        let (writer, mut reader, writing) = lines::line_link(
            MeteredStdout::new(spawned.stdout, gauge.clone()),
            spawned.stdin,
            MAX_MESSAGE_BYTES,
        );
        tokio::spawn(writing);
        let ready = match read_first_message(&mut reader).await {
            Some(ready) => ready?,
            None => return Err(exit_fault(&spawned.process).await),
        };
        let calls = if ready.thread_safe { CallConcurrency::Many } else { CallConcurrency::One };
        let cancellation = if ready.abi == 1 {
            CancellationEffect::EndsWorker
        } else {
            CancellationEffect::TellsPlugin
        };
        let worker = Arc::new(Self::new(writer, spawned.process, calls, cancellation));
        let voice = WorkerOutput { reader, gauge, slot_index, news: news.clone() };
        tokio::spawn(voice.follow(Arc::downgrade(&worker)));
        Ok((worker, ready))
    }
}

/// Reads the worker's first message; `None` if there is none.
async fn read_first_message(reader: &mut LinkReader) -> Option<Result<WorkerReady, PluginFault>> {
    let frame = reader.next().await.ok().flatten()?;
    let Ok(MessageOrBatch::One(RpcMessage::Notification(note))) = frame.parse() else {
        return None;
    };
    let params = note.params()?;
    match note.method().as_ref() {
        worker_method::READY => params.decode().ok().map(Ok),
        worker_method::FAILED => {
            let WorkerFailed { stage, why } = params.decode().ok()?;
            Some(Err(PluginFault::Refused { stage, why }))
        }
        _ => None,
    }
}

// === impl WorkerOutput ===

impl WorkerOutput {
    /// Routes the worker's messages until the worker ends, is dropped, or floods.
    async fn follow(mut self, worker: Weak<Worker>) {
        while let Some(frame) = self.next().await {
            let Some(worker) = worker.upgrade() else { return };
            self.route_frame(&worker, frame);
            // One read may yield many messages: give other tasks a turn between them.
            consume_budget().await;
        }
        // A worker without calls and slot has been dropped; its exit does not matter.
        let Some(worker) = worker.upgrade() else { return };
        let flooded = self.gauge.is_flooded();
        worker.end(if flooded { PluginFault::Flooded } else { exit_fault(&worker.process).await });
    }

    /// The next message; `None` if the worker has ended or floods.
    async fn next(&mut self) -> Option<LinkFrame> {
        tokio::select! {
            biased;
            () = self.gauge.wait_for_flood() => None,
            frame = self.reader.next() => frame.ok().flatten(),
        }
    }

    fn route_frame(&self, worker: &Worker, frame: LinkFrame) {
        let bytes = match &frame {
            LinkFrame::Text(text) => text.len(),
            LinkFrame::Broken(_) => 0,
        };
        let sorted = match frame.parse() {
            Ok(MessageOrBatch::One(message)) => {
                worker.route_message(message, self.slot_index, &self.news)
            }
            _ => {
                tracing::debug!("a worker sent a line that is no message");
                MessageKind::Unasked
            }
        };
        if sorted == MessageKind::Answer {
            self.gauge.credit_answer(bytes);
        }
    }
}

async fn exit_fault(process: &Process) -> PluginFault {
    let exit = timeout(WORKER_END_TIMEOUT, process.wait_exit()).await;
    let exit = exit.unwrap_or(process::ProcessExit::Unknown);
    PluginFault::Ended { exit, stderr: process.stderr_tail() }
}

/// An error and its causes in one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
