//! Servers that have never heard of one of the eras, made of one that speaks both.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)] // it answers tests, which it may fail

use switchboard_wire::json::Raw;
use switchboard_wire::link::Frame;
use switchboard_wire::link::pair::{End, pair};
use switchboard_wire::meta::method;

/// The near end of a link to a server at `behind`; `server/discover` is answered as an unknown method.
pub fn legacy_only(behind: End) -> End {
    without(method::DISCOVER, behind)
}

/// The near end of a link to a server at `behind`; `initialize` is answered as an unknown method.
pub fn modern_only(behind: End) -> End {
    without(method::INITIALIZE, behind)
}

fn without(unknown: &'static str, behind: End) -> End {
    let (ours, (client, mut from_client)) = pair();
    let (server, mut from_server) = behind;
    let unknown = Raw::string(unknown);
    tokio::spawn(async move {
        let inward = async {
            while let Ok(Some(frame)) = from_client.next().await {
                let Frame::Text(text) = frame else { continue };
                if let Some(id) = asks(&text, &unknown) {
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

/// The id of a request for `method`.
fn asks(text: &str, method: &Raw) -> Option<Raw> {
    let message = Raw::parse(text.to_owned()).ok()?;
    let asked = message.get("method").ok().flatten()?;
    (asked.as_str() == method.as_str()).then(|| message.get("id").unwrap().unwrap())
}
