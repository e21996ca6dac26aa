//! Server-sent events: however the bytes are cut, the same events come out.
//!
//! The first two bytes of an input decide where it is cut.
#![no_main]

mod chunks;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use switchboard_wire::http::sse::{SseEvent, SseEventError, SseParser};

/// Small, so that inputs of ordinary size pass it.
const LIMIT: usize = 48;

#[derive(Debug, PartialEq)]
struct Seen {
    events: Vec<Result<SseEvent, SseEventError>>,
    last_id: Option<String>,
    retry: Option<std::time::Duration>,
    mid_event: bool,
}

fuzz_target!(|data: &[u8]| {
    let Some((seed, input)) = chunks::seeded(data) else {
        return;
    };
    let whole = read([input].into_iter());
    let pieces = read(chunks::cut(input, seed));
    assert_eq!(whole, pieces);
    for event in whole.events.into_iter().flatten() {
        let size = event.data.len() + event.id.as_deref().map_or(0, str::len);
        assert!(size <= LIMIT, "{event:?} is larger than the limit");
    }
});

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let mut parser = SseParser::new(LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        parser.feed(Bytes::copy_from_slice(piece));
        events.extend(std::iter::from_fn(|| parser.next_event()));
    }
    Seen {
        events,
        last_id: parser.last_event_id().map(str::to_owned),
        retry: parser.retry(),
        mid_event: parser.is_mid_event(),
    }
}
