//! `switchboard top`: live rates, latencies, errors and tokens of every server and tool, on the whole terminal.
//!
//! Used by `commands::top`, which also prints a single report. [`Top`] is the model, `view::top` draws it, and a task
//! fetches the hub's counts once a second. It starts no hub, and changes nothing.

pub(crate) mod table;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use switchboard_core::traffic::TrafficReport;
use switchboard_hub::admin::client::{AdminClient, HubLookup};
use switchboard_hub::attach::AttachOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::app::Event;
use super::terminal::{self, Terminal};
use super::view;
use crate::args::Global;
use crate::report::Failure;
use crate::wait::EndSignals;
use table::{Earlier, RowLevel, TopOrder, TopRow};

/// How often the counts are fetched.
const FETCH_INTERVAL: Duration = Duration::from_secs(1);
/// Rates are those of this time.
const RATE_WINDOW: Duration = Duration::from_secs(10);
/// The most keys and reports that may wait.
const MAX_WAITING_EVENTS: usize = 64;

/// The state of the screen.
#[derive(Debug, Default)]
pub(crate) struct Top {
    /// The reports of the last seconds, oldest first.
    samples: VecDeque<(Instant, TrafficReport)>,
    /// Why there is no report now.
    pub(crate) problem: Option<String>,
    pub(crate) order: TopOrder,
    pub(crate) are_tools_hidden: bool,
    /// The first row that is shown.
    pub(crate) offset: usize,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterKey {
    GoOn,
    End,
    Suspend,
}

/// A report, or why there is none.
type Fetched = Result<TrafficReport, String>;

/// Shows the counts until the person quits.
pub(crate) async fn run(options: AttachOptions, global: &Global) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new("cannot use this terminal", error);
    let mut suspended = signal(SignalKind::from_raw(nix::libc::SIGTSTP)).map_err(failed)?;
    let mut ending = EndSignals::listen();
    let (events, mut heard) = mpsc::channel(MAX_WAITING_EVENTS);
    let (reports, mut fetched) = mpsc::channel(1);
    let _fetching = AbortOnDropHandle::new(tokio::spawn(fetch(options, reports)));
    let mut size = Terminal::size().map_err(failed)?;
    let mut terminal = Terminal::take(super::palette(global)).map_err(failed)?;
    terminal::read(events).map_err(failed)?;
    let mut top = Top::default();
    loop {
        let draw = |buffer: &mut _| {
            view::top::draw(&top, buffer);
            None
        };
        terminal.show(size, draw).map_err(failed)?;
        let mut then = AfterKey::GoOn;
        tokio::select! {
            Some(report) = fetched.recv() => top.fetched(Instant::now(), report),
            Some(event) = heard.recv() => match event {
                Event::Key(key) => then = top.press(key, size.1),
                Event::Resize(columns, rows) => size = (columns, rows),
                Event::End => then = AfterKey::End,
                _ => {}
            },
            () = ending.wait_for_end() => then = AfterKey::End,
            _ = suspended.recv() => then = AfterKey::Suspend,
        }
        match then {
            AfterKey::GoOn => {}
            AfterKey::End => return Ok(()),
            AfterKey::Suspend => {
                terminal.suspend().map_err(failed)?;
                size = Terminal::size().map_err(failed)?;
            }
        }
    }
}

/// Fetches the counts once a second, from whichever hub runs.
async fn fetch(options: AttachOptions, reports: mpsc::Sender<Fetched>) {
    let mut client = None;
    loop {
        if client.is_none() {
            client = match AdminClient::find(&options.place, &options.version).await {
                Ok(HubLookup::Hub(found)) => Some(found),
                _ => None,
            };
        }
        let fetched = match &client {
            Some(client) => client.traffic().await.map_err(|error| error.to_string()),
            None => Err("no hub is running".to_owned()),
        };
        if fetched.is_err() {
            client = None;
        }
        if reports.send(fetched).await.is_err() {
            return;
        }
        tokio::time::sleep(FETCH_INTERVAL).await;
    }
}

/// The seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

// === impl Top ===

