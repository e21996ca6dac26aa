//! Servers of one era only, made from a server of both.
//!
//! Used by tests of `gateway`, `core` and `hub`, and by `conformance-server`.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)] // it answers tests, which it may fail

use switchboard_wire::json::Raw;
use switchboard_wire::link::LinkFrame;
use switchboard_wire::link::pair::{LinkEnd, link_pair};
use switchboard_wire::meta::method;

/// A link to the server at `behind` that answers `server/discover` as an unknown method.
pub fn legacy_only(behind: LinkEnd) -> LinkEnd {
    without(method::DISCOVER, behind)
}

/// A link to the server at `behind` that answers `initialize` as an unknown method.
pub fn modern_only(behind: LinkEnd) -> LinkEnd {
    without(method::INITIALIZE, behind)
}

fn without(unknown: &'static str, behind: LinkEnd) -> LinkEnd {
    let (ours, (client, mut from_client)) = link_pair();
    let (server, mut from_server) = behind;
    let unknown = Raw::string(unknown);
    tokio::spawn(async move {
        let inward = async {
            while let Ok(Some(frame)) = from_client.next().await {
                let LinkFrame::Text(text) = frame else { continue };
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
            while let Ok(Some(LinkFrame::Text(text))) = from_server.next().await {
                if client.send(text).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! { () = inward => {}, () = outward => {} }
    });
    ours
}

/// The id of a request, if its method is `method`.
fn asks(text: &str, method: &Raw) -> Option<Raw> {
    let message = Raw::parse(text.to_owned()).ok()?;
    let asked = message.get("method").ok().flatten()?;
    (asked.as_str() == method.as_str()).then(|| message.get("id").unwrap().unwrap())
}
