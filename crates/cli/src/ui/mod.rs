//! `switchboard ui`: the full-screen terminal UI of the hub.
//!
//! [`app`] is a pure function from events to effects, [`view`] draws the model, [`input`] interprets keys and lines,
//! [`link`] speaks with the hub, [`terminal`] owns the terminal; [`top`] is `switchboard top`. Used by `commands`. It
//! holds no logic about servers: every action is a request of the admin API (`docs/reference/admin.md`).

mod app;
#[cfg(test)]
mod fixture;
mod input;
mod link;
mod terminal;
mod top;
mod view;

use std::io;

use switchboard_hub::admin::ResultLimit;
use switchboard_hub::attach::{self, AttachOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::args::{Global, Ui};
use crate::report::{Failure, FailureKind};
use crate::surroundings::{self, Caller};
use crate::wait::EndSignals;
use crate::{ask, command_engine};
use app::{Effect, Event, Model, Notify};
use input::{History, HistoryFile};
use link::Link;
pub(crate) use terminal::is_there as has_terminal;
use terminal::{Palette, Terminal};
pub(crate) use top::{run as run_top, table as top_table, unix_seconds};
pub(crate) use view::top::text as top_text;

/// The most events that may wait for the main loop.
const EVENTS: usize = 1024;

/// The running UI: model, terminal and link.
struct Running {
    model: Model,
    terminal: Terminal,
    link: Link,
    kept: HistoryFile,
}

/// How the main loop continues after some effects.
enum Then {
    GoOn,
    End,
}

pub(crate) async fn run(
    ui: &Ui,
    global: &Global,
    caller: &Caller,
    options: AttachOptions,
) -> Result<(), Failure> {
    check(global, caller)?;
    let woken = attach::ensure_running(&options).await;
    woken.map_err(|error| Failure::new("cannot start the hub", error))?;
    let failed = |error: io::Error| Failure::new("cannot use this terminal", error);
    let mut suspended = signal(SignalKind::from_raw(nix::libc::SIGTSTP)).map_err(failed)?;
    let mut ending = EndSignals::listen();
    let (events, heard) = mpsc::channel(EVENTS);
    let link = Link::start(
        options,
        command_engine::workspace_request(caller, ResultLimit::Screen),
        events.clone(),
    );
    let kept = HistoryFile::in_folder(&caller.surroundings.state_dir);
    let notify = if ui.notify { Notify::Desktop } else { Notify::Nobody };
    let size = Terminal::size().map_err(failed)?;
    let model = Model::new(size, notify, History::new(kept.read()));
    let terminal = Terminal::take(palette(global)).map_err(failed)?;
    terminal::read(events).map_err(failed)?;
    let mut running = Running { model, terminal, link, kept };
    let done = running.go_on(heard, &mut ending, &mut suspended).await.map_err(failed);
    drop(running);
    done
}

/// Fails without a terminal, or with `--standalone`, which has no hub to show.
fn check(global: &Global, caller: &Caller) -> Result<(), Failure> {
    if caller.is_alone() {
        let message =
            "`switchboard ui` shows the hub, which `--standalone` and `--mcp-config` do not use";
        return Err(Failure::usage(message, "leave these options out"));
    }
    if !terminal::is_there() || global.json {
        let failure = Failure::plain(FailureKind::Failed, "`switchboard ui` needs a terminal");
        return Err(failure.with_hint(
            "`switchboard list`, `switchboard status` and `switchboard top --once` print to a pipe",
        ));
    }
    Ok(())
}

/// The palette: no colours with `NO_COLOR` or on a dumb terminal.
fn palette(global: &Global) -> Palette {
    match global.color {
        clap::ColorChoice::Never => Palette::Plain,
        clap::ColorChoice::Auto if surroundings::is_colourless() => Palette::Plain,
        clap::ColorChoice::Auto | clap::ColorChoice::Always => Palette::Colours,
    }
}

// === impl Running ===

impl Running {
    async fn go_on(
        &mut self,
        mut heard: mpsc::Receiver<Event>,
        ending: &mut EndSignals,
        suspended: &mut Signal,
    ) -> io::Result<()> {
        loop {
            let model = &self.model;
            self.terminal.show(model.size, |buffer| view::draw(model, buffer))?;
            let event = tokio::select! {
                Some(event) = heard.recv() => event,
                () = ending.wait_for_end() => Event::End,
                _ = suspended.recv() => {
                    self.suspend()?;
                    continue;
                }
            };
            let mut effects = self.model.update(event);
            // Events that have arrived meanwhile are drawn together.
            for _ in 0..EVENTS {
                let Ok(event) = heard.try_recv() else { break };
                effects.extend(self.model.update(event));
            }
            for effect in effects {
                if matches!(self.perform(effect).await?, Then::End) {
                    return Ok(());
                }
            }
        }
    }

    async fn perform(&mut self, effect: Effect) -> io::Result<Then> {
        match effect {
            Effect::Quit => return Ok(Then::End),
            Effect::Suspend => self.suspend()?,
            Effect::Redraw => self.terminal.forget()?,
            Effect::Notify(text) => self.terminal.notify(&text)?,
            Effect::Copy(text) => self.terminal.copy(&text)?,
            Effect::Open(page) => {
                if !ask::open(&page) {
                    self.model.complain(
                        "cannot start a browser; open the address yourself (y copies it)",
                    );
                }
            }
            Effect::Ask(request) => self.link.ask(request).await,
            Effect::Call { ticket, body, repeats } => self.link.call(ticket, body, repeats),
            Effect::Cancel { ticket } => self.link.cancel(ticket),
            Effect::Follow { server } => self.link.follow(server),
            Effect::Unfollow => self.link.unfollow(),
            Effect::StartHub => self.link.start_hub(),
            Effect::Remember(line) => {
                if let Err(error) = self.kept.add(&line) {
                    self.model.complain(format!("cannot save the history of commands: {error}"));
                }
            }
        }
        Ok(Then::GoOn)
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.terminal.suspend()?;
        // The terminal may have another size by now.
        self.model.size = Terminal::size()?;
        Ok(())
    }
}
