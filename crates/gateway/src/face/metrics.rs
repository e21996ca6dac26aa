//! Counters of the faces, and their page in Prometheus' text format.
//!
//! Used by all faces and by `GET /metrics`. Statistics of calls are kept in
//! `core::engine::snapshot`.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::refusal::RefusalReason;

/// The transport of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    Sse,
    WebSocket,
}

/// The counters of one server.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    requests: [AtomicU64; 3],
    sessions_begun: [AtomicU64; 3],
    sessions: [AtomicU64; 3],
    streams: [AtomicU64; 3],
    received: [AtomicU64; 3],
    sent: [AtomicU64; 3],
    refusals: [AtomicU64; RefusalReason::ALL.len()],
    pub(super) connections: AtomicU64,
}

/// Counts something while it exists; dropping it decrements the gauge.
#[derive(Debug)]
pub(super) struct GaugeLease {
    metrics: Arc<Metrics>,
    transport: Transport,
    what: GaugeKind,
}

#[derive(Debug, Clone, Copy)]
enum GaugeKind {
    Session,
    Stream,
}

// === impl Transport ===

impl Transport {
    const ALL: [Self; 3] = [Self::Http, Self::Sse, Self::WebSocket];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "ws",
        }
    }

    fn of<T>(self, each: &[T; 3]) -> &T {
        match self {
            Self::Http => &each[0],
            Self::Sse => &each[1],
            Self::WebSocket => &each[2],
        }
    }
}

// === impl Metrics ===

impl Metrics {
    pub(super) fn count_request(&self, transport: Transport, bytes: usize) {
        transport.of(&self.requests).fetch_add(1, Relaxed);
        transport.of(&self.received).fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn count_sent(&self, transport: Transport, bytes: usize) {
        transport.of(&self.sent).fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn count_refusal(&self, reason: RefusalReason) {
        if let Some(at) = RefusalReason::ALL.iter().position(|known| *known == reason) {
            self.refusals[at].fetch_add(1, Relaxed);
        }
    }

    pub(super) fn count_session(self: &Arc<Self>, transport: Transport) -> GaugeLease {
        transport.of(&self.sessions_begun).fetch_add(1, Relaxed);
        self.count(transport, GaugeKind::Session)
    }

    pub(super) fn count_stream(self: &Arc<Self>, transport: Transport) -> GaugeLease {
        self.count(transport, GaugeKind::Stream)
    }

    fn count(self: &Arc<Self>, transport: Transport, what: GaugeKind) -> GaugeLease {
        let counted = GaugeLease { metrics: Arc::clone(self), transport, what };
        counted.gauge().fetch_add(1, Relaxed);
        counted
    }

    /// The metrics page.
    pub(super) fn prometheus_page(&self) -> String {
        let mut page = String::new();
        family(&mut page, "requests_total", "counter", "Messages and streams asked for.");
        by_transport(&mut page, "requests_total", &self.requests);
        family(&mut page, "sessions_total", "counter", "Sessions begun.");
        by_transport(&mut page, "sessions_total", &self.sessions_begun);
        family(&mut page, "sessions", "gauge", "Sessions that are open.");
        by_transport(&mut page, "sessions", &self.sessions);
        family(&mut page, "streams", "gauge", "Streams that are open.");
        by_transport(&mut page, "streams", &self.streams);
        family(&mut page, "received_bytes_total", "counter", "Bytes of messages received.");
        by_transport(&mut page, "received_bytes_total", &self.received);
        family(&mut page, "sent_bytes_total", "counter", "Bytes of messages sent.");
        by_transport(&mut page, "sent_bytes_total", &self.sent);
        family(&mut page, "connections", "gauge", "Connections that are open.");
        sample(&mut page, "connections", None, &self.connections);
        family(&mut page, "refusals_total", "counter", "Requests refused, by reason.");
        for (reason, count) in RefusalReason::ALL.iter().zip(&self.refusals) {
            sample(&mut page, "refusals_total", Some(("reason", reason.as_str())), count);
        }
        page
    }
}

fn family(page: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(page, "# HELP switchboard_face_{name} {help}");
    let _ = writeln!(page, "# TYPE switchboard_face_{name} {kind}");
}

fn by_transport(page: &mut String, name: &str, counts: &[AtomicU64; 3]) {
    for transport in Transport::ALL {
        let label = Some(("transport", transport.as_str()));
        sample(page, name, label, transport.of(counts));
    }
}

fn sample(page: &mut String, name: &str, label: Option<(&str, &str)>, count: &AtomicU64) {
    let label = label.map(|(key, value)| format!("{{{key}=\"{value}\"}}")).unwrap_or_default();
    let _ = writeln!(page, "switchboard_face_{name}{label} {}", count.load(Relaxed));
}

// === impl GaugeLease ===

impl GaugeLease {
    fn gauge(&self) -> &AtomicU64 {
        match self.what {
            GaugeKind::Session => self.transport.of(&self.metrics.sessions),
            GaugeKind::Stream => self.transport.of(&self.metrics.streams),
        }
    }
}

impl Drop for GaugeLease {
    fn drop(&mut self) {
        self.gauge().fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_counted_while_it_does() {
        let metrics = Arc::new(Metrics::default());
        metrics.count_request(Transport::Sse, 7);
        metrics.count_refusal(RefusalReason::Host);
        let held = metrics.count_session(Transport::WebSocket);
        for line in [
            "switchboard_face_requests_total{transport=\"sse\"} 1",
            "switchboard_face_received_bytes_total{transport=\"sse\"} 7",
            "switchboard_face_refusals_total{reason=\"host\"} 1",
            "switchboard_face_sessions{transport=\"ws\"} 1",
        ] {
            assert!(metrics.prometheus_page().lines().any(|found| found == line), "{line}");
        }
        drop(held);
        let page = metrics.prometheus_page();
        assert!(page.contains("switchboard_face_sessions{transport=\"ws\"} 0\n"), "{page}");
        assert!(page.contains("switchboard_face_sessions_total{transport=\"ws\"} 1\n"), "{page}");
    }
}
