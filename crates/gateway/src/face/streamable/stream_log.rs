//! The event log of a session's streams, from which a broken stream is resumed.
//!
//! Used by `session` and `call`. It is bounded by count and by bytes; the oldest events go first. A
//! slow reader first loses progress, then its connection; the missed events are still here when it
//! returns. Of several equal change notifications only the newest is kept: a session that never
//! listens holds one for each list and resource. It does not write to the network (`events`).

use std::{collections::HashMap, collections::VecDeque, time::Duration};

use bytestring::ByteString;
use futures_util::Stream;
use switchboard_wire::envelope::Id;

use crate::face::{
    events::{EventId, EventPosition, EventSendError, EventSender, OutgoingEvent, event_queue},
    options::FaceLimits,
};
use crate::replica_tag::ReplicaTag;

/// The number of the GET stream.
pub(super) const SESSION_STREAM: u64 = 0;
/// The pause that clients are told to make before they resume a stream.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The streams of a session, with their events.
#[derive(Debug)]
pub(super) struct StreamLog {
    streams: HashMap<u64, StreamTrack>,
    /// The number of the next stream.
    next: u64,
    kept: VecDeque<LoggedEvent>,
    kept_bytes: usize,
    limits: FaceLimits,
    /// The tag of this replica, if there are others.
    replica: Option<ReplicaTag>,
}

/// One stream.
#[derive(Debug, Default)]
struct StreamTrack {
    /// The request whose answer ends the stream, if there are other replicas.
    request: Option<Id>,
    /// The number of the next event.
    next: u64,
    /// The number of the first event that no reader has got.
    unread: u64,
    reader: Option<EventSender>,
    over: bool,
}

#[derive(Debug)]
struct LoggedEvent {
    place: EventPosition,
    event: OutgoingEvent,
    /// The text of an event that a later, equal event replaces.
    replaceable: Option<ByteString>,
}

/// Whether a message may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageWeight {
    Must,
    May,
    /// The last of several equal messages must arrive: it says that something changed, not how.
    Latest,
}

/// Why a stream cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamReadError {
    /// The stream has a reader already.
    HasReader,
    /// The stream is no longer kept, or never existed.
    Forgotten,
}

// === impl StreamLog ===

impl StreamLog {
    pub(super) fn new(limits: FaceLimits, replica: Option<ReplicaTag>) -> Self {
        let streams = HashMap::from([(SESSION_STREAM, StreamTrack::default())]);
        let (next, kept) = (SESSION_STREAM + 1, VecDeque::new());
        Self { streams, next, kept, kept_bytes: 0, limits, replica }
    }

    /// The number of streams with a reader.
    pub(super) fn read(&self) -> usize {
        let read = |track: &&StreamTrack| track.reader.as_ref().is_some_and(EventSender::is_read);
        self.streams.values().filter(read).count()
    }

    /// Opens a stream for a call and returns its number. `request` is the id of the call's request, if there are other
    /// replicas.
    pub(super) fn open_for(&mut self, priming: Priming, request: Option<&Id>) -> u64 {
        let stream = self.next;
        self.next += 1;
        let mut track = StreamTrack { request: request.cloned(), ..StreamTrack::default() };
        if priming == Priming::Enabled {
            let place = EventPosition { stream, event: track.next };
            track.next += 1;
            let id = EventId { replica: self.replica, place, request: request.cloned() };
            self.keep(LoggedEvent {
                place,
                event: OutgoingEvent::priming(&id, RETRY_DELAY),
                replaceable: None,
            });
        }
        self.streams.insert(stream, track);
        stream
    }

    /// Adds a message to a stream.
    pub(super) fn say(&mut self, stream: u64, text: &ByteString, weight: MessageWeight) {
        let Some(track) = self.streams.get_mut(&stream) else {
            return;
        };
        let place = EventPosition { stream, event: track.next };
        let id = EventId { replica: self.replica, place, request: track.request.clone() };
        let event = OutgoingEvent::message(Some(&id), text);
        match track.reader.as_ref().map(|reader| reader.offer(event.clone())) {
            Some(Ok(())) => track.unread = place.event + 1,
            Some(Err(EventSendError::Full)) if weight == MessageWeight::May => return,
            Some(Err(_)) => track.reader = None,
            None => {}
        }
        track.next += 1;
        let replaceable = (weight == MessageWeight::Latest).then(|| text.clone());
        if replaceable.is_some() {
            self.forget_equal(stream, text);
        }
        self.keep(LoggedEvent { place, event, replaceable });
    }

