//! Classification of `reqwest`, `hyper` and I/O errors as [`HttpError`], by type and kind, never by text.
//!
//! Used by `send`, `response`, `sse_stream` and `pool`. It does not decide on retries (`remedy`).

use std::error::Error;
use std::io;
use std::io::ErrorKind;

use super::error::{ConnectFailure, DisconnectKind, HttpError, RequestSummary, ResponseProgress};

/// Classifies a failure before the response headers.
pub(super) fn send_error(doing: RequestSummary, error: reqwest::Error) -> HttpError {
    let error = error.without_url();
    if let Some(kind) = connect_kind(&error) {
        return HttpError::Connect { doing, kind, source: innermost(&error).into() };
    }
    broken_error(doing, ResponseProgress::Nothing, error)
}

/// The innermost cause, from the operating system or the TLS handshake; the errors above it add no fact.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Classifies a failure while the body was read, after `received` bytes.
pub(super) fn read_error(doing: RequestSummary, received: u64, error: reqwest::Error) -> HttpError {
    broken_error(doing, ResponseProgress::Body(received), error.without_url())
}

/// Classifies a failure to build a client from its options.
pub(super) fn setup_error(what: &'static str, error: reqwest::Error) -> HttpError {
    HttpError::Setup { what, source: error.without_url().into() }
}

fn broken_error(
    doing: RequestSummary,
    received: ResponseProgress,
    error: reqwest::Error,
) -> HttpError {
    match disconnect_kind(&error) {
        Some(how) => HttpError::Closed { doing, how, received, source: Some(error.into()) },
        None => HttpError::Protocol { doing, source: error.into() },
    }
}

/// The kind of connect failure; `None` if the request may have been sent.
fn connect_kind(error: &reqwest::Error) -> Option<ConnectFailure> {
    // A server that wants a client certificate says so only after the handshake, in an alert in place of the
    // response: TLS 1.3 has no other way.
    if let Some(error) = find_map(error, <dyn Error>::downcast_ref::<rustls::Error>) {
        let not_tls = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        return Some(if *error == not_tls { ConnectFailure::NotTls } else { ConnectFailure::Tls });
    }
    if !error.is_connect() {
        return None;
    }
    Some(match io_kind(error) {
        _ if error.is_dns() => ConnectFailure::Dns,
        _ if error.is_timeout() => ConnectFailure::Timeout,
        Some(ErrorKind::ConnectionRefused) => ConnectFailure::Refused,
        Some(kind) if is_break(kind) => ConnectFailure::Broken,
        Some(_) => ConnectFailure::Unreachable,
        // The remaining causes have no I/O error in them: the tunnel through a proxy was denied.
        None => ConnectFailure::Proxy,
    })
}

/// The kind of disconnect; `None` if the peer broke the protocol instead.
fn disconnect_kind(error: &(dyn Error + 'static)) -> Option<DisconnectKind> {
    match io_kind(error) {
        Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            return Some(DisconnectKind::Reset);
        }
        Some(kind) if is_break(kind) => return Some(DisconnectKind::Ended),
        _ => {}
    }
    find_map(error, |cause| {
        let hyper = cause.downcast_ref::<hyper::Error>().filter(|error| {
            error.is_incomplete_message() || error.is_canceled() || error.is_closed()
        });
        let h2 = cause
            .downcast_ref::<h2::Error>()
            .filter(|error| error.is_reset() || error.is_go_away());
        match (hyper, h2) {
            (_, Some(error)) if error.is_reset() => Some(DisconnectKind::Reset),
            (None, None) => None,
            _ => Some(DisconnectKind::Ended),
        }
    })
}

fn is_break(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::NotConnected
            | ErrorKind::TimedOut
    )
}

/// The kind of the first I/O error among the causes; HTTP/2 errors hide theirs.
fn io_kind(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    find_map(error, |cause| {
        let io = cause.downcast_ref::<io::Error>();
        let h2 = || cause.downcast_ref::<h2::Error>().and_then(h2::Error::get_io);
        io.or_else(h2).map(io::Error::kind)
    })
}

/// Searches the causes. `io::Error::source` skips the error that it wraps, so the wrapped error is searched as well.
fn find_map<'a, T>(
    error: &'a (dyn Error + 'static),
    look: impl Fn(&'a (dyn Error + 'static)) -> Option<T>,
) -> Option<T> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = look(cause) {
            return Some(found);
        }
        next = wrapped(cause).or_else(|| cause.source());
    }
    None
}

fn wrapped<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
    Some(inner)
}
