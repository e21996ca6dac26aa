//! A server that has never heard of the newer era, made of one that speaks both.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)] // it answers tests, which it may fail

use switchboard_wire::json::Raw;
use switchboard_wire::link::Frame;
use switchboard_wire::link::pair::{End, pair};

/// The near end of a link to a server at `theirs`; `server/discover` is answered as an unknown method.
pub fn legacy_only(behind: End) -> End {
    let (ours, (client, mut from_client)) = pair();
    let (server, mut from_server) = behind;
    tokio::spawn(async move {
        let inward = async {
            while let Ok(Some(frame)) = from_client.next().await {
                let Frame::Text(text) = frame else { continue };
                if text.contains("server/discover") {
                    let id = Raw::parse(text).unwrap().get("id").unwrap().unwrap();
                    let error = r#"{"code":-32601,"message":"no such method"}"#;
                    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
                    if client.send(answer.into()).await.is_err() {
                        return;
                    }
                } else if server.send(text).await.is_err() {
                    return;
                }
            }
        };
        let outward = async {
            while let Ok(Some(Frame::Text(text))) = from_server.next().await {
                if client.send(text).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! { () = inward => {}, () = outward => {} }
    });
    ours
}