    /// Removes the earlier events that equal a new one with this text.
    fn forget_equal(&mut self, stream: u64, text: &ByteString) {
        let kept_bytes = &mut self.kept_bytes;
        self.kept.retain(|kept| {
            let is_equal = kept.place.stream == stream && kept.replaceable.as_ref() == Some(text);
            if is_equal {
                *kept_bytes -= kept.event.len();
            }
            !is_equal
        });
    }

    /// Ends a stream, with a last message if there is one.
    pub(super) fn finish(&mut self, stream: u64, text: Option<&ByteString>) {
        if let Some(text) = text {
            self.say(stream, text, MessageWeight::Must);
        }
        if let Some(track) = self.streams.get_mut(&stream) {
            track.over = true;
            track.reader = None;
            if !self.kept.iter().any(|kept| kept.place.stream == stream) {
                self.streams.remove(&stream);
            }
        }
    }

    /// Reads a call's stream from its beginning.
    pub(super) fn follow(
        &mut self,
        stream: u64,
    ) -> impl Stream<Item = OutgoingEvent> + Send + use<> {
        self.attach(stream, 0)
    }

    /// Reads the GET stream, beginning with the first event that no reader has got.
    pub(super) fn listen(
        &mut self,
    ) -> Result<impl Stream<Item = OutgoingEvent> + Send + use<>, StreamReadError> {
        let own = self.streams.get(&SESSION_STREAM).ok_or(StreamReadError::Forgotten)?;
        if own.reader.as_ref().is_some_and(EventSender::is_read) {
            return Err(StreamReadError::HasReader);
        }
        let unread = own.unread;
        Ok(self.attach(SESSION_STREAM, unread))
    }

    /// Resumes a stream after an event. An earlier reader is replaced.
    pub(super) fn resume(
        &mut self,
        after: EventPosition,
    ) -> Result<impl Stream<Item = OutgoingEvent> + Send + use<>, StreamReadError> {
        let known = self.streams.get(&after.stream).is_some_and(|track| after.event < track.next);
        if !known {
            return Err(StreamReadError::Forgotten);
        }
        Ok(self.attach(after.stream, after.event + 1))
    }

    /// Disconnects the readers of all streams.
    pub(super) fn cut(&mut self) {
        for track in self.streams.values_mut() {
            track.reader = None;
        }
    }

    fn attach(
        &mut self,
        stream: u64,
        from: u64,
    ) -> impl Stream<Item = OutgoingEvent> + Send + use<> {
        let wanted = |kept: &&LoggedEvent| kept.place.stream == stream && kept.place.event >= from;
        let backlog = self.kept.iter().filter(wanted).map(|kept| kept.event.clone()).collect();
        let (reader, fed) = event_queue(self.limits.queued_events, self.limits.queued_bytes);
        if let Some(track) = self.streams.get_mut(&stream) {
            track.unread = track.next;
            track.reader = (!track.over).then_some(reader);
        }
        fed.after(backlog)
    }

    fn keep(&mut self, kept: LoggedEvent) {
        self.kept_bytes += kept.event.len();
        self.kept.push_back(kept);
        while self.kept.len() > self.limits.kept_events || self.kept_bytes > self.limits.kept_bytes
        {
            let Some(LoggedEvent { place, event, .. }) = self.kept.pop_front() else {
                return;
            };
            self.kept_bytes -= event.len();
            let last = |track: &StreamTrack| track.over && place.event + 1 == track.next;
            if self.streams.get(&place.stream).is_some_and(last) {
                self.streams.remove(&place.stream);
            }
        }
    }
}

