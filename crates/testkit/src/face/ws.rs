//! WebSocket: a session for each connection.
//!
//! Used by the client tests of `wire`.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use switchboard_wire::link::pair::link_pair;

use super::next_text;
use crate::{
    fixture::Fixture,
    ws::{Message, ScriptedWs, Socket},
};

/// Serves `fixture` on a free port.
pub async fn web_socket(fixture: Arc<Fixture>) -> ScriptedWs {
    ScriptedWs::start(move |socket| bridge(socket, fixture.clone())).await
}

async fn bridge(socket: Socket, fixture: Arc<Fixture>) {
    let ((writer, mut reader), far) = link_pair();
    let (mut sink, mut stream) = socket.split();
    let serving = fixture.serve(far);
    let incoming = async move {
        while let Some(Ok(message)) = stream.next().await {
            if let Message::Text(text) = message {
                let _ = writer.send(text.as_str().to_owned().into()).await;
            }
        }
    };
    let outgoing = async move {
        while let Some(text) = next_text(&mut reader).await {
            if sink.send(Message::text(text)).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(serving, incoming, outgoing);
}