impl Top {
    /// Takes a report. Without one, nothing older is shown: a hub that has ended serves no calls.
    pub(crate) fn fetched(&mut self, at: Instant, fetched: Fetched) {
        match fetched {
            Ok(report) => {
                // Another hub counts anew.
                let is_new = self.samples.back().is_some_and(|(_, last)| {
                    last.minutes.last().map(|minute| minute.time)
                        > report.minutes.last().map(|minute| minute.time)
                });
                if is_new {
                    self.samples.clear();
                }
                self.problem = None;
                self.samples.push_back((at, report));
                while self.samples.len() > 2
                    && self.samples.front().is_some_and(|(then, _)| at - *then > RATE_WINDOW)
                {
                    self.samples.pop_front();
                }
            }
            Err(why) => {
                self.samples.clear();
                self.problem = Some(why);
            }
        }
    }

    /// Handles a key on a screen with so many rows.
    pub(crate) fn press(&mut self, key: KeyEvent, screen_rows: u16) -> AfterKey {
        if key.kind == KeyEventKind::Release {
            return AfterKey::GoOn;
        }
        let page = usize::from(screen_rows.saturating_sub(view::top::FRAME_ROWS)).max(1);
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return AfterKey::End,
            KeyCode::Char('z') if is_control => return AfterKey::Suspend,
            KeyCode::Char('q') | KeyCode::Esc => return AfterKey::End,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('t') => self.are_tools_hidden = !self.are_tools_hidden,
            KeyCode::Up | KeyCode::Char('k') => self.offset = self.offset.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.offset += 1,
            KeyCode::PageUp => self.offset = self.offset.saturating_sub(page),
            KeyCode::PageDown => self.offset += page,
            KeyCode::Home => self.offset = 0,
            KeyCode::End => self.offset = usize::MAX,
            _ => {}
        }
        self.offset = self.offset.min(self.rows().len().saturating_sub(page));
        AfterKey::GoOn
    }

    /// The latest report.
    pub(crate) fn report(&self) -> Option<&TrafficReport> {
        self.samples.back().map(|(_, report)| report)
    }

    /// The rows of the latest report.
    pub(crate) fn rows(&self) -> Vec<TopRow> {
        let Some((at, report)) = self.samples.back() else { return Vec::new() };
        let first = self.samples.front().filter(|(then, _)| then < at);
        let earlier = first.map(|(then, report)| Earlier { report, ago: *at - *then });
        let mut rows = table::rows(report, earlier, unix_seconds(), self.order);
        rows.retain(|row| !self.are_tools_hidden || row.level != RowLevel::Tool);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn keys_sort_hide_scroll_and_quit() {
        let mut top = Top::default();
        top.fetched(Instant::now(), Ok(table::tests::report(6_000, [4, 2])));
        assert_eq!(top.rows().len(), 5);
        assert_eq!(top.press(key(KeyCode::Char('t')), 24), AfterKey::GoOn);
        assert_eq!(top.rows().len(), 3);
        top.press(key(KeyCode::Char('s')), 24);
        assert_eq!(top.order, TopOrder::Rate);
        top.press(key(KeyCode::End), 24);
        assert_eq!(top.offset, 0, "all rows fit");
        top.press(key(KeyCode::End), view::top::FRAME_ROWS + 1);
        assert_eq!(top.offset, 2);
        assert_eq!(top.press(key(KeyCode::Char('q')), 24), AfterKey::End);
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(top.press(control, 24), AfterKey::End);
    }

    #[test]
    fn rates_cover_ten_seconds_and_end_with_the_hub() {
        let mut top = Top::default();
        let began = Instant::now();
        for second in 0..30 {
            let report = table::tests::report(6_000, [0, second]);
            top.fetched(began + Duration::from_secs(second), Ok(report));
        }
        let rate = top.rows()[0].calls_per_minute;
        assert!((rate - 60.0).abs() < 0.001, "{rate}");
        top.fetched(began + Duration::from_secs(31), Err("no hub is running".to_owned()));
        assert!(top.rows().is_empty());
        assert_eq!(top.problem.as_deref(), Some("no hub is running"));
    }
}