/// Whether a stream begins with an event from which it can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priming {
    Enabled,
    /// Not supported: older clients take an event without data for a broken message.
    Unknown,
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    fn log(kept_events: usize, queued_events: usize) -> StreamLog {
        StreamLog::new(FaceLimits { kept_events, queued_events, ..FaceLimits::default() }, None)
    }

    /// The events that can be read without waiting, by total length, and whether the stream has
    /// ended.
    fn now(events: impl Stream<Item = OutgoingEvent>) -> (usize, bool) {
        let mut events = std::pin::pin!(events);
        let mut read = 0;
        loop {
            match events.next().now_or_never() {
                Some(Some(_)) => read += 1,
                Some(None) => return (read, true),
                None => return (read, false),
            }
        }
    }

    fn say(log: &mut StreamLog, stream: u64, times: usize, weight: MessageWeight) {
        for _ in 0..times {
            log.say(stream, &"{}".into(), weight);
        }
    }

    #[test]
    fn a_stream_is_read_from_anywhere() {
        let mut log = log(100, 100);
        let stream = log.open_for(Priming::Enabled, None);
        say(&mut log, stream, 2, MessageWeight::Must);
        log.finish(stream, Some(&"{}".into()));
        assert_eq!(now(log.follow(stream)), (4, true));
        for (event, expected) in [(0, (3, true)), (2, (1, true)), (3, (0, true))] {
            assert_eq!(now(log.resume(EventPosition { stream, event }).unwrap()), expected);
        }
        for place in [EventPosition { stream, event: 4 }, EventPosition { stream: 9, event: 0 }] {
            assert!(log.resume(place).is_err(), "{place:?}");
        }
    }

    #[test]
    fn what_nobody_was_given_waits_for_a_reader() {
        let mut log = log(100, 100);
        say(&mut log, SESSION_STREAM, 2, MessageWeight::Must);
        let reader = log.listen().unwrap();
        assert_eq!(log.listen().err(), Some(StreamReadError::HasReader));
        say(&mut log, SESSION_STREAM, 1, MessageWeight::Must);
        assert_eq!(now(reader), (3, false));
        assert_eq!(log.read(), 0);
        assert_eq!(now(log.listen().unwrap()), (0, false));
    }

    #[test]
    fn of_equal_changes_the_newest_is_kept() {
        let mut log = log(100, 100);
        let [tools, prompts] = ["tools", "prompts"].map(ByteString::from);
        for _ in 0..50 {
            log.say(SESSION_STREAM, &tools, MessageWeight::Latest);
            log.say(SESSION_STREAM, &prompts, MessageWeight::Latest);
        }
        say(&mut log, SESSION_STREAM, 2, MessageWeight::Must);
        assert_eq!(log.kept.len(), 4);
        assert_eq!(log.kept_bytes, log.kept.iter().map(|kept| kept.event.len()).sum::<usize>());
        let reader = log.listen().unwrap();
        for _ in 0..3 {
            log.say(SESSION_STREAM, &tools, MessageWeight::Latest);
        }
        assert_eq!(now(reader), (7, false), "a client that listens hears of each change");
        let replayed = log.resume(EventPosition { stream: SESSION_STREAM, event: 0 }).unwrap();
        assert_eq!(now(replayed), (4, false), "one that comes back hears of each list once");
    }

    #[test]
    fn a_slow_reader_loses_progress_first_and_then_its_stream() {
        let mut log = log(100, 2);
        let stream = log.open_for(Priming::Unknown, None);
        let reader = log.follow(stream);
        say(&mut log, stream, 5, MessageWeight::May);
        assert_eq!(log.read(), 1);
        say(&mut log, stream, 1, MessageWeight::Must);
        assert_eq!(log.read(), 0);
        assert_eq!(now(reader), (2, true));
        let rest = log.resume(EventPosition { stream, event: 1 }).unwrap();
        assert_eq!(now(rest), (1, false), "what must arrive was kept");
    }

    #[test]
    fn the_oldest_events_go_first() {
        let mut log = log(3, 100);
        let first = log.open_for(Priming::Enabled, None);
        log.finish(first, Some(&"{}".into()));
        say(&mut log, SESSION_STREAM, 2, MessageWeight::Must);
        assert_eq!(now(log.resume(EventPosition { stream: first, event: 0 }).unwrap()), (1, true));
        say(&mut log, SESSION_STREAM, 1, MessageWeight::Must);
        assert!(log.resume(EventPosition { stream: first, event: 0 }).is_err());
        assert_eq!(now(log.listen().unwrap()), (3, false));

        let mut log = StreamLog::new(FaceLimits { kept_bytes: 100, ..FaceLimits::default() }, None);
        let stream = log.open_for(Priming::Unknown, None);
        log.finish(stream, Some(&"x".repeat(200).into()));
        assert!(log.streams.len() == 1 && log.kept_bytes == 0, "too large to be kept");
    }
}
