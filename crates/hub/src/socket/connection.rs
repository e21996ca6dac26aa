//! One connection of the socket: peer check, hello, reply, then MCP, the admin API or a one-shot request.
//!
//! Used by `listen`, which spawns `serve_connection` for every accepted stream. It does not decide when the hub ends
//! (`hub_state` does) and does not build views ([`HubBackend`] does).

use std::{io, io::Cursor, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use nix::unistd::geteuid;
use serde::Serialize;
use switchboard_wire::{
    envelope::Notification,
    json::Raw,
    link::lines,
    server::{ServerHandler, serve},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    ClientHello, GOODBYE_METHOD, HelloPurpose, HelloRefusal, HelloRefusalKind, HelloReply,
    HubBackend, HubEndReason, admin_http, cancellable_reader::CancellableReader,
    clients::ConnectedClient, counting_view::CountingView, hub_state::HubState,
};
use switchboard_gateway::face::StallTimeoutStream;
use switchboard_gateway::view_provider::{
    OpenView, SessionClients, ViewProvider, ViewRequest, ViewSelection,
};

/// How long writing the first reply, and the last messages, may take.
const ANSWER_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether a peer is the user that this hub belongs to. Root is refused too: a hub acts for one person.
pub fn is_own_user(peer: u32, ours: u32) -> bool {
    peer == ours
}

/// Serves one peer until the peer closes or the hub ends.
pub(super) async fn serve_connection<H: HubBackend>(
    state: Arc<HubState<H>>,
    mut stream: UnixStream,
) {
    let (hello, rest) = match read_hello(&state, &mut stream).await {
        Ok(heard) => heard,
        Err(refusal) => return refuse(&mut stream, refusal).await,
    };
    tracing::debug!(?hello, "a client");
    match hello.want {
        HelloPurpose::Mcp => match open_view(&state, &hello).await {
            Ok((front, opened, presence)) => {
                serve_mcp(&state, stream, rest, opened, presence).await;
                // A view lives as long as its provider is held.
                drop(front);
            }
            Err(refusal) => refuse(&mut stream, refusal).await,
        },
        HelloPurpose::Admin => match state.hub.admin() {
            Some(admin) => {
                write_reply(&mut stream, &HelloReply::Granted(state.welcome())).await;
                admin_http::serve_admin_http(&state, stream, rest, admin.routes()).await;
            }
            None => {
                let message = "this hub has no admin API";
                refuse(&mut stream, HelloRefusal::new(HelloRefusalKind::Protocol, message)).await;
            }
        },
        HelloPurpose::Status => {
            write_reply(&mut stream, &HelloReply::Granted(state.status())).await;
        }
        HelloPurpose::Stop => {
            write_reply(&mut stream, &HelloReply::Granted(state.welcome())).await;
            state.stop.cancel();
        }
        HelloPurpose::Handover => match state.hand_over(&hello.version) {
            Ok(()) => write_reply(&mut stream, &HelloReply::Granted(state.welcome())).await,
            Err(refusal) => refuse(&mut stream, refusal).await,
        },
    }
}

/// Checks the peer's user id and reads its hello; also returns the bytes that were read after the hello.
async fn read_hello<H: HubBackend>(
    state: &HubState<H>,
    stream: &mut UnixStream,
) -> Result<(ClientHello, Bytes), HelloRefusal> {
    let peer = stream.peer_cred().map(|peer| peer.uid());
    if !peer.is_ok_and(|peer| is_own_user(peer, geteuid().as_raw())) {
        return Err(HelloRefusal::new(
            HelloRefusalKind::Foreign,
            "this hub belongs to another user",
        ));
    }
    let limit = state.options.hello_limit;
    let reading = first_line(stream, limit);
    let Ok(line) = timeout(state.options.hello_time, reading).await else {
        return Err(HelloRefusal::new(HelloRefusalKind::Slow, "no hello came in time"));
    };
    let (line, rest) = line.map_err(|error| {
        HelloRefusal::new(HelloRefusalKind::Malformed, format!("no hello: {error}"))
    })?;
    Ok((ClientHello::parse(&line)?, rest))
}

/// Reads the first line, and returns it with the bytes that were read after it.
async fn first_line(
    source: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> io::Result<(Bytes, Bytes)> {
    let mut buffer = BytesMut::with_capacity(8 << 10);
    let mut searched = 0;
    loop {
        if let Some(found) = buffer[searched..].iter().position(|byte| *byte == b'\n') {
            let line = buffer.split_to(searched + found + 1);
            return Ok((line.freeze(), buffer.freeze()));
        }
        searched = buffer.len();
        if searched > limit {
            let message = format!("it is larger than {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if source.read_buf(&mut buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

type ProviderView<H> = <<H as HubBackend>::Views as ViewProvider>::View;

async fn open_view<H: HubBackend>(
    state: &HubState<H>,
    hello: &ClientHello,
) -> Result<(Arc<H::Views>, OpenView<ProviderView<H>>, Arc<ConnectedClient>), HelloRefusal> {
    if state.draining.is_cancelled() {
        return Err(HelloRefusal::new(HelloRefusalKind::Stopping, "the hub is about to end"));
    }
    let Ok(front) = timeout(state.options.opening, state.hub.view_provider(hello)).await else {
        let message = "the configuration was not loaded in time";
        return Err(HelloRefusal::new(HelloRefusalKind::View, message));
    };
    let front = front?;
    let session = state.next_session();
    let opened = front.open(ViewRequest {
        principal: state.options.principal.clone(),
        session: session.clone(),
        part: ViewSelection::Everything,
        transport: "socket",
        clients: SessionClients::One,
    });
    let opened = opened
        .await
        .map_err(|error| HelloRefusal::new(HelloRefusalKind::View, error.to_string()))?;
    Ok((front, opened, state.presences.add(session, hello, &state.closing)))
}

/// Serves MCP until the client closes, the client stops reading, or the hub ends.
async fn serve_mcp<H: HubBackend, V: ServerHandler>(
    state: &HubState<H>,
    mut stream: UnixStream,
    rest: Bytes,
    opened: OpenView<V>,
    presence: Arc<ConnectedClient>,
) {
    let _client = state.activity.count_client();
    write_reply(&mut stream, &HelloReply::Granted(state.welcome())).await;
    let (read, write) = stream.into_split();
    let source = CancellableReader::new(Cursor::new(rest).chain(read), presence.leave.clone());
    let sink = StallTimeoutStream::new(write, state.options.stalled);
    let (writer, reader, writing) = lines::line_link(source, sink, state.options.message_limit);
    let leave = presence.leave.clone();
    let view = CountingView {
        view: opened.view,
        activity: state.activity.clone(),
        presence,
        draining: state.draining.clone(),
    };
    let last = writer.clone();
    let serving = async {
        let link = (writer, reader);
        if let Err(error) =
            serve(link, Arc::new(view), &opened.changes, state.options.serve.clone()).await
        {
            tracing::debug!(%error, "a client is gone");
        }
        if let Some(goodbye) = goodbye_notification(state, &leave) {
            // A client that has closed already needs no goodbye.
            let _ = last.try_send(goodbye.text().clone());
        }
        drop(last);
    };
    tokio::pin!(writing);
    tokio::select! {
        () = serving => {
            let _ = timeout(ANSWER_WRITE_TIMEOUT, writing).await;
        }
        () = &mut writing => tracing::info!("a client that does not read is cut off"),
    }
}

/// Says why the connection ends. A client that a person has disconnected comes back with its next request, as if the hub
/// had been stopped.
fn goodbye_notification<H: HubBackend>(
    state: &HubState<H>,
    leave: &CancellationToken,
) -> Option<Notification> {
    let disconnected = leave.is_cancelled().then_some(HubEndReason::Stopped);
    let why = state.end_reason().or(disconnected)?;
    let params = Raw::object([("why", Raw::string(why.as_str()))]);
    Some(Notification::new(GOODBYE_METHOD, Some(&params)))
}

async fn refuse(stream: &mut UnixStream, error: HelloRefusal) {
    tracing::debug!(%error, "a client is refused");
    write_reply(stream, &HelloReply::<()>::Refused { error }).await;
}

/// Writes one line. A peer that does not read it in time is treated as gone.
async fn write_reply<T: Serialize>(stream: &mut UnixStream, answer: &HelloReply<T>) {
    let written = async {
        let mut line = serde_json::to_vec(answer)?;
        line.push(b'\n');
        stream.write_all(&line).await
    };
    match timeout(ANSWER_WRITE_TIMEOUT, written).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a client did not wait for its answer"),
        Err(_) => tracing::debug!("a client does not read its answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hubs_own_user_is_heard() {
        for (peer, ours, expected) in
            [(1000, 1000, true), (1001, 1000, false), (0, 1000, false), (1000, 0, false)]
        {
            assert_eq!(is_own_user(peer, ours), expected, "{peer} to {ours}");
        }
    }

    #[tokio::test]
    async fn what_comes_behind_the_hello_is_kept() {
        let check = async |input: &[u8], expected: Option<(&str, &str)>| {
            let read = first_line(&mut Cursor::new(input.to_vec()), 10).await.ok();
            let read = read.as_ref().map(|(line, rest)| (&line[..], &rest[..]));
            let expected = expected.map(|(line, rest)| (line.as_bytes(), rest.as_bytes()));
            assert_eq!(read, expected);
        };
        check(b"hello\n", Some(("hello\n", ""))).await;
        check(b"hello\nworld\n\n", Some(("hello\n", "world\n\n"))).await;
        check(b"hello", None).await;
        check(b"", None).await;
        check(&[b'x'; 100], None).await;
    }
}
