//! Runs one call and follows it: progress line, log messages, questions, Ctrl-C.
//!
//! Used by `call`, `read`, `prompt` and `complete`. Questions are asked by `ask`; it does not print the result.

use std::time::{Duration, Instant};

use switchboard_core::{CallError, CallEvent, CallOutcome, Request};
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use crate::ask::CallQuestions;
use crate::command_engine::{CommandEngine, SideEvent};
use crate::printer::{DIM, Printer, Waiting};
use crate::wait;

/// How often the elapsed time on the progress line is updated.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// The progress line on the terminal.
struct ProgressLine<'a> {
    printer: &'a Printer,
    what: &'a str,
    began: Instant,
    /// The latest progress, shown instead of the elapsed time.
    progress: Option<Raw>,
    waiting: Option<Waiting>,
}

/// Makes a call and follows it to its end.
pub(super) async fn follow(
    hub: &CommandEngine,
    request: Request,
    what: &str,
    printer: &Printer,
) -> Result<CallOutcome, CallError> {
    let request = if printer.is_verbose() { request.with_log_level("debug") } else { request };
    let mut line =
        ProgressLine { printer, what, began: Instant::now(), progress: None, waiting: None };
    let mut asking = CallQuestions::new(printer);
    // Servers of older versions send questions and logs beside the call.
    let mut asides = hub.asides();
    let mut running = hub.call(request);
    loop {
        tokio::select! {
            event = running.next() => match event? {
                CallEvent::Done(outcome) => return Ok(*outcome),
                CallEvent::Progress(params) => line.progress(params, &asking),
                CallEvent::Log(params) => line.log(&params),
                CallEvent::Question(question) => {
                    line.clear();
                    asking.push(question);
                }
                // Tasks and handles are not requested here: the person at the terminal answers questions.
                CallEvent::Notification(_)
                | CallEvent::Task(_)
                | CallEvent::NeedsInput(_)
                | CallEvent::BecameTask(_) => {}
            },
            aside = asides.next() => match aside {
                SideEvent::Question(question) => {
                    line.clear();
                    asking.push(question);
                }
                SideEvent::Log(params) => line.log(&params),
            },
            () = asking.wait_until_answered(), if asking.is_busy() => {}
            () = tokio::time::sleep(TICK_INTERVAL), if !asking.is_busy() => line.draw(),
        }
    }
}

// === impl ProgressLine ===

impl ProgressLine<'_> {
    fn progress(&mut self, params: Raw, asking: &CallQuestions<'_>) {
        self.progress = Some(params);
        // The progress line must not overwrite a question.
        if !asking.is_busy() {
            self.draw();
        }
    }

    fn draw(&mut self) {
        self.clear();
        let text = match &self.progress {
            Some(params) => wait::progress_line(self.what, params),
            None => format!("{} … {} s", self.what, self.began.elapsed().as_secs()),
        };
        self.waiting = self.printer.waiting(&text);
    }

    fn clear(&mut self) {
        self.waiting = None;
    }

    /// Prints a log message of the server, with `--verbose`.
    fn log(&mut self, params: &Raw) {
        if !self.printer.is_verbose() {
            return;
        }
        self.clear();
        let member = |key| params.get(key).ok().flatten();
        let text = |key| member(key).and_then(|raw| raw.to_text());
        let level = text("level").unwrap_or_else(|| "log".to_owned());
        let logger = text("logger").map(|logger| format!(" {logger}")).unwrap_or_default();
        let data = member("data").unwrap_or_else(Raw::null);
        let data = data.to_text().unwrap_or_else(|| data.to_string());
        let said = format!("[{level}{logger}] {data}");
        self.printer.done(format_args!("{DIM}{}{DIM:#}", sanitize::sanitize_line(&said)));
    }
}
