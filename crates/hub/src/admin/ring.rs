//! A ring of the latest 1,024 events, numbered, for clients that reconnect with `Last-Event-ID`.
//!
//! Used by `events`. It records from the first follower on. It does not format events (`events::event_json` does).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::response::sse::Event;
use switchboard_core::Engine;
use switchboard_core::engine::EngineEvent as Happening;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::task::AbortOnDropHandle;

use super::events;

/// How many events are kept.
const MAX_EVENTS_KEPT: usize = 1024;

/// The events since the first client followed.
#[derive(Debug, Default)]
pub(super) struct EventRing {
    shared: Arc<Shared>,
    /// The task that records events, started by the first reader.
    recording: OnceLock<AbortOnDropHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// The first part of every id: numbers of another hub are not valid here.
    epoch: String,
    kept: Mutex<RingEvents>,
    told: broadcast::Sender<Arc<RecordedEvent>>,
}

#[derive(Debug, Default)]
struct RingEvents {
    last: u64,
    events: VecDeque<Arc<RecordedEvent>>,
}

/// One recorded event.
#[derive(Debug)]
pub(super) struct RecordedEvent {
    id: String,
    number: u64,
    pub(super) name: &'static str,
    pub(super) data: String,
}

/// The missed events of one reader, and a receiver for new ones.
pub(super) struct RingReader {
    /// Whether events in between are lost, so that the reader has to fetch everything again.
    pub(super) is_torn: bool,
    pub(super) missed: Vec<Arc<RecordedEvent>>,
    pub(super) coming: broadcast::Receiver<Arc<RecordedEvent>>,
}

// === impl EventRing ===

impl EventRing {
    /// Follows from now on, or from the event with the id `after` if it is still kept.
    pub(super) fn follow(&self, engine: &Engine, after: Option<&str>) -> RingReader {
        self.recording.get_or_init(|| {
            let recording = record(Arc::clone(&self.shared), engine.events(), engine.calls());
            AbortOnDropHandle::new(tokio::spawn(recording))
        });
        self.shared.read_after(after)
    }
}

async fn record(
    shared: Arc<Shared>,
    mut events: broadcast::Receiver<Happening>,
    mut calls: broadcast::Receiver<Happening>,
) {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            call = calls.recv() => call,
        };
        match event {
            Ok(event) => {
                if let Some((name, data)) = events::event_json(&event) {
                    shared.push(name, data.to_string());
                }
            }
            Err(RecvError::Lagged(_)) => shared.push("resync", "{}".to_owned()),
            Err(RecvError::Closed) => return,
        }
    }
}

// === impl Shared ===

impl Default for Shared {
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = format!("{:x}", now.as_nanos());
        Self { epoch, kept: Mutex::default(), told: broadcast::Sender::new(MAX_EVENTS_KEPT) }
    }
}

impl Shared {
    fn push(&self, name: &'static str, data: String) {
        let mut kept = self.lock();
        kept.last += 1;
        let id = format!("{}-{}", self.epoch, kept.last);
        let told = Arc::new(RecordedEvent { id, number: kept.last, name, data });
        if kept.events.len() >= MAX_EVENTS_KEPT {
            kept.events.pop_front();
        }
        kept.events.push_back(Arc::clone(&told));
        // Without readers the send fails, which is fine.
        let _ = self.told.send(told);
    }

    /// Subscribes under the lock, so that no event falls between the missed and the new ones.
    fn read_after(&self, after: Option<&str>) -> RingReader {
        let kept = self.lock();
        let coming = self.told.subscribe();
        let Some(after) = after else {
            return RingReader { is_torn: false, missed: Vec::new(), coming };
        };
        let number = after.strip_prefix(&*self.epoch).and_then(|rest| rest.strip_prefix('-'));
        let number = number.and_then(|number| number.parse::<u64>().ok());
        let oldest = kept.events.front().map_or(kept.last + 1, |told| told.number);
        match number {
            Some(number) if number <= kept.last && number + 1 >= oldest => {
                let missed = kept.events.iter().filter(|told| told.number > number);
                RingReader { is_torn: false, missed: missed.cloned().collect(), coming }
            }
            _ => RingReader { is_torn: true, missed: Vec::new(), coming },
        }
    }

    fn lock(&self) -> MutexGuard<'_, RingEvents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl RecordedEvent ===

impl RecordedEvent {
    pub(super) fn to_sse_event(&self) -> Event {
        Event::default().id(self.id.clone()).event(self.name).data(self.data.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_back_misses_nothing_or_is_told() {
        let shared = Shared::default();
        let numbers =
            |taken: &RingReader| taken.missed.iter().map(|told| told.number).collect::<Vec<_>>();
        for _ in 0..3 {
            shared.push("state", "{}".to_owned());
        }
        let id = |number: u64| format!("{}-{number}", shared.epoch);
        for (after, torn, missed) in [
            (None, false, vec![]),
            (Some(id(3)), false, vec![]),
            (Some(id(1)), false, vec![2, 3]),
            (Some(id(0)), false, vec![1, 2, 3]),
            (Some(id(9)), true, vec![]),
            (Some("other-1".to_owned()), true, vec![]),
            (Some(String::new()), true, vec![]),
        ] {
            let taken = shared.read_after(after.as_deref());
            assert_eq!((taken.is_torn, numbers(&taken)), (torn, missed), "{after:?}");
        }
        let mut taken = shared.read_after(Some(&id(3)));
        for _ in 0..MAX_EVENTS_KEPT {
            shared.push("state", "{}".to_owned());
        }
        assert_eq!(taken.coming.try_recv().unwrap().number, 4);
        assert!(shared.read_after(Some(&id(2))).is_torn, "what is no longer kept is not missed");
        assert_eq!(numbers(&shared.read_after(Some(&id(3)))).len(), MAX_EVENTS_KEPT);
    }
}
